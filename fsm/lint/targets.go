package lint

import (
	"slices"

	"loops/fsm"
	"loops/internal/humanize"
)

// CheckTargets reports the targets of notifications that questions are escalated to and that the settings do
// not have. targets are the names of those that they have. Problems are as those of [Check].
func CheckTargets(l *fsm.Loop, targets []string) []fsm.Problem {
	c := newChecker(l)
	known := "no target has a name"
	if len(targets) > 0 {
		known = "known are " + humanize.And(targets)
	}
	for _, s := range c.states {
		for name := range escalations(s) {
			if !slices.Contains(targets, name) {
				c.warnf("unknown-target", valueAt("states", s.Name, "ask", "escalate"),
					"notify in the settings has no target %s, so nobody is told; %s%s",
					humanize.Quote(name), known, humanize.DidYouMean(name, targets))
			}
		}
	}
	return c.sorted()
}

// escalations yields the targets that questions of a state and of its branches are escalated to.
func escalations(s *fsm.State) func(yield func(string) bool) {
	return func(yield func(string) bool) { eachEscalation(s, yield) }
}

// eachEscalation reports whether more is wanted.
func eachEscalation(s *fsm.State, yield func(string) bool) bool {
	if s.Await != nil && s.Await.Ask != nil {
		for _, name := range s.Await.Ask.Escalate.To {
			if !yield(name) {
				return false
			}
		}
	}
	if s.Branches != nil {
		for _, b := range s.Branches.List {
			if b.State != nil && !eachEscalation(b.State, yield) {
				return false
			}
		}
	}
	return true
}

// Escalates reports whether a question of the loop is escalated.
func Escalates(l *fsm.Loop) bool {
	for _, s := range l.States {
		for range escalations(s) {
			return true
		}
	}
	return false
}
