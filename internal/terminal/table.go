package terminal

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"loops/internal/humanize"
)

// WriteTable writes rows with their cells below each other, and no blanks at the end of a line.
func WriteTable(out io.Writer, rows [][]string) {
	w := tabwriter.NewWriter(&trimmed{out: out}, 0, 4, 2, ' ', 0)
	for _, cells := range rows {
		SayRow(w, cells...)
	}
	w.Flush() //nolint:errcheck // trimmed never fails
}

// trimmed passes on lines without the blanks at their ends.
type trimmed struct {
	out  io.Writer
	line []byte // that has no end yet
}

func (t *trimmed) Write(b []byte) (int, error) {
	for rest := b; ; {
		text, after, ended := bytes.Cut(rest, []byte("\n"))
		if t.line = append(t.line, text...); !ended {
			return len(b), nil
		}
		SayLine(t.out, strings.TrimRight(string(t.line), " "))
		t.line, rest = t.line[:0], after
	}
}

// leastText is how narrow the last column of a table gets, and leastName how narrow those before it.
const leastText, leastName = 20, 8

// Fit returns the rows of a table for a terminal of so many columns (0 = any): the last cells are cut, and
// where that leaves them fewer than leastText columns, the widest of the other cells too.
func Fit(rows [][]string, width int) [][]string {
	if width == 0 || len(rows) == 0 {
		return rows
	}
	wide := make([]int, len(rows[0]))
	fitted := make([][]string, len(rows))
	for i, row := range rows {
		fitted[i] = slices.Clone(row)
		for k := range row {
			fitted[i][k] = humanize.PlainLine(row[k])
			wide[k] = max(wide[k], humanize.Width(fitted[i][k]))
		}
	}
	last := len(wide) - 1
	room := width - 2*last // two blanks between columns
	for _, w := range wide[:last] {
		room -= w
	}
	for room < min(leastText, wide[last]) {
		k, most := 0, 0
		for i, w := range wide[:last] {
			if w > most {
				k, most = i, w
			}
		}
		if most <= leastName {
			break
		}
		wide[k]--
		room++
	}
	wide[last] = max(room, 1)
	for _, row := range fitted {
		for k := range row {
			row[k] = humanize.Cut(row[k], wide[k])
		}
	}
	return fitted
}
