package engine

import (
	"context"
	"sync"

	"loops/fsm"
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
		j: j, id: r.id, mine: mine, limit: anyLimit,
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

// why fits fsm.Config.Why. Of a run that was resumed the whole record counts: what decided may be older than this process. Where it cannot be
// read, what this process has recorded must do.
func (s *recording) why(o fsm.Outcome, pending []fsm.Event) string {
	because := &s.because
	if s.j.journal.Run().Segment > 0 {
		var whole inspect.Because
		var err error
		for ev, failed := range s.j.store.Events(context.Background(), s.id, 0) {
			if err = failed; err != nil {
				break
			}
			whole.Add(ev)
		}
		if err == nil {
			because = &whole
		}
	}
	for _, ev := range pending {
		because.Add(ev)
	}
	return because.Reason(o, s.j.loop)
}
