package notifier

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"loops/engine"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// A run is one whose beginning the notifier was notified of.
type run struct {
	*Notifier
	h       engine.Header
	begun   bool
	state   string
	step    int
	waiting bool   // that was sent, and the run has not continued since
	asked   string // the address of the question that was sent last
}

// event takes an event of the run, sub-loops included, when it was recorded.
func (r *run) event(e fsm.Event) {
	if !r.begun {
		r.begun = true
		doing := "started"
		if r.h.Resumed {
			doing = "is running"
		}
		r.tell(r.now("started", doing))
	}
	switch e.Kind {
	case fsm.EventStateEnter:
		if e.Depth == 0 {
			r.state, r.step = inspect.Text(e.Get("state")), int(inspect.Whole(e.Get("iteration")))
		}
	case fsm.EventRoute:
		r.waiting = false
	case fsm.EventNote:
		r.note(e)
	}
}

func (r *run) note(e fsm.Event) {
	switch wait := inspect.Text(e.Get("wait")); wait {
	case "", fsm.WaitBackoff:
	case fsm.WaitPaused:
		n := r.now("paused", "paused before "+inspect.Text(e.Get("state")))
		n.Resume = r.o.Remedy(engine.Do(engine.OpUnpause, n.Run))
		r.tell(n)
	default:
		address := inspect.Text(e.Get("address")) // of a question; "" = it waits for something else
		seconds, known := inspect.Number(e.Get("seconds"))
		if known && seconds < longWait.Seconds() || address == "" && r.waiting || address != "" && address == r.asked {
			return
		}
		if address == "" {
			r.waiting = true
		}
		r.asked = address
		n := r.now("waiting", "waits in "+inspect.Text(e.Get("state"))+": "+inspect.NoteText(e))
		if until, err := fsm.ParseTime(inspect.Text(e.Get("until"))); err == nil {
			n.Until = &until
		}
		n.Resume = r.o.Remedy(engine.Do(engine.OpRetryNow, n.Run))
		if address != "" {
			n.Resume = r.o.Remedy(engine.AnswerRemedy(n.Run, address)) + " " + strings.ReplaceAll(inspect.Text(e.Get("choices")), ", ", "|")
			n.Question = address
			n.Text += "; answer with: " + n.Resume
		}
		r.tell(n)
	}
}

// now is something that happens to the run while it is running.
func (r *run) now(kind, what string) Event {
	return Event{
		Kind: kind, Run: string(r.h.Run.ID), Loop: r.h.Run.Loop, Status: string(persistence.Running), State: r.state, Steps: r.step,
		Seconds: seconds(r.h.Elapsed + time.Since(r.h.Begin)), Text: r.h.Run.Loop + ": " + what,
	}
}

// ended notifies of how the run ended.
func (r *run) ended(n engine.Ended) {
	o := n.Outcome
	line := fmt.Sprintf("%s: %s in %s (%s, %s)", r.h.Run.Loop, inspect.EndWord(o, r.h.Loop.MaxSteps), o.FinalState, humanize.Count(o.Steps, "step"), humanize.Duration(o.Duration))
	if why := humanize.FirstLine(cmp.Or(o.Error, o.Message)); why != "" && (!inspect.Explains(o) || o.Reason == "") {
		line += ": " + why
	} else if o.Reason != "" && inspect.Explains(o) {
		line += ": " + o.Reason
	}
	e := Event{
		Kind: inspect.EndKind(o), Run: string(r.h.Run.ID), Loop: r.h.Run.Loop, Status: string(persistence.StatusOf(o)), EndedBy: o.TerminatedBy,
		State: o.FinalState, Steps: o.Steps, Seconds: seconds(o.Duration), Error: o.Error, Reason: o.Reason, Text: line, Resume: r.o.Remedy(n.Next),
	}
	if r.o.ExitCode != nil {
		code := r.o.ExitCode(o)
		e.ExitCode = &code
	}
	r.tell(e)
}
