// Package ciformat writes what a run did in the forms that services of continuous integration read: JUnit XML, and Markdown
// for the summary of a job. It is pure, and its memory does not grow with the length of a run.
package ciformat

import (
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/inspect"
)

// How much of a run is kept: so many of its first steps and of its last ones, so many states of it and its sub-loops, and
// so many bytes of the beginning and of the end of what a state printed when the run was there last.
const (
	firstSteps = 50
	lastSteps  = 950
	mostCases  = 2_000
	outputHead = 2 << 10
	outputTail = 6 << 10
)

// A Step is one visit of a state.
type Step struct {
	Number  int // in its loop, from 1
	Depth   int // 0 in the run itself, 1 in its sub-loop …
	State   string
	Verdict string
	Exit    string // exit code of its action; "" where nothing was done
	To      string // where it led
	Took    time.Duration
	Cost    string // for a person; set by the caller

	visit *inspect.Visit // until it is over
	apart string
	of    *visited
}

// visited is one state of one loop, over all its visits.
type visited struct {
	loop, state string
	depth       int
	visits      int
	spent       time.Duration
	last        *Step
	output      output // of the last visit
}

// A Reader makes steps and states of the events of a run and the visits they belong to. The zero Reader has read nothing.
type Reader struct {
	first, last []*Step // last is a ring once it is full
	next        int     // in last, once it is full
	count       int
	open        []*Step // at each depth
	states      []*visited
	index       map[[2]string]*visited
	missing     int      // visits of states beyond mostCases
	end         *visited // where the run itself was last
}

// Add takes the next event, with the visit it belongs to as an [inspect.Reader] returns it, and returns the step of that;
// nil before the first.
func (r *Reader) Add(e fsm.Event, v *inspect.Visit) *Step {
	if v == nil {
		return nil
	}
	s := r.step(v)
	if e.Depth == s.Depth { // else of a sub-loop that has not entered a state
		s.add(e)
	}
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
		r.open = append(r.open, &Step{Depth: i, visit: v.Above[i], of: &visited{}})
	}
	s := &Step{Number: v.Step, Depth: depth, State: v.State, visit: v}
	r.open = append(r.open, s)
	if v.Index < 0 {
		s.of = &visited{}
		return s
	}
	s.of = r.visit(s)
	if depth == 0 {
		r.end = s.of
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

// visit counts the visit of a state.
func (r *Reader) visit(s *Step) *visited {
	loops := make([]string, 0, s.Depth+1)
	for _, above := range append(s.visit.Above[:s.Depth:s.Depth], s.visit) {
		loops = append(loops, above.Loop)
	}
	key := [2]string{strings.Join(loops, "."), s.State}
	v := r.index[key]
	switch {
	case v == nil && len(r.states) >= mostCases:
		r.missing++
		v = &visited{}
	case v == nil:
		v = &visited{loop: key[0], state: s.State, depth: s.Depth}
		if r.index == nil {
			r.index = map[[2]string]*visited{}
		}
		r.index[key] = v
		r.states = append(r.states, v)
	}
	v.visits++
	v.last, v.output = s, output{}
	return v
}

// close ends the open steps from a depth on.
func (r *Reader) close(depth int) {
	for len(r.open) > depth {
		s := r.open[len(r.open)-1]
		r.open = r.open[:len(r.open)-1]
		s.Took, s.apart, s.visit = s.visit.Took(), s.visit.Apart(), nil
		s.of.spent += s.Took
	}
}

// add takes an event of the step itself.
func (s *Step) add(e fsm.Event) {
	out := &s.of.output
	switch e.Kind {
	case "action_output":
		out.line(text(e.Get("line")))
	case "action_complete":
		s.Exit = text(e.Get("exit_code"))
		if out.size == 0 {
			out.line(text(e.Get("output_preview")))
		}
		if errors := text(e.Get("stderr_preview")); errors != "" {
			out.line("[standard error]\n" + errors)
		}
	case "evaluate":
		s.Verdict = text(e.Get("verdict"))
	case "route":
		s.To = text(e.Get("to"))
	case "action_error":
		out.line("[error] " + text(e.Get("error")))
	}
}

// steps are those that were kept, and how many are missing between the two parts.
func (r *Reader) steps() (first, last []*Step, missing int) {
	last = append(append(last, r.last[r.next:]...), r.last[:r.next]...)
	return r.first, last, r.count - len(r.first) - len(last)
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

// An output keeps the beginning and the end of a text.
type output struct {
	head, tail []byte
	size       int
}

func (o *output) line(s string) {
	if s == "" {
		return
	}
	s = strings.TrimSuffix(s, "\n") + "\n"
	o.size += len(s)
	if n := min(outputHead-len(o.head), len(s)); n > 0 {
		o.head = append(o.head, s[:n]...)
		s = s[n:]
	}
	s = s[max(0, len(s)-outputTail):]
	o.tail = append(o.tail, s...)
	if extra := len(o.tail) - outputTail; extra > outputTail {
		o.tail = append(o.tail[:0], o.tail[extra:]...)
	}
}

// String is what was kept, with a line where something is missing.
func (o *output) String() string {
	kept := o.tail[max(0, len(o.tail)-outputTail):]
	missing := o.size - len(o.head) - len(kept)
	gap := ""
	if missing > 0 {
		gap = fmt.Sprintf("\n[… %d bytes are left out …]\n", missing)
	}
	return plain(string(o.head) + gap + string(kept))
}
