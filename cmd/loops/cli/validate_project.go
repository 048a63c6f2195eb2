package cli

import (
	"errors"
	"strings"

	"loops/engine/project"
	"loops/internal/config"
	"loops/internal/ui/views"
)

// checkProject returns the project's own files that have mistakes, with which no loop starts.
func (a *app) checkProject(p *project.Project) []checked {
	var wrong []checked
	_, err := p.Layers.Load()
	mistakes, _ := errors.AsType[config.Problems](err)
	for _, m := range mistakes {
		if len(wrong) == 0 || wrong[len(wrong)-1].file != m.File {
			wrong = append(wrong, checked{name: p.Short(m.File), file: m.File})
		}
		c := &wrong[len(wrong)-1]
		c.problems = append(c.problems, views.ProjectProblem(m.File, m.Line, m.Col, m.Text))
	}
	if _, err := p.ReadPrices(""); err != nil {
		c := checked{name: p.Short(p.PricesFile()), file: p.PricesFile()}
		_, text := explain(err)
		for line := range strings.SplitSeq(text, "\n") {
			c.problems = append(c.problems, views.Placed(p.PricesFile(), strings.TrimPrefix(line, p.Short(p.PricesFile())+":")))
		}
		wrong = append(wrong, c)
	}
	return wrong
}
