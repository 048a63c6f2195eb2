package report

import (
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/inspect"
)

// How much of a run a page keeps: so many of its first steps and of its last ones, and so many bytes of the
// beginning and of the end of what each printed.
const (
	pageFirst = 1_000
	pageLast  = 9_000
	pageText  = 2 << 10
	mostNotes = 3
)

// An htmlStep is a step with what a page shows besides.
type htmlStep struct {
	Step

	begin  time.Time
	action string    // first line of what was done
	failed bool      // something was wrong
	exited bool      // its action failed, and no evaluator took that for an answer
	since  time.Time // since when it has not been interrupted; zero = it is
	notes  []string
	output output
}

// An HTML makes the steps of a page of events and the visits they belong to. The zero HTML has read nothing.
type HTML struct {
	items      inspect.ItemKeys
	kept       ends[*htmlStep]
	open       []*htmlStep // at each depth
	begin, end time.Time
	lanes      lanes
}

// Add takes the next event, with the visit it belongs to as an [inspect.Reader] returns it, and returns the
// step of that; nil before the first.
func (h *HTML) Add(e fsm.Event, v *inspect.Visit) *Step {
	if !e.Time.IsZero() {
		if h.begin.IsZero() {
			h.begin = e.Time
		}
		h.end = e.Time
	}
	if v == nil {
		return nil
	}
	s := h.step(v)
	h.items.Add(e)
	if branch := inspect.InsideBranch(e); branch != "" {
		if line := beside(e, h.items.Label(branch)); line != "" {
			s.output.line(line, pageText, pageText)
		}
		return &s.Step
	}
	if e.Depth != s.Depth { // of a sub-loop that has not entered a state
		return &s.Step
	}
	switch e.Kind {
	case fsm.EventLoopResume:
		h.lanes.add(h.open[0])
	case fsm.EventStateEnter:
		s.since = e.Time
	}
	s.add(e)
	return &s.Step
}

// step returns the step of a visit, which is made with its first event.
func (h *HTML) step(v *inspect.Visit) *htmlStep {
	depth := v.Depth()
	if depth < len(h.open) && h.open[depth].visit == v {
		return h.open[depth]
	}
	h.close(depth)
	for i := len(h.open); i < depth; i++ { // the events around it are lost
		h.open = append(h.open, &htmlStep{Step: Step{Depth: i, visit: v.Above[i]}})
	}
	s := &htmlStep{
		Step: Step{Number: v.Number(), Depth: depth, State: v.State, visit: v}, begin: v.Begin,
		since: v.Begin,
	}
	h.open = append(h.open, s)
	if v.Index < 0 {
		return s
	}
	h.kept.mostFirst, h.kept.mostLast = pageFirst, pageLast
	h.kept.add(s)
	return s
}

// close ends the open steps from a depth on.
func (h *HTML) close(depth int) {
	for len(h.open) > depth {
		s := h.open[len(h.open)-1]
		h.open = h.open[:len(h.open)-1]
		if s.Depth == 0 {
			h.lanes.add(s)
		}
		if apart := s.finish(); apart != "" {
			s.notes = append(s.notes, apart)
		}
	}
}

// bad reports whether something was wrong with the step.
func (s *htmlStep) bad() bool { return s.failed || s.exited }

// add takes an event of the step itself.
func (s *htmlStep) add(e fsm.Event) {
	say := func(line string) { s.output.line(line, pageText, pageText) }
	switch e.Kind {
	case fsm.EventStateEnter, fsm.EventLoopStart, fsm.EventLoopResume, fsm.EventMessagesAppend,
		fsm.EventHostSubprocRSS, fsm.EventLoopComplete:
	case fsm.EventActionStart:
		s.action = firstLine(inspect.Text(e.Get("action")))
	case fsm.EventActionOutput:
		say(inspect.Text(e.Get("line")))
	case fsm.EventActionComplete:
		s.Exit = inspect.Text(e.Get("exit_code"))
		s.exited = s.Exit != "0"
		if s.output.size == 0 {
			say(inspect.Text(e.Get("output_preview")))
		}
		if errors := inspect.Text(e.Get("stderr_preview")); errors != "" {
			say("[standard error]\n" + errors)
		}
	case fsm.EventEvaluate:
		s.Verdict = inspect.Text(e.Get("verdict"))
		s.exited = s.exited && s.Verdict == "error" // an ordinary no is not a failure
	case fsm.EventRoute:
		s.To = inspect.Text(e.Get("to"))
	default:
		if len(s.notes) < mostNotes {
			s.notes = append(s.notes, note(e))
		}
		switch e.Kind {
		case fsm.EventActionError, fsm.EventCycleDetected, fsm.EventStallDetected, fsm.EventBudgetExceeded,
			fsm.EventRetryExhausted, fsm.EventRateLimitExhausted,
			fsm.EventCostCeilingExceeded, fsm.EventWorkdirVanished:
			s.failed = true
		}
	}
}

// note says in a line what else happened.
func note(e fsm.Event) string {
	if text := inspect.EventText(e); text != "" {
		return text
	}
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(e.Kind, "_", " "))
	for _, f := range e.Fields {
		if f.Key != "state" && f.Value != nil && b.Len() < 300 {
			fmt.Fprintf(&b, " %s=%s", f.Key, firstLine(inspect.Text(f.Value)))
		}
	}
	return b.String()
}
