package cli

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"loops/internal/plain"
)

// say is fmt.Fprintf for people. The texts among args are of others unless they are a block: each is one line, in which
// nothing acts on a terminal or looks like a line of this program. The format is ours. That a screen is gone is noticed by
// its sink.
func say(w io.Writer, format string, args ...any) {
	for i := range args {
		args[i] = foreign(args[i])
	}
	_, _ = fmt.Fprintf(w, format, args...)
}

// sayLine writes a text of others, or one with such in it, as a line.
func sayLine(w io.Writer, text string) { _, _ = io.WriteString(w, plain.Line(text)+"\n") }

// sayRow writes the cells of a row of a table.
func sayRow(w io.Writer, cells ...string) {
	for i := range cells {
		cells[i] = plain.Line(cells[i])
	}
	_, _ = io.WriteString(w, strings.Join(cells, "\t")+"\n")
}

// sayOutput writes a line that an action printed, with its colours, behind a text of ours.
func sayOutput(w io.Writer, front, line string) {
	_, _ = io.WriteString(w, front+plain.Colours(line)+"\n")
}

// sayLines writes a text whose line ends are ours.
func sayLines(w io.Writer, text block) { _, _ = io.WriteString(w, string(text)+"\n") }

// A block is a text whose line ends are ours.
type block string

// foreign returns an argument of say so that its text is clean.
func foreign(arg any) any {
	switch v := arg.(type) {
	case nil, block, bool, int, int64, float64, fmt.Formatter:
		return arg
	case string:
		return foreignText(v)
	case []byte:
		return foreignText(v)
	case error:
		return foreignText(oneLine(v))
	case fmt.Stringer:
		return foreignText(v.String())
	}
	if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
		return foreignText(v.String())
	}
	return arg
}

// A foreignText is a text of others in a format.
type foreignText string

// Format writes the text clean; %q does that by itself.
func (t foreignText) Format(s fmt.State, verb rune) {
	text := string(t)
	if verb != 'q' {
		text = plain.Line(text)
	}
	_, _ = fmt.Fprintf(s, fmt.FormatString(s, verb), text)
}

// blockOf returns texts of others on a line each, all but the first behind front.
func blockOf(front string, lines []string) block {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = plain.Line(line)
	}
	return block(strings.Join(out, "\n"+front))
}

// linesOf returns an error whose lines are ours, such as several errors joined.
func linesOf(err error) block { return blockOf("", strings.Split(err.Error(), "\n")) }
