package view

import (
	"fmt"

	"loops/internal/doctor"
	"loops/internal/terminal"
)

// PrintFinding writes a finding of doctor at once.
func PrintFinding(page *Page, f doctor.Finding) {
	word := fmt.Sprintf("%-7s", f.Mark())
	switch f.Mark() {
	case doctor.OK:
		word = page.Paint.Green(word)
	case doctor.Warning:
		word = page.Paint.Amber(word)
	case doctor.Problem:
		word = page.Paint.Red(word)
	}
	line := fmt.Sprintf("%s  %-9s  %s", word, f.Check, f.Text)
	if f.Todo != "" {
		line += " -> " + f.Todo
	}
	terminal.SayLine(page.Out, line)
	page.Out.Flush()
}
