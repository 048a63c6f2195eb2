// Package inspect finds what a run did, from its events. One [Reader] makes visits of them: which states the run was
// in, how often each was tried, how it was judged and where it led, and where its time went. Everything else builds on
// that: sentences ([Explain]), two runs beside each other ([Compare]), many runs added up ([Tally]). It is pure: events
// and definitions come in, values go out.
//
// # Two runs beside each other
//
// [CompareSteps] sets the steps of two runs beside each other, as many as possible next to one of the same
// state with the same result.
package inspect

import (
	"slices"
	"strings"
	"time"

	"loops/fsm"
)

// A Reader makes visits of the events of one run, which are added in their order. It may begin with any event: of what
// was before, the states around the first are unknown visits, with the State "". Its memory is bounded: it holds the
// visits the run is in. The zero Reader is ready. It is not safe for concurrent use.
type Reader struct {
	// Done, if not nil, is called with each visit when it is over: inner ones before those they ran inside. It is not
	// called for unknown visits.
	Done func(*Visit)

	// Inside, if not nil, is called in the same manner with each visit inside a branch or an item. They have
	// their places in Index, too. Without it these visits are not made: branches run at once, so they are no
	// line of visits.
	Inside func(*Visit)

	// Each, if not nil, is called with each event and the visit it belongs to; with those inside branches and
	// items where Inside is set.
	Each func(fsm.Event, *Visit)

	// Keep has the events of visits kept, up to a thousand each. What else there is to know about a visit is
	// known without.
	Keep bool

	base   int      // so many visits of stack are around what is read: those of a lane
	within []string // of a lane: the branches and items that lead to it, for each visit around it
	inline bool     // the lane is a branch or an item with an action
	stack  []*Visit
	loops  []string // the loop at each depth
	n      int
	last   time.Time // of the newest event
	doing  activity  // since then
	again  int       // the depth of a loop that was just resumed, from 1; 0 = none was

	lanes  map[string]*lane // of what is inside branches and items, by its path; those that have not ended
	rested time.Duration    // how long the run was paused, up to the newest event
}

// An activity is what the time up to the next event is spent on, if no event says otherwise.
type activity int

const (
	working activity = iota
	waiting
	paused
)

// Add takes the next event and returns the visit it belongs to: the one of its own depth or, where a sub-loop has not
// entered a state, the one that runs it. It returns nil before the first visit.
func (r *Reader) Add(e fsm.Event) *Visit {
	inside := insideBranch(e) && r.base == 0
	v := r.add(e, inside)
	if r.Each != nil && !inside {
		r.Each(e, v)
	}
	return v
}

func (r *Reader) add(e fsm.Event, inside bool) *Visit {
	r.pass(e)
	r.endLane(e)
	if inside {
		r.takeInside(e)
		if len(r.stack) == 0 {
			return nil
		}
		return r.stack[len(r.stack)-1]
	}
	switch e.Kind {
	case fsm.EventLoopStart:
		r.nameLoop(e.Depth, str(e, "loop"))
	case fsm.EventLoopResume:
		r.nameLoop(e.Depth, str(e, "loop"))
		r.sleep(e.Depth)
		r.again = e.Depth + 1
	case fsm.EventLoopComplete:
		if e.Depth > r.base && e.Depth <= len(r.stack) {
			r.stack[e.Depth-1].Ended = &e
		}
		r.sleep(e.Depth)
	case fsm.EventStateEnter:
		goesOn := r.goesOn(e)
		if r.again = 0; !goesOn {
			return r.enter(e)
		}
		r.stack[e.Depth].goOn(e.Time)
	}
	if len(r.stack) == 0 {
		return nil
	}
	if e.Depth >= len(r.stack) { // of a sub-loop that has not entered a state: its start says nothing new
		return r.stack[len(r.stack)-1]
	}
	r.stack[e.Depth].add(e, r.Keep)
	return r.stack[e.Depth]
}

// pass gives the time since the last event to the visits the run is in.
func (r *Reader) pass(e fsm.Event) {
	if !e.Time.IsZero() {
		took := e.Time.Sub(r.last)
		if r.last.IsZero() || took < 0 {
			took = 0
		}
		r.last = e.Time
		switch {
		case e.Kind == fsm.EventLoopResume: // nothing carried the run
		case e.Kind == fsm.EventStateEnter && !r.goesOn(e): // what is between two visits is time of neither
			r.spend(took, min(e.Depth, len(r.stack)))
		default:
			r.spend(took, len(r.stack))
		}
	}
	r.doing = r.doing.after(e)
}

// spend gives time to so many of the outer visits, as far as they are not over.
func (r *Reader) spend(took time.Duration, outer int) {
	if r.doing == paused {
		r.rested += took
	}
	for _, v := range r.stack[min(r.base, outer):outer] {
		if v.over {
			return // and so are those inside it
		}
		v.End = r.last
		switch r.doing {
		case waiting:
			v.Waited += took
		case paused:
			v.Paused += took
		default:
			v.Work += took
		}
	}
}

// after is what comes after an event. A pause and a wait are announced, and last until another event.
func (a activity) after(e fsm.Event) activity {
	switch e.Kind {
	case fsm.EventActionOutput: // of a background process
		return a
	case fsm.EventRateLimitWaiting, fsm.EventHostCooldown, fsm.EventWaitCheck, fsm.EventHumanRequested,
		fsm.EventHumanVote, fsm.EventHumanReminded, fsm.EventHumanEscalated:
		return waiting
	case fsm.EventNote:
		switch str(e, "wait") {
		case "":
		case fsm.WaitPaused:
			return paused
		default:
			return waiting
		}
	}
	return working
}

func (r *Reader) nameLoop(depth int, name string) {
	for len(r.loops) < depth {
		r.loops = append(r.loops, "")
	}
	r.loops = append(r.loops[:depth], name)
}

func resumed(e fsm.Event) bool {
	again, _ := e.Get("resumed").(bool)
	return again
}

// goesOn reports whether a state_enter is that of a visit which was interrupted.
func (r *Reader) goesOn(e fsm.Event) bool {
	if !resumed(e) && r.again != e.Depth+1 || e.Depth >= len(r.stack) {
		return false
	}
	v := r.stack[e.Depth]
	return v.State == str(e, "state") && v.Step == whole(e, "iteration")
}

// enter begins a visit.
func (r *Reader) enter(e fsm.Event) *Visit {
	r.close(e.Depth)
	for len(r.stack) < e.Depth { // the events around it are not known
		r.stack = append(r.stack, &Visit{Index: -1, Above: append([]*Visit(nil), r.stack...)})
	}
	v := &Visit{
		State: str(e, "state"), Step: whole(e, "iteration"), Entered: e, Begin: e.Time, End: e.Time,
		Index: r.n, Attempts: 1,
	}
	if e.Depth < len(r.loops) {
		v.Loop = r.loops[e.Depth]
	}
	if e.Depth > 0 {
		v.Above = append(v.Above, r.stack...)
	}
	if v.Inline, v.Within = r.inline, r.within; r.within != nil && len(v.Above) > len(r.within) {
		v.Within = append(slices.Clone(r.within), make([]string, len(v.Above)-len(r.within))...)
	}
	r.stack = append(r.stack, v)
	r.n++
	return v
}

// sleep has the visits of a loop, and those inside it, get no more time, unless the run continues with them:
// the loop ended or its process was gone.
func (r *Reader) sleep(depth int) {
	for i := depth; i < len(r.stack); i++ {
		r.stack[i].over = true
	}
}

// close ends the visits at a depth and below.
func (r *Reader) close(depth int) {
	r.closeLanes("", depth)
	for i := len(r.stack) - 1; i >= depth; i-- {
		if v := r.stack[i]; r.Done != nil && v.Index >= 0 {
			r.Done(v)
		}
	}
	r.stack = r.stack[:min(depth, len(r.stack))]
}

// Close ends the visits that are still open. It is called once, after the last event.
func (r *Reader) Close() { r.close(0) }

// Waits reports whether the run waits, or is paused, since the newest event.
func (r *Reader) Waits() bool { return r.doing != working }

// Open returns the visits the run is in, outermost first. They are not to be changed.
func (r *Reader) Open() []*Visit { return r.stack }

// Now is how long a visit has taken by a time after the newest event, in a run that is running.
func (r *Reader) Now(v *Visit, now time.Time) time.Duration {
	if v.over || r.doing == paused || r.last.IsZero() {
		return v.Took()
	}
	return v.Took() + max(0, now.Sub(r.last))
}

// Mentions reports whether a text is in an event, in whatever case.
func Mentions(e fsm.Event, what string) bool {
	what = strings.ToLower(what)
	for _, field := range e.Fields {
		if strings.Contains(strings.ToLower(Text(field.Value)), what) {
			return true
		}
	}
	return false
}
