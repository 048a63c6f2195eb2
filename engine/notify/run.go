package notify

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/config"
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
	moved   bool   // it did more than wait since it was resumed
	remind  int    // the number of the last reminder since then; 0 = none
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
		r.waiting, r.moved = false, true
	case fsm.EventNote:
		r.note(e)
	case fsm.EventHumanReminded:
		r.remind = int(inspect.Whole(e.Get("number")))
		n := r.question("waiting", fmt.Sprintf("reminder %d: ", r.remind), e)
		n.Reminder = r.remind
		r.tell(n)
	case fsm.EventHumanEscalated:
		n := r.question(config.NotifyEscalated, "", e)
		n.To = texts(e.Get("to"))
		r.tell(n)
	}
}

// question is an event about a question that still has no answer.
func (r *run) question(kind, what string, e fsm.Event) Event {
	text := what + "still waits in " + inspect.Text(e.Get("state")) + " for an answer: " +
		humanize.FirstLine(inspect.Text(e.Get("question")))
	if since, err := fsm.ParseTime(inspect.Text(e.Get("since"))); err == nil {
		text += " (asked at " + humanize.Clock(since) + ")"
	}
	return r.asks(r.now(kind, text), e, texts(e.Get("choices")))
}

// texts returns the texts of a list in an event; nil where it has none.
func texts(v any) (all []string) {
	list, _ := v.([]any)
	for _, t := range list {
		all = append(all, inspect.Text(t))
	}
	return all
}

// asks adds to an event how the question that it is about is answered.
func (r *run) asks(n Event, e fsm.Event, choices []string) Event {
	if until, err := fsm.ParseTime(inspect.Text(e.Get("until"))); err == nil {
		n.Until = &until
	}
	n.Question, n.Choices, n.Began = inspect.Text(e.Get("address")), choices, r.h.Run.StartedAt
	n.Who = texts(e.Get("who"))
	n.Resume = r.o.Remedy(engine.AnswerRemedy(n.Run, n.Question)) + " " + strings.Join(choices, "|")
	n.Text += "; answer with: " + n.Resume
	return n
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
		if address == "" && (known && seconds < longWait.Seconds() || r.waiting) || address != "" &&
			address == r.asked {
			return
		}
		if address == "" {
			r.waiting = true
		}
		if r.asked = address; r.h.Resumed && strings.HasPrefix(inspect.Text(e.Get("message")), fsm.StillWaits) {
			return // it was sent when the wait began
		}
		n := r.now("waiting", "waits in "+inspect.Text(e.Get("state"))+": "+inspect.NoteText(e))
		if address != "" {
			r.tell(r.asks(n, e, strings.Split(inspect.Text(e.Get("choices")), ", ")))
			return
		}
		if until, err := fsm.ParseTime(inspect.Text(e.Get("until"))); err == nil {
			n.Until = &until
		}
		n.Resume = r.o.Remedy(engine.Do(engine.OpRetryNow, n.Run))
		r.tell(n)
	}
}

// now is something that happens to the run while it is running.
func (r *run) now(kind, what string) Event {
	return Event{
		Kind: kind, Run: string(r.h.Run.ID), Loop: r.h.Run.Loop, Status: string(persistence.Running), State: r.state,
		Steps:   r.step,
		Seconds: seconds(r.h.Elapsed + time.Since(r.h.Begin)), Text: r.h.Run.Loop + ": " + what,
	}
}

// ended notifies of how the run ended.
func (r *run) ended(n engine.Ended) {
	o := n.Outcome
	if o.TerminatedBy == fsm.EndParked && r.h.Resumed && !r.moved && r.remind == 0 {
		return // it was looked at, and is parked as before
	}
	if o.TerminatedBy == fsm.EndSuspended && !persistence.ProjectCircuit(r.p.Loops).Alarm(o.SuspendedBy) {
		return // people know that from the first run that needs the same
	}
	e := r.end(r.h.Run, o, r.h.Loop.MaxSteps)
	e.Resume = r.o.Remedy(n.Next)
	if o.TerminatedBy == fsm.EndParked {
		e.Reminder = r.remind
	}
	r.tell(e)
}

// end is how a run ended.
func (n *Notifier) end(r persistence.Run, o fsm.Outcome, maxSteps int) Event {
	line := fmt.Sprintf("%s: %s in %s (%s, %s)", r.Loop, inspect.EndWord(o, maxSteps), o.FinalState,
		humanize.Count(o.Steps, "step"), humanize.Duration(o.Duration))
	if why := humanize.FirstLine(cmp.Or(o.Error, o.Message)); why != "" && (!inspect.Explains(o) || o.Reason == "") {
		line += ": " + why
	} else if o.Reason != "" && inspect.Explains(o) {
		line += ": " + o.Reason
	}
	e := Event{
		Kind: inspect.EndKind(o), Run: string(r.ID), Loop: r.Loop, Status: string(persistence.StatusOf(o)),
		EndedBy: o.TerminatedBy,
		State:   o.FinalState, Steps: o.Steps, Seconds: seconds(o.Duration), Error: o.Error, Reason: o.Reason,
		Text: line,
	}
	if n.o.ExitCode != nil {
		code := n.o.ExitCode(o)
		e.ExitCode = &code
	}
	return e
}

// TellSuspended returns what notifies of a run that a worker suspended, which no process carried, by the
// settings of a project. recorded is whether the record of the run says so: one that was never begun is queued
// still. What could not be delivered is in the log of notifications.
func TellSuspended(p *project.Project, opts Options) func(r persistence.Run, o fsm.Outcome, recorded bool) {
	return func(r persistence.Run, o fsm.Outcome, recorded bool) {
		n := New(p, opts)
		if n == nil {
			return
		}
		e := n.end(r, o, r.MaxSteps)
		if e.Resume = n.o.Remedy(engine.Do(engine.OpResume, e.Run)); !recorded {
			e.Status, e.EndedBy, e.ExitCode, e.Resume = string(r.Status), "", nil, ""
		}
		n.tell(e)
		ctx, cancel := context.WithTimeout(context.Background(), alarmWait)
		defer cancel()
		_, _ = n.Close(ctx)
	}
}
