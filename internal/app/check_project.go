package app

import (
	"errors"
	"strings"

	"loops/engine/project"
	"loops/internal/config"
	"loops/internal/view"
)

// projectFiles returns the project's own files that have mistakes, with which no loop starts.
func projectFiles(p *project.Project, explain func(error) (string, bool)) []CheckedFile {
	var wrong []CheckedFile
	_, err := p.Layers.Load()
	mistakes, _ := errors.AsType[config.Problems](err)
	for _, m := range mistakes {
		if len(wrong) == 0 || wrong[len(wrong)-1].file != m.File {
			wrong = append(wrong, CheckedFile{name: p.Short(m.File), file: m.File})
		}
		c := &wrong[len(wrong)-1]
		c.Problems = append(c.Problems, view.ProjectProblem(m.File, m.Line, m.Col, m.Text))
	}
	if _, err := p.ReadPrices(""); err != nil {
		c := CheckedFile{name: p.Short(p.PricesFile()), file: p.PricesFile()}
		text, _ := explain(err)
		for line := range strings.SplitSeq(text, "\n") {
			c.Problems = append(c.Problems,
				view.Placed(p.PricesFile(), strings.TrimPrefix(line, p.Short(p.PricesFile())+":")))
		}
		wrong = append(wrong, c)
	}
	return wrong
}
