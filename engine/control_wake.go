package engine

import (
	"context"
	"slices"
	"syscall"
	"time"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// wakeNote is how long the history is asked which of several waits was ended, once one of them is not as it
// was: a state that looks at something again and again changes its wait by itself.
const wakeNote = 4 * time.Second

func (a *asking) wake(ctx context.Context) error {
	r := a.Before
	if !alive(r) {
		return refuse(NotFound, "nothing to wake: run %s is %s", r.ID, inspect.Outcome(r))
	}
	before, err := a.waits(ctx)
	switch {
	case err != nil:
		return err
	case len(before) == 0:
		return refuse(NotFound, "nothing to wake: run %s does not wait; it is in state %s", r.ID, r.State)
	case slices.ContainsFunc(before, isPause):
		return refuse(Failed, "run %s is paused; continue it with: %s", r.ID, Do(OpUnpause, string(r.ID)))
	}
	first := before[0]
	if before = slices.DeleteFunc(before, isFromOutside); len(before) == 0 {
		what, remedy := "an answer", AnswerRemedy(string(r.ID), first.Question)
		if first.Event != "" {
			what, remedy = "the event "+humanize.Quote(first.Event), Do("signal", string(r.ID))
		}
		return refuse(Failed, "nothing to wake: run %s waits for %s in state %s, which only comes from outside: %s",
			r.ID, what, r.State, remedy)
	}
	if err := a.obeys("wake", "woken"); err != nil {
		return err
	}
	last := a.newest(ctx)
	if err := a.send(ctx, persistence.CommandWake, r.Segment, "wake", syscall.SIGUSR1); err != nil {
		return err
	}
	a.took(before, 0, before)
	var changed time.Time
	woken, err := until(ctx, wakeWait, func() (bool, error) {
		now, err := a.waits(ctx)
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(before, func(w fsm.OpenWait) bool { return !unchanged(w, now) })
		if i >= 0 && len(before) == 1 {
			a.took(before, i, now)
			return true, nil
		}
		path, told := a.endedIn(ctx, last)
		switch {
		case told:
			if k := slices.IndexFunc(before, func(w fsm.OpenWait) bool { return w.Path == path }); k >= 0 {
				i = k
			}
		case i < 0:
			return false, nil
		case changed.IsZero():
			changed = time.Now()
			return false, nil
		case time.Since(changed) < wakeNote:
			return false, nil
		}
		a.took(before, max(i, 0), now)
		return true, nil
	})
	if err == nil && !woken {
		err = refuse(Failed, "run %s was asked to continue and still waits after %s; is its process "+
			"(pid %d) stopped?", r.ID, humanize.Duration(wakeWait), r.Owner.PID)
	}
	return a.look(ctx, err)
}

// isFromOutside reports whether a wait is for an answer or an event, which nothing is looked at for.
func isFromOutside(w fsm.OpenWait) bool {
	return w.Why == fsm.WaitState && (w.Choices != "" || w.Event != "")
}

// took notes that wait i of those before was ended.
func (a *asking) took(before []fsm.OpenWait, i int, now []fsm.OpenWait) {
	a.Wait, a.Path, a.Others = before[i].Wait, before[i].Path, 0
	for k, w := range before {
		if k != i && unchanged(w, now) {
			a.Others++
		}
	}
}

// unchanged reports whether a wait is among those of now as it was.
func unchanged(w fsm.OpenWait, now []fsm.OpenWait) bool {
	return slices.ContainsFunc(now, func(n fsm.OpenWait) bool { return n.Address == w.Address && *n.Wait == *w.Wait })
}

// newest is the number of the newest event of the run, 0 where it is not known.
func (a *asking) newest(ctx context.Context) (n uint64) {
	_ = a.store.Newest(ctx, a.id, func(e fsm.Event) bool {
		n = e.Seq
		return false
	})
	return n
}

// endedIn returns the branches and items in which a wait was ended by a user behind event number after, as the
// history says.
func (a *asking) endedIn(ctx context.Context, after uint64) (path string, told bool) {
	_ = a.store.Newest(ctx, a.id, func(e fsm.Event) bool {
		if e.Seq <= after {
			return false
		}
		if text := e.Get("message"); e.Kind == fsm.EventNote && (text == fsm.WaitEnded || text == fsm.LookAsked) {
			path, told = inspect.InsideBranch(e), true
		}
		return true // the first of them
	})
	return path, told
}
