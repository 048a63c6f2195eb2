package simulate

import (
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/humanize"
)

// knownNames are the names that ways through a loop are made of.
type knownNames struct {
	states []string // of the loop itself
	all    []string // and of its sub-loops and branches
	open   bool     // a sub-loop is not known before a run
}

func namesOf(l *fsm.Loop, lib fsm.Library) knownNames {
	n := knownNames{states: l.Order}
	add := func(name string) {
		if !slices.Contains(n.all, name) {
			n.all = append(n.all, name)
		}
	}
	for _, loop := range Reachable(l, lib) {
		for _, name := range loop.Order {
			add(name)
			st := loop.States[name]
			if st == nil {
				continue
			}
			n.open = n.open || strings.Contains(st.Loop, "${")
			if st.Branches != nil {
				for _, b := range st.Branches.List {
					add(b.Name)
					n.open = n.open || strings.Contains(b.State.Loop, "${")
				}
			}
		}
	}
	return n
}

// checkCase reports names in a case that no state has.
func checkCase(c *loopfile.Case, n knownNames) (problems []fsm.Problem) {
	wrong := func(w loopfile.Word, text string) {
		problems = append(problems, fsm.Problem{
			Pos: w.Pos, Severity: fsm.SeverityError, Rule: "unknown-state",
			Path: w.Path, Message: text,
		})
	}
	way := func(w loopfile.Word) {
		if n.open {
			return
		}
		for _, name := range splitWay(w.Text) {
			if name == "item" || strings.HasPrefix(name, "#") || slices.Contains(n.all, name) {
				continue
			}
			wrong(w, "there is no state "+humanize.Quote(name)+humanize.DidYouMean(name, n.all))
			return
		}
	}
	for _, a := range c.Answers {
		if a.State.Text != anyState {
			way(a.State)
		}
	}
	for _, w := range slices.Concat(c.Expect.Path, c.Expect.Never, c.Expect.Guarded, c.Expect.Sandboxed) {
		way(w)
	}
	for _, v := range c.Expect.Verdicts {
		way(v.State)
	}
	if w := c.Expect.State; w.Text != "" && !slices.Contains(n.states, w.Text) {
		wrong(w, "the loop has no state "+humanize.Quote(w.Text)+humanize.DidYouMean(w.Text, n.states))
	}
	return problems
}
