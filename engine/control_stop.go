package engine

import (
	"cmp"
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// stop has the run end, and kills its process if it does not.
func (a *asking) stop(ctx context.Context, c Command) (err error) {
	r := a.Before
	if r.Status == persistence.Queued && !alive(r) {
		if done, err := a.withdraw(ctx); done || err != nil {
			return err
		}
		r = a.Before
	}
	if !alive(r) {
		if a.Recalled, err = a.recall(ctx); err != nil {
			return err
		}
		r = a.Before
		if r.Status == persistence.Awaiting && r.Ended == fsm.EndSuspended && !alive(r) {
			return a.stopSuspended(ctx)
		}
		if a.Recalled && !alive(r) {
			return nil
		}
	}
	if ended, err := a.stopGit(ctx, cmp.Or(c.Grace, StopGrace)); ended || err != nil {
		return err
	}
	if !alive(r) {
		return refuse(NotFound, "nothing to stop: run %s is %s", r.ID, inspect.Outcome(r))
	}
	grace := cmp.Or(c.Grace, StopGrace)
	if c.Kind == persistence.CommandKill {
		grace = killWait
	}
	switch {
	case r.Foreign && !project.Seen(r):
		return refuse(Failed, "run %s is of little-loops, whose process (pid %d %s) cannot be reached from here; "+
			"there, this does it: %s", r.ID, r.Owner.PID, project.Where(r.Owner), Do(OpStop, string(r.ID)))
	case r.Foreign:
		err = tellRun(a.store, r, "stop", syscall.SIGTERM, syscall.SIGCONT)
	default:
		err = a.send(ctx, c.Kind, r.Segment, "stop", syscall.SIGTERM, syscall.SIGCONT)
	}
	if err != nil {
		return err
	}
	ended, err := a.awaitEnd(ctx, grace/2)
	if err == nil && !ended {
		// Its owner may be of a former version, which knows no commands, or be kept from reading its records.
		if a.Unrecorded == nil && a.mayEnd() {
			_ = tellRun(a.store, r, "stop", syscall.SIGTERM)
		}
		ended, err = a.awaitEnd(ctx, grace-grace/2)
	}
	if err == nil && !ended {
		err = a.kill(ctx, grace)
		a.Killed = err == nil
	}
	return err
}

// stopSuspended ends a suspended run, which no process carries, as one that its user stopped: unblock does not
// continue it.
func (a *asking) stopSuspended(ctx context.Context) error {
	end := func(m *fsm.Snapshot) *fsm.Batch { return fsm.StopAt(m, cmp.Or(a.from, User()), time.Now()) }
	if err := endUnowned(ctx, a.store.Store, a.e.p, a.Before, end); err != nil {
		return a.store.Failed(err)
	}
	return a.look(ctx, nil)
}

// endUnowned takes over a run that no process carries, and records its end.
func endUnowned(ctx context.Context, store persistence.Store, p *project.Project, r persistence.Run,
	end func(*fsm.Snapshot) *fsm.Batch,
) error {
	def, err := store.Definition(ctx, r.ID)
	if err != nil {
		return err
	}
	owner, err := Self()
	if err != nil {
		return err
	}
	journal, m, err := store.Resume(ctx, r.ID, persistence.Spec{
		Loop: r.Loop, File: r.File, SHA256: r.SHA256, Definition: def, Scope: []string{p.RunDir(r.ID)},
		MaxSteps: r.MaxSteps, Options: r.Options,
		Owner: owner, Mark: p.RecordsMark(), StartedAt: time.Now(),
	})
	if err != nil {
		return err
	}
	b := end(m)
	because, err := inspect.Lately(func(each func(fsm.Event) bool) error {
		for ev, err := range store.Tail(ctx, r.ID) {
			if err != nil || !each(ev) {
				return err
			}
		}
		return nil
	})
	if err == nil {
		for _, ev := range b.Events {
			because.Add(ev)
		}
		m.Outcome.Reason, m.Outcome.FailedItems = because.Reason(*m.Outcome, &fsm.Loop{}),
			because.FailedItems(*m.Outcome)
	}
	err = journal.Record(ctx, b)
	return errors.Join(err, journal.Close(context.WithoutCancel(ctx)))
}

// stopGit ends what git does for a run that has ended on record, and reports whether it did.
func (a *asking) stopGit(ctx context.Context, grace time.Duration) (bool, error) {
	dir := a.e.p.RunDir(a.id)
	p := PhaseIn(dir)
	if alive(a.Before) || p == nil {
		return false, nil
	}
	if err := p.Owner.Signal(syscall.SIGTERM); err != nil {
		return false, refuse(Failed, "run %s is %s, and git is %s for it; its process (pid %d) cannot be "+
			"told to stop: %s", a.id, inspect.Outcome(a.Before), p.Doing, p.Owner.PID, humanize.OneLine(err))
	}
	ended, err := until(ctx, grace, func() (bool, error) { return PhaseIn(dir) == nil, nil })
	if err == nil && !ended {
		return false, refuse(Failed, "run %s is %s, and git is %s for it; pid %d was told to stop and has not "+
			"within %s; kill it: kill -9 %d",
			a.id, inspect.Outcome(a.Before), p.Doing, p.Owner.PID, humanize.Duration(grace), p.Owner.PID)
	}
	return ended, err
}

// forEver is how long is waited for what has no limit.
const forEver = 100 * 365 * 24 * time.Hour

// drain has the run end when the items of its list that are at work have ended. Its process is never killed.
func (a *asking) drain(ctx context.Context, c Command) error {
	if err := a.obeys("stop", "asked to stop after an item"); err != nil {
		return err
	}
	r := a.Before
	m, err := a.store.Snapshot(ctx, a.id)
	switch {
	case m == nil && err != nil:
		return a.store.Failed(err)
	case m == nil || m.List() == nil:
		return refuse(Undecided, "run %s does not work on a list now: it is in state %s; to stop it in the "+
			"middle of that: %s", r.ID, r.State, Do(OpStop, string(r.ID)))
	}
	if err := a.send(ctx, c.Kind, r.Segment, "stop"); err != nil {
		return err
	}
	_, err = a.awaitEnd(ctx, cmp.Or(c.Grace, forEver))
	return err
}

// mayEnd reports whether the process of the run is one that this one may end: it carries the run, can be seen,
// and is another.
func (a *asking) mayEnd() bool {
	r := a.Before
	return !r.Foreign && r.Held && project.Seen(r) && r.Owner.PID != os.Getpid()
}

// awaitEnd waits until no process holds the run, and reports whether that came about in time.
func (a *asking) awaitEnd(ctx context.Context, limit time.Duration) (bool, error) {
	return until(ctx, limit, func() (bool, error) {
		now, err := a.now(ctx)
		if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Kind == NotFound {
			return true, nil // never recorded anything
		}
		if err != nil {
			return false, err
		}
		a.Run = now
		if now.Segment != a.Before.Segment && alive(now) {
			return false, refuse(Conflict, "run %s ended and was resumed meanwhile, by pid %d; stop it with: %s",
				a.id, now.Owner.PID, Do(OpStop, string(a.id)))
		}
		return !alive(now), nil
	})
}

// kill kills the process of a run that does not end, ends what its action left running, and records the run as
// interrupted. A process that is no runner of this program, such as one of little-loops, is left alone.
func (a *asking) kill(ctx context.Context, grace time.Duration) error {
	r := a.Before
	did := textf("run %s did not stop within %s", r.ID, humanize.Duration(grace))
	switch {
	case r.Foreign || project.Seen(r) && !r.Held:
		return refuse(Failed, "%s; its process (pid %d) still runs, and is not one that stop may kill. Look at what "+
			"its action does, or end it: kill -9 %d (it stays resumable)", did, r.Owner.PID, r.Owner.PID)
	case !project.Seen(r):
		return a.killUnseen(ctx, did)
	case r.Owner.PID == os.Getpid():
		return refuse(Failed, "%s; this process carries it", did)
	}
	if err := tellRun(a.store, r, "kill", syscall.SIGKILL); err != nil {
		return refuse(Failed, "%s; %s", did, humanize.OneLine(err))
	}
	ended, err := a.awaitEnd(ctx, killWait)
	if err == nil && !ended {
		err = refuse(Failed, "%s; its process (pid %d) was killed and is still there: it hangs in the kernel", did,
			r.Owner.PID)
	}
	if err != nil {
		return err
	}
	_, err = a.e.Reconcile(ctx, r.ID)
	if err != nil {
		return refuse(Failed, "%s; its process (pid %d) was killed, but what is left is not tidied up: %s; fix "+
			"that, then: %s", did, r.Owner.PID, humanize.OneLine(err), Do(OpSweep, ""))
	}
	return a.look(ctx, nil)
}

// killUnseen has an owner that cannot be seen from here kill its action. Its process cannot be ended from here.
func (a *asking) killUnseen(ctx context.Context, did Text) error {
	r := a.Before
	if err := a.send(ctx, persistence.CommandKill, r.Segment, "kill"); err != nil {
		return err
	}
	ended, err := a.awaitEnd(ctx, killWait)
	if err == nil && !ended {
		err = refuse(Failed, "%s; that is recorded for its process (pid %d %s), which does not act on it: end that "+
			"process there, or wait until it does", did, r.Owner.PID, project.Where(r.Owner))
	}
	return err
}
