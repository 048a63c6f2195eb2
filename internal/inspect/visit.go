package inspect

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/humanize"
)

// A Visit is one stay of a run in a state, from its state_enter to the next one. A stay that was interrupted
// and resumed under the same step number is one Visit.
type Visit struct {
	State string
	Loop  string   // the loop the state belongs to, as its events name it; "" = they do not
	Step  int      // of its loop
	Above []*Visit // the visits that this one ran inside, outermost first
	// of each of Above, the branch or the item that this one ran in, #3 for an item; "" = its sub-loop. nil =
	// all are sub-loops
	Within  []string
	Inline  bool // it is a branch or an item with an action, and no state of a loop
	Index   int  // among all visits of the run in the order they were entered, from 0
	Entered fsm.Event
	Begin   time.Time // of its first event
	End     time.Time // of its newest event

	// Where the time between Begin and End went. Each part of it is in one of these.
	Work   time.Duration // it worked, or what it did is not known
	Waited time.Duration // it waited for a host or for memory, by the rules of the loop
	Paused time.Duration // the run was paused by a person
	Gap    time.Duration // no process carried the run: it was interrupted, and had not been resumed

	Attempts int // how often its action was started: once, and again for each retry and each time that it was cut short
	Resumed  int // how often the run was resumed in it

	Events []fsm.Event // all others of the visit at its own depth, in order, without action_output; see [Reader.Keep]
	Left   int         // how many of these are left out, because there are too many
	Output int         // how many action_output events it had
	Ended  *fsm.Event  // the loop_complete of the sub-loop it ran; nil = none

	last           uint64 // number of the newest event at its own depth
	verdict, to    string
	evaluator      string
	exit           int
	exited, broken bool
	judged         bool
	acting, over   bool
}

// Took is how long the visit took by the clock of the run, which stops while the run is paused or nothing
// carries it.
func (v *Visit) Took() time.Duration { return v.Work + v.Waited }

// Apart returns what is not part of the time it took, as text: "2 attempts, interrupted for 5.0s, paused for 2m00s". It
// is empty where there is nothing to report.
func (v *Visit) Apart() string {
	var parts []string
	if v.Attempts > 1 {
		parts = append(parts, humanize.Count(v.Attempts, "attempt"))
	}
	if v.Gap > 0 {
		parts = append(parts, "interrupted for "+humanize.Duration(v.Gap))
	}
	if v.Paused > 0 {
		parts = append(parts, "paused for "+humanize.Duration(v.Paused))
	}
	return strings.Join(parts, ", ")
}

// Depth is 0 for a visit of the run itself, 1 in its sub-loop, and so on.
func (v *Visit) Depth() int { return len(v.Above) }

// PathSeparator is between the names of a path.
const PathSeparator = " > "

// Path is the state after the states it ran inside, and the branches: "fix > review", "checks > lint > test".
// It is the same for all items of a list.
func (v *Visit) Path() string {
	if len(v.Above) == 0 {
		return v.State
	}
	var b strings.Builder
	for i, a := range v.Above {
		if a.State != "" {
			b.WriteString(a.State + PathSeparator)
		}
		if name := v.Into(i); name != "" && fsm.ItemOf(name) == 0 && (!v.Inline || i < len(v.Above)-1) {
			b.WriteString(name + PathSeparator)
		}
	}
	if v.Inline && fsm.ItemOf(v.Into(len(v.Above)-1)) > 0 { // it has the name of the state with the list
		return b.String() + "item"
	}
	return b.String() + v.State
}

// Into returns the branch or the item of the visit Above[i] that this one ran in; "" = its sub-loop.
func (v *Visit) Into(i int) string {
	if i < 0 || i >= len(v.Within) {
		return ""
	}
	return v.Within[i]
}

// Address returns the address of the step.
func (v *Visit) Address() fsm.Address {
	hops := make([]fsm.Hop, 0, len(v.Above)+1)
	for i, a := range v.Above {
		if a.Index >= 0 {
			hops = append(hops, fsm.Hop{Step: a.Step, Branch: v.Into(i)})
		}
	}
	return fsm.Address{Hops: append(hops, fsm.Hop{Step: v.Step})}
}

// Number is the address of the step as text: "3/1".
func (v *Visit) Number() string {
	if len(v.Above) == 0 {
		return strconv.Itoa(v.Step)
	}
	return v.Address().String()
}

// Verdict is the last one of the visit; "" where it was not judged.
func (v *Visit) Verdict() string { return v.verdict }

// Evaluator is what judged it, as its last evaluation names it; "" = nothing did.
func (v *Visit) Evaluator() string { return v.evaluator }

// Exit is the exit code of the last action that ended in the visit.
func (v *Visit) Exit() (code int, ended bool) { return v.exit, v.exited }

// To is the state the visit led to; "" where it led nowhere.
func (v *Visit) To() string { return v.to }

// Over reports whether the loop of the visit has ended, or nothing carries the run: it gets no more time,
// unless the run is resumed in it.
func (v *Visit) Over() bool { return v.over }

// Failed reports whether an action of the visit ended with another exit code than 0, or could not be attempted.
func (v *Visit) Failed() bool { return v.broken }

// Span returns the numbers of the first and the last event of the visit.
func (v *Visit) Span() (first, last uint64) { return v.Entered.Seq, max(v.Entered.Seq, v.last) }

// find returns the last event of a kind that was kept, nil if there is none.
func (v *Visit) find(kind string) *fsm.Event {
	for i := len(v.Events) - 1; i >= 0; i-- {
		if v.Events[i].Kind == kind {
			return &v.Events[i]
		}
	}
	return nil
}

// mostEvents is how many events of one visit are kept, and firstEvents how many of them from its beginning.
const mostEvents, firstEvents = 1000, 100

// add takes an event of the visit itself.
func (v *Visit) add(e fsm.Event, keep bool) {
	if e.Kind == fsm.EventActionOutput {
		v.Output++
		return
	}
	v.last = e.Seq
	switch e.Kind {
	case fsm.EventActionRetry:
		v.Attempts++
		v.broken = false
	case fsm.EventActionStart:
		v.acting = true
	case fsm.EventActionComplete:
		v.acting = false
		if n, ok := e.Get("exit_code").(int64); ok {
			v.exit, v.exited = int(n), true
			v.broken = v.broken || n != 0
		}
	case fsm.EventActionError:
		v.broken = v.broken || str(e, "route") != ""
	case fsm.EventEvaluate:
		v.judged, v.verdict, v.evaluator = true, str(e, "verdict"), str(e, "type")
	case fsm.EventRoute:
		v.to = str(e, "to")
	}
	if !keep {
		return
	}
	if len(v.Events) == mostEvents {
		const most = mostEvents / 2
		v.Left += most
		v.Events = slices.Delete(v.Events, firstEvents, firstEvents+most)
	}
	v.Events = append(v.Events, e)
}

// goOn takes the state_enter with which a resumed run continues the visit.
func (v *Visit) goOn(at time.Time) {
	v.Resumed++
	v.over = false
	if gap := at.Sub(v.End); gap > 0 && !v.End.IsZero() {
		v.Gap += gap
		v.End = at
	}
	if v.acting {
		v.Attempts++
		v.acting = false
	}
}

// Alone makes a visit of only some events, which belong to a state of which nothing more is known.
func Alone(events ...fsm.Event) *Visit {
	v := &Visit{}
	for _, e := range events {
		v.add(e, true)
	}
	return v
}

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
