package cli

import (
	"errors"
	"fmt"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/config"
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
		c.problems = append(c.problems, projectProblem(m.File, m.Line, m.Col, m.Text))
	}
	if _, err := p.ReadPrices(""); err != nil {
		c := checked{name: p.Short(p.PricesFile()), file: p.PricesFile()}
		_, text := explain(err)
		for line := range strings.SplitSeq(text, "\n") {
			c.problems = append(c.problems, placed(p.PricesFile(), strings.TrimPrefix(line, p.Short(p.PricesFile())+":")))
		}
		wrong = append(wrong, c)
	}
	return wrong
}

// placed makes a problem of a text that may begin with LINE:COL.
func placed(file, text string) fsm.Problem {
	var line, col int
	place, rest, _ := strings.Cut(text, ": ")
	if n, _ := fmt.Sscanf(place, "%d:%d", &line, &col); n == 2 {
		return projectProblem(file, line, col, rest)
	}
	return projectProblem(file, 0, 0, strings.TrimSpace(text))
}

// projectProblem is a mistake in a line, of which the column may not be known: then it is the whole line.
func projectProblem(file string, line, col int, text string) fsm.Problem {
	if line > 0 {
		col = max(col, 1)
	}
	return fsm.Problem{Pos: fsm.Pos{File: file, Line: line, Col: col}, Severity: fsm.SeverityError, Rule: ruleProject, Message: text}
}
