package simtest

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
)

// A Trace is what a run came to.
type Trace struct {
	Outcome fsm.Outcome
	Ways    map[string][]string // what was decided, in order, by the branch or the item in which it was
	Memory  *value.Map          // captures, context and messages
	Files   string              // that actions left
	Facts   string              // in the memories of loops
	Cut     int                 // prompts and judges that a stop cut short, which count as spent
	Results map[string]int      // on record, by place
	Unheard map[string]bool     // states whose action was stopped and had breached a guard: it has no result
	Prompts int
	Cost    float64
	Lives   int
	Steps   int
	Faults  []string // what must not be
	Events  []fsm.Event
}

// timesOf finds what depends on when something happened, in captures.
var timesOf = regexp.MustCompile(
	`\\*"(duration_ms|at|by)\\*": (\\*"[^"]*"|[0-9]+)|"checks": [0-9]+|[0-9]{8}-[0-9]{6}-subloop-`)

// trace sums up.
func (w *World) trace(out fsm.Outcome, lives int) *Trace {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	t := &Trace{
		Outcome: out, Lives: lives, Steps: w.steps, Cut: w.cut, Faults: w.faults, Events: w.events,
		Files: w.left(), Results: maps.Clone(w.results), Unheard: maps.Clone(w.unheard), Ways: map[string][]string{},
	}
	t.Facts = w.learned(lives <= mostLives && len(w.faults) == 0 && out.TerminatedBy != "")
	if lives <= mostLives && len(w.faults) == 0 {
		w.wholeEnd(out)
	}
	t.Faults = w.faults
	if lives > mostLives {
		t.Faults = append(t.Faults, "the run never ends")
	}
	if len(w.lines) > 0 && len(w.faults) == 0 {
		if m, err := w.memory(); err == nil {
			t.Memory = value.NewMap("captured", m.Captured, "context", m.Context, "messages", m.Messages)
			t.Prompts, t.Cost = m.Spent.Prompts, m.Spent.CostUSD
		}
	}
	for i, ev := range w.events {
		if ev.Depth == 0 && ev.Get("terminated_by") == fsm.EndMaxSteps && i < len(w.events)-1 {
			continue // the cap was raised
		}
		if at, said := decided(ev); said != "" {
			t.Ways[at] = append(t.Ways[at], said)
		}
	}
	return t
}

// decided is what an event says of the way that a run takes, and in which branch or item. "" = nothing.
func decided(ev fsm.Event) (at, said string) {
	at, _ = ev.Get("branch").(string)
	text := func(keys ...string) string {
		all := []string{ev.Kind}
		for _, k := range keys {
			all = append(all, fmt.Sprint(ev.Get(k)))
		}
		return strings.Repeat(" ", ev.Depth) + strings.Join(all, " ")
	}
	switch ev.Kind {
	case fsm.EventStateEnter:
		if ev.Get("resumed") == nil {
			said = text("state", "iteration")
		}
	case fsm.EventEvaluate:
		said = text("type", "verdict")
	case fsm.EventRoute:
		said = text("from", "to")
	case fsm.EventBranchEnd:
		at, said = at+" ends", text("verdict")
	case fsm.EventItemEnd:
		at, said = fmt.Sprint(at, " item ", ev.Get("item")), text("verdict")
	case fsm.EventLoopComplete:
		switch ev.Get("terminated_by") {
		case fsm.EndInterrupted, fsm.EndUserStopped, fsm.EndHandoff, fsm.EndParked, fsm.EndSuspended:
		default:
			said = text("terminated_by", "final_state")
		}
	}
	return at, said
}

// Differs says how a disturbed run went another way than the undisturbed one, or what was wrong with either; ""
// = all is well. Of a run with limits, whose way may depend on when something happens, only what is wrong is
// said.
func (t *Trace) Differs(undisturbed *Trace, limits bool) string {
	a, b := undisturbed, t
	switch {
	case len(a.Faults) > 0:
		return "undisturbed: " + strings.Join(a.Faults, "\n")
	case len(b.Faults) > 0:
		return strings.Join(b.Faults, "\n")
	case limits:
		return ""
	case a.Outcome.TerminatedBy != b.Outcome.TerminatedBy || a.Outcome.FinalState != b.Outcome.FinalState:
		return fmt.Sprintf("another end: %s in %s became %s in %s", a.Outcome.TerminatedBy, a.Outcome.FinalState,
			b.Outcome.TerminatedBy, b.Outcome.FinalState)
	}
	for at := range a.Ways {
		if !slices.Equal(a.Ways[at], b.Ways[at]) {
			return fmt.Sprintf("another way in %q:\n%s\n%s", at, strings.Join(a.Ways[at], ", "),
				strings.Join(b.Ways[at], ", "))
		}
	}
	for at := range b.Ways {
		if a.Ways[at] == nil {
			return fmt.Sprintf("another way in %q: %s", at, strings.Join(b.Ways[at], ", "))
		}
	}
	switch {
	case !maps.Equal(a.Results, b.Results) && len(b.Unheard) == 0:
		return fmt.Sprintf("other results are on record:\n%v\n%v", a.Results, b.Results)
	case a.memory(b.Unheard) != b.memory(b.Unheard):
		return fmt.Sprintf("another memory:\n%s\n%s", a.memory(b.Unheard), b.memory(b.Unheard))
	case a.Facts != b.Facts:
		return fmt.Sprintf("other facts:\n%s\n%s", without(a.Facts, b.Facts), without(b.Facts, a.Facts))
	case a.Files != b.Files:
		return fmt.Sprintf("other files:\n%s\n%s", a.Files, b.Files)
	case b.Cut == 0 && len(b.Unheard) == 0 && math.Abs(a.Cost-b.Cost) > 1e-9:
		return fmt.Sprintf("another cost: %g USD, and %g", a.Cost, b.Cost)
	case b.Prompts < a.Prompts || b.Prompts > a.Prompts+b.Cut:
		return fmt.Sprintf("other prompts: %d, and %d with %d that were cut short", a.Prompts, b.Prompts, b.Cut)
	}
	return ""
}

// memory returns the memory without times, and without what the actions of some states left there: their captures and
// messages.
func (t *Trace) memory(but map[string]bool) string {
	if t.Memory == nil {
		return ""
	}
	all := t.Memory.Clone()
	messages, _ := all.Value("messages").([]string)
	all.Set("messages", slices.DeleteFunc(slices.Clone(messages), func(text string) bool {
		state, _, _ := strings.Cut(text, " ")
		return but[state]
	}))
	captured, _ := all.Value("captured").(*value.Map)
	all.Set("captured", uncaptured(captured, but))
	return timesOf.ReplaceAllString(string(value.AppendJSON(nil, all)), "")
}

// uncaptured returns captures without those of some states, also inside of others.
func uncaptured(all *value.Map, but map[string]bool) *value.Map {
	left := value.NewMap()
	for name, v := range all.All() {
		if inside, ok := v.(*value.Map); ok {
			v = uncaptured(inside, but)
		}
		if state, of := strings.CutPrefix(name, "c"); !of || !but[state] {
			left.Set(name, v)
		}
	}
	return left
}

// without returns the lines of a text that another one lacks.
func without(text, other string) string {
	lines := strings.Split(other, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool {
		return slices.Contains(lines, l)
	}), "\n")
}
