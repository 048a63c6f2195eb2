package terminal

import (
	"io"
	"strings"

	"loops/fsm"
)

// WriteActions writes the whole action and the whole prompt of the judge of each state that has one.
func WriteActions(out io.Writer, paint Paint, l *fsm.Loop) {
	for _, name := range l.Order {
		s := l.States[name]
		parts := [][2]string{{"action", s.Action}}
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
	}
}
