// Package trail tells what a run did from its events: which states it visited, how each visit was judged and where it
// led; in sentences ([Explain]), beside another run ([Compare]), and added up over many runs ([Tally]). It is pure: events
// and definitions come in, values go out.
package trail

import (
	"strconv"
	"strings"
	"time"

	"loops/fsm"
)

// A Visit is one stay of a run in a state, from its state_enter to the next one. A stay that was interrupted and gone on
// with under the same step number is one Visit.
type Visit struct {
	State   string
	Step    int      // of its loop
	Above   []*Visit // the visits whose sub-loop this one belongs to, outermost first
	Entered fsm.Event
	Events  []fsm.Event // all others of the visit at its own depth, in order, without action_output
	Output  int         // how many action_output events it had
	Ended   *fsm.Event  // the loop_complete of the sub-loop it ran; nil = none
	Took    time.Duration
	Resumed int // how often it was gone on with
	Index   int // among all visits of the run in the order they were entered, from 0

	last time.Time // of its newest event
}

// Path is the state behind the states it ran inside: "fix > review".
func (v *Visit) Path() string {
	var b strings.Builder
	for _, a := range v.Above {
		b.WriteString(a.State + " > ")
	}
	return b.String() + v.State
}

// Number is the step behind the steps it ran inside: "3.1".
func (v *Visit) Number() string {
	var b strings.Builder
	for _, a := range v.Above {
		b.WriteString(strconv.Itoa(a.Step) + ".")
	}
	return b.String() + strconv.Itoa(v.Step)
}

// find returns the last event of a kind, nil if there is none.
func (v *Visit) find(kind string) *fsm.Event {
	for i := len(v.Events) - 1; i >= 0; i-- {
		if v.Events[i].Kind == kind {
			return &v.Events[i]
		}
	}
	return nil
}

// Verdict is the last one of the visit; "" where it was not judged.
func (v *Visit) Verdict() string {
	if e := v.find("evaluate"); e != nil {
		return str(*e, "verdict")
	}
	return ""
}

// Exit is the exit code of the last action that ended in the visit.
func (v *Visit) Exit() (code int, ended bool) {
	e := v.find("action_complete")
	if e == nil {
		return 0, false
	}
	n, ok := e.Get("exit_code").(int64)
	return int(n), ok
}

// To is the state the visit led to; "" where it led nowhere.
func (v *Visit) To() string {
	if e := v.find("route"); e != nil {
		return str(*e, "to")
	}
	return ""
}

// Span returns the numbers of the first and the last event of the visit.
func (v *Visit) Span() (first, last uint64) {
	first, last = v.Entered.Seq, v.Entered.Seq
	if n := len(v.Events); n > 0 {
		last = v.Events[n-1].Seq
	}
	return first, last
}

// A Reader makes visits of the events of one run, which are added in their order. The zero Reader is ready. It is not safe
// for concurrent use.
type Reader struct {
	// Done, if not nil, is called with each visit when it is over: inner ones before those they ran inside.
	Done func(*Visit)

	// Before holds the events of the run before its first visit.
	Before []fsm.Event

	stack []*Visit
	n     int
}

// Add takes the next event.
func (r *Reader) Add(e fsm.Event) {
	if e.Kind == "state_enter" && !r.goesOn(e) {
		r.close(e.Depth)
		v := &Visit{State: str(e, "state"), Step: whole(e, "iteration"), Entered: e, Index: r.n, last: e.Time}
		v.Above = append(v.Above, r.stack...)
		r.stack = append(r.stack, v)
		r.n++
		return
	}
	if e.Depth == 0 && len(r.stack) == 0 {
		r.Before = append(r.Before, e)
		return
	}
	for i, v := range r.stack {
		if i <= e.Depth {
			v.pass(e)
		}
	}
	if e.Kind == "loop_complete" && e.Depth > 0 && e.Depth <= len(r.stack) {
		r.stack[e.Depth-1].Ended = &e
	}
	if e.Depth >= len(r.stack) { // of a sub-loop that has not entered a state: its start says nothing new
		return
	}
	v := r.stack[e.Depth]
	switch e.Kind {
	case "action_output":
		v.Output++
		return
	case "state_enter":
		v.Resumed++
	}
	v.Events = append(v.Events, e)
}

// goesOn says whether a state_enter is that of a visit which was interrupted.
func (r *Reader) goesOn(e fsm.Event) bool {
	resumed, _ := e.Get("resumed").(bool)
	if !resumed || e.Depth >= len(r.stack) {
		return false
	}
	v := r.stack[e.Depth]
	return v.State == str(e, "state") && v.Step == whole(e, "iteration")
}

// pass counts the time since the last event. What passed before a run was gone on with is not its own.
func (v *Visit) pass(e fsm.Event) {
	if e.Time.IsZero() {
		return
	}
	if e.Kind != "loop_resume" && !v.last.IsZero() && e.Time.After(v.last) {
		v.Took += e.Time.Sub(v.last)
	}
	v.last = e.Time
}

// close ends the visits at a depth and below.
func (r *Reader) close(depth int) {
	for i := len(r.stack) - 1; i >= depth; i-- {
		if r.Done != nil {
			r.Done(r.stack[i])
		}
	}
	r.stack = r.stack[:min(depth, len(r.stack))]
}

// Close ends the visits that are still open. It is called once, behind the last event.
func (r *Reader) Close() { r.close(0) }

// Open returns the visits the run stands in, outermost first. They are not to be changed.
func (r *Reader) Open() []*Visit { return r.stack }

func str(e fsm.Event, key string) string {
	s, _ := e.Get(key).(string)
	return s
}

func whole(e fsm.Event, key string) int {
	switch n := e.Get(key).(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}
