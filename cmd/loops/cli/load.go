package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// tellProblems prints problems of a loop that keep nothing from running.
func (a *program) tellProblems(p *project.Project, w engine.Warning) {
	fmt.Fprint(a.Err, a.render(p, w.Problems))
	if w.Advice > 0 {
		terminal.Say(a.Err, "loops: %s about %s: %s\n", humanize.Count(w.Advice, "warning"), w.File,
			a.command("validate", w.File))
	}
}

// shown prints the mistakes of a loop, where an error is about them.
func (a *program) shown(err error) error {
	if invalid, ok := errors.AsType[*project.InvalidError](err); ok {
		fmt.Fprint(a.Err, a.render(invalid.Project, invalid.Problems))
	}
	return err
}

// render writes problems with their source lines, files as a person in the project would write them.
func (a *program) render(p *project.Project, problems []fsm.Problem) string {
	short := make([]fsm.Problem, len(problems))
	long := make(map[string]string)
	for i, pr := range problems {
		name := p.Short(pr.Pos.File)
		long[name] = pr.Pos.File
		pr.Pos.File = name
		short[i] = pr
	}
	text := loopfile.Render(short, func(name string) []byte {
		data, err := os.ReadFile(long[name])
		if err != nil {
			return nil // the problem is still said, without its source line
		}
		return data
	}, a.coloured(a.Err))
	text = humanize.Ours(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
