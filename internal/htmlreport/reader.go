// Package htmlreport makes one page of HTML of a run: what it was, its graph, a timeline and a table of its steps with their
// output. The page needs nothing else: it runs no script and loads nothing. It is pure and its memory is bounded.
package htmlreport

import (
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/inspect"
)

// How much of a run is kept: so many of its first steps and of its last ones, and so many bytes of the beginning and
// of the end of what each printed.
const (
	firstSteps = 1_000
	lastSteps  = 9_000
	outputEnd  = 2 << 10
	mostNotes  = 3
)

// A Step is one visit of a state.
type Step struct {
	Number  int // in its loop, from 1
	Depth   int // 0 in the run itself, 1 in its sub-loop …
	State   string
	Begin   time.Time
	Took    time.Duration // by the clock of the run
	Action  string        // first line of what was done
	Exit    string        // exit code, "" where nothing was done
	Verdict string
	To      string // where it led
	Cost    string // for a person; set by the caller
	Failed  bool   // its action failed or something was wrong

	visit  *inspect.Visit // until it is over
	since  time.Time      // since when it has not been interrupted; zero = it is
	notes  []string
	output output
}

// A Reader makes steps of events and the visits they belong to. The zero Reader has read nothing.
type Reader struct {
	first, last []*Step // last is a ring once it is full
	next        int     // in last, once it is full
	count       int
	open        []*Step // at each depth
	begin, end  time.Time
	lanes       lanes
}

// Add takes the next event, with the visit it belongs to as an [inspect.Reader] returns it, and returns the step of that;
// nil before the first.
func (r *Reader) Add(e fsm.Event, v *inspect.Visit) *Step {
	if !e.Time.IsZero() {
		if r.begin.IsZero() {
			r.begin = e.Time
		}
		r.end = e.Time
	}
	if v == nil {
		return nil
	}
	s := r.step(v)
	if e.Depth != s.Depth { // of a sub-loop that has not entered a state
		return s
	}
	switch e.Kind {
	case "loop_resume":
		r.lanes.add(r.open[0])
	case "state_enter":
		s.since = e.Time
	}
	s.add(e)
	return s
}

// step returns the step of a visit, which is made with its first event.
func (r *Reader) step(v *inspect.Visit) *Step {
	depth := v.Depth()
	if depth < len(r.open) && r.open[depth].visit == v {
		return r.open[depth]
	}
	r.close(depth)
	for i := len(r.open); i < depth; i++ { // the events around it are lost
		r.open = append(r.open, &Step{Depth: i, visit: v.Above[i]})
	}
	s := &Step{Number: v.Step, Depth: depth, State: v.State, Begin: v.Begin, since: v.Begin, visit: v}
	r.open = append(r.open, s)
	if v.Index < 0 {
		return s
	}
	r.count++
	switch {
	case len(r.first) < firstSteps:
		r.first = append(r.first, s)
	case len(r.last) < lastSteps:
		r.last = append(r.last, s)
	default:
		r.last[r.next] = s
		r.next = (r.next + 1) % lastSteps
	}
	return s
}

// close ends the open steps from a depth on.
func (r *Reader) close(depth int) {
	for len(r.open) > depth {
		s := r.open[len(r.open)-1]
		r.open = r.open[:len(r.open)-1]
		if s.Depth == 0 {
			r.lanes.add(s)
		}
		s.over()
	}
}

// over takes from the visit what is told of it as a whole.
func (s *Step) over() {
	v := s.visit
	s.Took, s.visit = v.Took(), nil
	if apart := v.Apart(); apart != "" {
		s.notes = append(s.notes, apart)
	}
}

// add takes an event of the step itself.
func (s *Step) add(e fsm.Event) {
	switch e.Kind {
	case "state_enter", "loop_start", "loop_resume", "messages_append", "host_subproc_rss", "loop_complete":
	case "action_start":
		s.Action = firstLine(text(e.Get("action")))
	case "action_output":
		s.output.line(text(e.Get("line")))
	case "action_complete":
		s.Exit = text(e.Get("exit_code"))
		s.Failed = s.Failed || s.Exit != "0"
		if s.output.size == 0 {
			s.output.line(text(e.Get("output_preview")))
		}
		if errors := text(e.Get("stderr_preview")); errors != "" {
			s.output.line("[standard error]\n" + errors)
		}
	case "evaluate":
		s.Verdict = text(e.Get("verdict"))
	case "route":
		s.To = text(e.Get("to"))
	default:
		if len(s.notes) < mostNotes {
			s.notes = append(s.notes, note(e))
		}
		switch e.Kind {
		case "action_error", "cycle_detected", "stall_detected", "budget_exceeded", "retry_exhausted", "rate_limit_exhausted":
			s.Failed = true
		}
	}
}

// note says in a line what else happened.
func note(e fsm.Event) string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(e.Kind, "_", " "))
	for _, f := range e.Fields {
		if f.Key != "state" && f.Value != nil && b.Len() < 300 {
			fmt.Fprintf(&b, " %s=%s", f.Key, firstLine(text(f.Value)))
		}
	}
	return b.String()
}

// text is a value of an event as people read it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(fsm.AppendJSON(nil, v))
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	line, more, cut := strings.Cut(s, "\n")
	if cut && more != "" {
		line += " …"
	}
	if len(line) > 400 {
		line = strings.ToValidUTF8(line[:400], "") + "…"
	}
	return line
}

// An output keeps the beginning and the end of a text.
type output struct {
	head, tail []byte
	size       int
}

func (o *output) line(s string) {
	if s == "" {
		return
	}
	s += "\n"
	o.size += len(s)
	if n := min(outputEnd-len(o.head), len(s)); n > 0 {
		o.head = append(o.head, s[:n]...)
		s = s[n:]
	}
	if s == "" {
		return
	}
	if len(s) > outputEnd {
		s = s[len(s)-outputEnd:]
	}
	o.tail = append(o.tail, s...)
	if extra := len(o.tail) - outputEnd; extra > outputEnd {
		o.tail = append(o.tail[:0], o.tail[extra:]...)
	}
}

// ends returns what was kept, and how many bytes are missing between the two.
func (o *output) ends() (head, tail string, missing int) {
	kept := o.tail[max(0, len(o.tail)-outputEnd):]
	return string(o.head), string(kept), o.size - len(o.head) - len(kept)
}
