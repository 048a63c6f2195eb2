package view

import (
	"fmt"
	"strings"

	"loops/fsm"
)

// Placed makes a problem of a text that may begin with LINE:COL.
func Placed(file, text string) fsm.Problem {
	var line, col int
	place, rest, _ := strings.Cut(text, ": ")
	if n, _ := fmt.Sscanf(place, "%d:%d", &line, &col); n == 2 {
		return ProjectProblem(file, line, col, rest)
	}
	return ProjectProblem(file, 0, 0, strings.TrimSpace(text))
}

// ProjectProblem is a mistake in a line, of which the column may not be known: then it is the whole line.
func ProjectProblem(file string, line, col int, text string) fsm.Problem {
	if line > 0 {
		col = max(col, 1)
	}
	return fsm.Problem{
		Pos: fsm.Pos{File: file, Line: line, Col: col}, Severity: fsm.SeverityError, Rule: ruleProject,
		Message: text,
	}
}
