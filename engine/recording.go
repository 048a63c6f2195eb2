package engine

import (
	"context"
	"sync"

	"loops/fsm"
	"loops/internal/git"
	"loops/internal/inspect"
	"loops/persistence"
)

// A recording follows what is recorded of a run while this process drives it.
type recording struct {
	j       *job
	id      persistence.ID
	mine    chan struct{}   // closed when the segment is on record
	claim   func()          // closes mine
	onTape  func()          // reports that the run is on record
	because inspect.Because // what it needs to say why the run ended
	limit   Setting         // what a budget needs for the run to continue, once a budget is used up
}

func newRecording(j *job, r *Run) *recording {
	mine := make(chan struct{})
	return &recording{
		j: j, id: r.id, mine: mine, limit: AnyLimit,
		claim:  sync.OnceFunc(func() { close(mine) }),
		onTape: sync.OnceFunc(func() { close(r.onTape) }),
	}
}

// observe fits fsm.Config.Observe.
func (s *recording) observe(ev fsm.Event) {
	switch ev.Kind {
	case fsm.EventBudgetExceeded:
		s.limit = RaisedLimit(ev)
	case fsm.EventLimitRaised:
		s.j.loop = inspect.Raised(ev, s.j.loop)
	}
	s.because.Add(ev)
	s.j.tell(Recorded{s.id, ev})
	s.claim()
	if first := ev.Kind == fsm.EventLoopStart || ev.Kind == fsm.EventLoopResume; s.j.header.Worktree == "" || !first {
		s.onTape() // the work tree is made after the first event
	}
}

// why fits fsm.Config.Why. Of a run that was resumed what was recorded before counts as well: what decided may
// be older than this process. Where it cannot be read, what this process has recorded must do.
func (s *recording) why(o fsm.Outcome, pending []fsm.Event) (reason string, failedItems int) {
	because := &s.because
	if s.j.journal.Run().Segment > 0 {
		lately, err := inspect.Lately(func(each func(fsm.Event) bool) error {
			return s.j.store.Newest(context.Background(), s.id, each)
		})
		if err == nil {
			because = lately
		}
	}
	for _, ev := range pending {
		because.Add(ev)
	}
	failedItems = because.FailedItems(o)
	if s.j.tree != nil && s.j.tree.end == git.Discard {
		failedItems = 0 // what the others changed goes with the work tree, so all are done again
	}
	return because.Reason(o, s.j.loop), failedItems
}
