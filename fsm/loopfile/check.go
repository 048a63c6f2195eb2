package loopfile

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// check looks at the loop as a whole, once every state is known.
func (d *decoder) check(l *fsm.Loop, decls []*stateDecl, b *block) {
	// What could not be read cannot be seen, so nothing is said to be missing then.
	terminal, open := false, d.partial
	for _, s := range decls {
		terminal = terminal || s.mayEnd()
		open = open || s.open
	}
	if b.has("states") && b.fields["states"].node.Kind == yaml.MappingNode && !terminal && !open &&
		len(decls) == len(l.States) {
		d.errorf(b.keyPos("states"), "states", "no-terminal",
			"no state is terminal, so a run could never end well; mark one with terminal: true")
	}
	if !d.partial {
		d.checkTargets(l)
	}
	for _, s := range decls {
		d.checkState(s)
		d.checkTransition(s)
		d.checkAction(s)
	}
}

// beside returns in brackets where something is that a problem at another place is about.
func (d *decoder) beside(at, problem fsm.Pos) string {
	if at.File == problem.File {
		return fmt.Sprintf(" (line %d, column %d)", at.Line, at.Col)
	}
	return " (" + d.shown(at) + ")"
}

// checkTargets reports targets that are no states. Targets with a template are resolved by the run.
func (d *decoder) checkTargets(l *fsm.Loop) {
	if len(l.States) == 0 {
		return
	}
	// Each suggestion looks at every name, so a large file gets a limited number of them.
	budget := 2_000_000
	for _, t := range d.targets {
		if l.States[t.name] != nil || !t.top && (t.name == fsm.Current || strings.Contains(t.name, "${")) {
			continue
		}
		hint := ""
		if budget -= len(l.Order); budget > 0 {
			words := l.Order
			if t.top && strings.HasSuffix(t.path, ".on_repeated_failure") {
				words = append(slices.Clip(words), "abort")
			}
			if meant := near(t.name, words); meant != "" {
				where := ""
				if s := l.States[meant]; s != nil {
					where = d.beside(s.Pos, t.pos)
				}
				hint = "; did you mean " + quote(meant) + where + "?"
			}
		}
		switch {
		case t.name == "":
			d.errorf(t.pos, t.path, "unknown-state", "a target is empty; expected the name of a state: %s",
				enumerate(l.Order))
		case t.top && (t.name == fsm.Current || strings.Contains(t.name, "${")):
			d.errorf(t.pos, t.path, "unknown-state", "%s must be the name of a state, not %s", t.path, quote(t.name))
		default:
			d.errorf(t.pos, t.path, "unknown-state", "%s is not a state of this loop%s (states: %s)", quote(t.name),
				hint, enumerate(l.Order))
		}
	}
}
