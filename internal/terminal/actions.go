package terminal

import (
	"io"
	"strings"

	"loops/fsm"
)

// WriteActions writes the whole action and the whole prompt of the judge of each state and branch that has one, and the
// commands that lists come from.
func WriteActions(out io.Writer, paint Paint, l *fsm.Loop) {
	for _, name := range l.Order {
		writeActions(out, paint, name, l.States[name])
	}
}

// writeActions writes what a state, or a branch of one, does.
func writeActions(out io.Writer, paint Paint, name string, s *fsm.State) {
	parts := [][2]string{{"action", s.Action}}
	if s.Each != nil {
		parts = append(parts, [2]string{"for_each command", s.Each.Command})
	}
	if s.Evaluate != nil {
		parts = append(parts, [2]string{"evaluate " + s.Evaluate.Type, s.Evaluate.Prompt})
	}
	for _, part := range parts {
		if strings.TrimSpace(part[1]) == "" {
			continue
		}
		Say(out, "\n%s, %s:\n", paint.Bold(name), part[0])
		for line := range strings.SplitSeq(strings.TrimRight(part[1], "\n"), "\n") {
			SayLine(out, "  "+line)
		}
	}
	if s.Branches != nil {
		for _, b := range s.Branches.List {
			writeActions(out, paint, name+"/"+b.Name, b.State)
		}
	}
}
