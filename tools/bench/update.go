package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// A result is the result of a measure.
type result struct {
	measure
	text   string
	missed bool
	keep   bool // it was not measured without -long: what a document has of it stays
}

// The table of a document is in the section tableSection, below the lines of tableHead. A line between the two
// that begins with machineLine says on what the figures were measured.
const (
	tableSection = "\n## Numbers\n"
	machineLine  = "\nMeasured on "
	tableHead    = "| what | target | measured |\n|---|---|---|\n"
)

// updateTable rewrites the table of a document, and its line about the machine if there is one.
func updateTable(path, machine string, taken []result) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rows, after, err := cutTable(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var table strings.Builder
	for _, r := range taken {
		row := r.row()
		if r.keep {
			row = earlier(rows, r.promise(), row)
		}
		table.WriteString(row + "\n")
	}
	if at := strings.LastIndex(before, machineLine); at > strings.Index(before, tableSection) {
		at += len(machineLine)
		_, rest, _ := strings.Cut(before[at:], "\n")
		before = before[:at] + machine + ".\n" + rest
	}
	return os.WriteFile(path, []byte(before+table.String()+after), 0o644) //nolint:gosec // a document of the repository
}

// updateRows puts what was measured into the rows that a document has, wherever they are.
func updateRows(path string, taken []result) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var doc strings.Builder
	for line := range strings.Lines(string(old)) {
		for _, r := range taken {
			if !r.keep && strings.HasPrefix(line, r.promise()) {
				line = r.row() + "\n"
			}
		}
		doc.WriteString(line)
	}
	return os.WriteFile(path, []byte(doc.String()), 0o644) //nolint:gosec // a document of the repository
}

// earlier returns the row that begins so, or row where there is none.
func earlier(rows, promise, row string) string {
	for line := range strings.Lines(rows) {
		if strings.HasPrefix(line, promise) {
			return strings.TrimSuffix(line, "\n")
		}
	}
	return row
}

// row is a result as a line of the table, in bold where the target was missed.
func (r result) row() string {
	text := r.text
	if r.missed {
		text = "**" + text + "**"
	}
	return fmt.Sprintf("%s%s |", r.promise(), text)
}

// promise is what a line of the table says before what was measured.
func (m measure) promise() string {
	return fmt.Sprintf("| %s | ≤ %s | ", m.name, m.unit.text(m.limit))
}

// cutTable cuts the lines of the table out of a document.
func cutTable(doc string) (before, rows, after string, err error) {
	section := strings.Index(doc, tableSection)
	if section < 0 {
		return "", "", "", errors.New("it has no section Numbers")
	}
	head := strings.Index(doc[section:], tableHead)
	if head < 0 {
		return "", "", "", errors.New("its section Numbers has no table with the columns what, target and measured")
	}
	begin := section + head + len(tableHead)
	end := begin
	for strings.HasPrefix(doc[end:], "|") {
		line, _, _ := strings.Cut(doc[end:], "\n")
		end += len(line) + 1
	}
	return doc[:begin], doc[begin:end], doc[end:], nil
}
