package app

import (
	"fmt"

	"loops/internal/api"
	"loops/internal/terminal"
	"loops/internal/view"
)

// Object returns the finding for a program.
func (f Finding) Object() api.Finding {
	object := api.Finding{
		Check: f.Check, Level: f.Level, Text: f.Text, Todo: api.Text(f.Todo),
		Tested: f.Level != FindingUntested, More: f.More,
	}
	if !object.Tested {
		object.Level = FindingOK
	}
	return object
}

// PrintFinding writes a finding of doctor at once.
func PrintFinding(page *view.Page, f Finding) {
	word := fmt.Sprintf("%-7s", f.Level)
	switch f.Level {
	case FindingOK:
		word = page.Paint.Green(word)
	case FindingWarning:
		word = page.Paint.Amber(word)
	case FindingProblem:
		word = page.Paint.Red(word)
	}
	line := fmt.Sprintf("%s  %-9s  %s", word, f.Check, f.Text)
	if f.Todo != "" {
		line += " -> " + f.Todo
	}
	terminal.SayLine(page.Out, line)
	page.Out.Flush()
}
