package view

import (
	"fmt"

	"loops/internal/doctor"
	"loops/internal/terminal"
)

// PrintFinding writes a finding of doctor at once.
func PrintFinding(page *Page, f doctor.Finding) {
	word := fmt.Sprintf("%-7s", f.Level)
	switch f.Level {
	case doctor.OK:
		word = page.Paint.Green(word)
	case doctor.Warning:
		word = page.Paint.Amber(word)
	default:
		word = page.Paint.Red(word)
	}
	line := fmt.Sprintf("%s  %-9s  %s", word, f.Check, f.Text)
	if f.Todo != "" {
		line += " -> " + f.Todo
	}
	terminal.SayLine(page.Out, line)
	page.Out.Flush()
}
