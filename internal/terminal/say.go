package terminal

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"loops/internal/humanize"
)

// Say is fmt.Fprintf for people. The texts among args are of others unless they are a [Block]: each is one
// line, in which nothing acts on a terminal or looks like a line of this program. The format is ours. That a
// screen is gone is noticed by its sink.
func Say(w io.Writer, format string, args ...any) {
	for i := range args {
		args[i] = Safe(args[i])
	}
	_, _ = fmt.Fprintf(w, format, args...)
}

// SayLine writes a text of others, or one with such in it, as a line.
func SayLine(w io.Writer, text string) { _, _ = io.WriteString(w, humanize.PlainLine(text)+"\n") }

// SayRow writes the cells of a row of a table.
func SayRow(w io.Writer, cells ...string) {
	for i := range cells {
		cells[i] = humanize.PlainLine(cells[i])
	}
	_, _ = io.WriteString(w, strings.Join(cells, "\t")+"\n")
}

// SayOutput writes a line that an action printed, with its colours, after a text of ours.
func SayOutput(w io.Writer, front, line string) {
	_, _ = io.WriteString(w, front+humanize.Colours(line)+"\n")
}

// SayLines writes a text whose line ends are ours.
func SayLines(w io.Writer, text Block) { _, _ = io.WriteString(w, string(text)+"\n") }

// A Block is a text whose line ends are ours.
type Block string

// Safe returns an argument of say so that its text is clean.
func Safe(arg any) any {
	switch v := arg.(type) {
	case nil, Block, bool, int, int64, float64, fmt.Formatter:
		return arg
	case string:
		return foreignText(v)
	case []byte:
		return foreignText(v)
	case error:
		return foreignText(humanize.OneLine(v))
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
		text = humanize.PlainLine(text)
	}
	_, _ = fmt.Fprintf(s, fmt.FormatString(s, verb), text)
}

// BlockOf returns texts of others on a line each, all but the first behind front.
func BlockOf(front string, lines []string) Block {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = humanize.PlainLine(line)
	}
	return Block(strings.Join(out, "\n"+front))
}

// LinesOf returns an error whose lines are ours, such as several errors joined.
func LinesOf(err error) Block { return BlockOf("", strings.Split(err.Error(), "\n")) }
