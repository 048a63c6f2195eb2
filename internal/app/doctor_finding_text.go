package app

import (
	"fmt"

	"loops/fsm/value"
	"loops/internal/terminal"
	"loops/internal/view"
)

// FindingObject is a finding for a program.
func FindingObject(f Finding) any {
	m := value.NewMap("check", f.Check, "level", f.Level, "text", f.Text, "todo", terminal.OrNull(f.Todo))
	if f.More != nil {
		for _, key := range f.More.Keys() {
			v, _ := f.More.Get(key)
			m.Set(key, v)
		}
	}
	return m
}

// PrintFinding writes a finding of doctor at once.
func PrintFinding(page *view.Page, f Finding) {
	word := fmt.Sprintf("%-7s", f.Mark())
	switch f.Mark() {
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
