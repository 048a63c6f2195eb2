package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"loops/fsm"
	"loops/internal/config"
)

// checkProject returns the project's own files that have mistakes, with which no loop starts.
func (a *app) checkProject(p project) []checked {
	var wrong []checked
	file := filepath.Join(p.Loops, config.Name)
	c := checked{name: p.short(file), file: file}
	_, err := config.Load(file)
	if mistakes, is := errors.AsType[config.Problems](err); is {
		for _, m := range mistakes {
			c.problems = append(c.problems, projectProblem(file, m.Line, m.Col, m.Text))
		}
	} else if err != nil {
		c.problems = append(c.problems, projectProblem(file, 0, 0, "it cannot be read: "+errnoText(err).Error()))
	}
	if len(c.problems) > 0 {
		wrong = append(wrong, c)
	}
	if _, err := readPrices(p, ""); err != nil {
		c := checked{name: p.short(p.prices()), file: p.prices()}
		_, text := explain(err)
		for line := range strings.SplitSeq(text, "\n") {
			c.problems = append(c.problems, placed(p.prices(), strings.TrimPrefix(line, p.short(p.prices())+":")))
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

func projectProblem(file string, line, col int, text string) fsm.Problem {
	return fsm.Problem{Pos: fsm.Pos{File: file, Line: line, Col: col}, Severity: fsm.SeverityError, Rule: ruleProject, Message: text}
}
