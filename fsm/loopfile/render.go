package loopfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"loops/fsm"
)

// Render prints problems for users, sorted by position: for each one line `path:line:col: error: message
// [rule]`, the line of the source, and a caret under the column. The source function returns the text of a
// file, or nil if it is not available; then, and for very long lines, the last two lines are left out. With color,
// escape sequences for terminals are added. What comes out holds no control characters of the source.
func Render(problems []fsm.Problem, source func(file string) []byte, color bool) string {
	problems = slices.Clone(problems)
	slices.SortStableFunc(problems, byPosition)
	paint := func(style, s string) string {
		if !color {
			return s
		}
		return "\x1b[" + style + "m" + s + "\x1b[0m"
	}
	texts := map[string][][]byte{}
	var out strings.Builder
	for _, p := range problems {
		style := "31" // red
		if p.Severity == fsm.SeverityWarning {
			style = "33" // yellow
		}
		if pos := p.Pos.String(); pos != "" {
			out.WriteString(paint("1", printable(pos)+":") + " ")
		}
		fmt.Fprintf(&out, "%s %s %s\n", paint(style, string(p.Severity)+":"), printable(p.Message),
			paint("2", "["+p.Rule+"]"))
		if p.Pos.Line == 0 || source == nil {
			continue
		}
		lines, known := texts[p.Pos.File]
		if !known {
			if data := source(p.Pos.File); data != nil {
				lines = splitLines(data)
			}
			texts[p.Pos.File] = lines
		}
		if p.Pos.Line > len(lines) || len(lines[p.Pos.Line-1]) > maxLine ||
			len(bytes.TrimSpace(lines[p.Pos.Line-1])) == 0 {
			continue
		}
		line, caret := excerpt(strings.ToValidUTF8(string(lines[p.Pos.Line-1]), "\ufffd"), p.Pos.Col)
		number := fmt.Sprintf("%5d | ", p.Pos.Line)
		fmt.Fprintf(&out, "%s%s\n", paint("2", number), line)
		fmt.Fprintf(&out, "%s%s%s\n", paint("2", "      | "), caret, paint(style, "^"))
	}
	return out.String()
}

// excerpt returns a source line fit to print and the blanks that put a caret under a column of it. Of a long
// line it keeps the part around the column.
func excerpt(line string, col int) (text, blanks string) {
	const width, before = 120, 60
	line = strings.TrimPrefix(line, "\ufeff")
	runes := []rune(line)
	col = min(max(col, 1), len(runes)+1)
	head, tail := "", ""
	if len(runes) > width {
		start := 0
		if col > width-20 {
			start = col - before
			head = "…"
		}
		end := min(start+width, len(runes))
		if end < len(runes) {
			tail = "…"
		}
		runes, col = runes[start:end], col-start
	}
	var shown, under strings.Builder
	under.WriteString(strings.Repeat(" ", utf8.RuneCountInString(head)))
	for i, r := range runes {
		s := printable(string(r))
		if r == '\t' {
			s = "    "
		}
		shown.WriteString(s)
		if i < col-1 {
			under.WriteString(strings.Repeat(" ", columns(s)))
		}
	}
	return head + strings.TrimRight(shown.String(), " ") + tail, under.String()
}

// columns is how many columns of a terminal a printable text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana), r >= 0xff01 &&
			r <= 0xff60, r >= 0x1f300 && r <= 0x1faff:
			n += 2
		default:
			n++
		}
	}
	return n
}

// printable replaces what could move the cursor or hide text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || unicode.IsPrint(r) {
			return r
		}
		return '\ufffd'
	}, s)
}
