package watch

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// A Colour is one of the few that a screen has. It is only ever added to what words and marks say.
type Colour int

// The colours.
const (
	NoColour Colour = iota
	Red
	Green
	Amber
	Cyan
)

// A Style is how a cell looks.
type Style struct {
	Bold, Dim, Reverse bool
	Colour             Colour
}

// A Cell is one column of a row. One after a character that takes two columns has no text.
type Cell struct {
	Text  string // a character, with its combining marks
	Style Style
}

// A Screen is rows of cells.
type Screen struct {
	Width, Height int
	Cells         []Cell // row by row
	ascii         bool
}

func newScreen(w, h int, ascii bool) *Screen {
	s := &Screen{Width: w, Height: h, Cells: make([]Cell, w*h), ascii: ascii}
	for i := range s.Cells {
		s.Cells[i].Text = " "
	}
	return s
}

// At is the cell in a column of a row, both from 0.
func (s *Screen) At(x, y int) Cell { return s.Cells[y*s.Width+x] }

// put writes text from column x up to column end, and returns the column after it. What does not fit is left out, with
// a mark if mark is true.
func (s *Screen) put(x, y, end int, text string, st Style, mark bool) int {
	if y < 0 || y >= s.Height || x < 0 {
		return x
	}
	end = min(end, s.Width)
	if text = printable(text); mark && columns(text) > end-x {
		text = clip(strings.TrimRight(text, " "), end-x)
	}
	text = s.fold(text)
	last := -1
	for _, r := range text {
		w := runeColumns(r)
		switch {
		case w == 0 && last >= 0:
			s.Cells[last].Text += string(r)
			continue
		case w == 0:
			continue
		case x+w > end:
			return x
		}
		last = y*s.Width + x
		s.Cells[last] = Cell{string(r), st}
		if w == 2 {
			s.Cells[last+1] = Cell{"", st}
		}
		x += w
	}
	return x
}

// fill writes blanks.
func (s *Screen) fill(x, y, end int, st Style) {
	for ; x < min(end, s.Width) && y >= 0 && y < s.Height; x++ {
		s.Cells[y*s.Width+x] = Cell{" ", st}
	}
}

// fold returns printable text in the characters that the screen has.
func (s *Screen) fold(text string) string {
	if !s.ascii {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return r
		}
		if a, ok := inASCII[r]; ok {
			return a
		}
		if runeColumns(r) == 0 {
			return -1
		}
		return '?'
	}, text)
}

// inASCII is what stands for the characters of this program where there is only ASCII.
var inASCII = map[rune]rune{
	'│': '|', '─': '-', '╭': '+', '╮': '+', '╰': '+', '╯': '+', '├': '+', '┤': '+', '┬': '+', '┴': '+', '┼': '+',
	'┄': '.', '┆': ':',
	'▶': '>', '▼': 'v', '▲': '^', '■': '#', '✗': 'x', '✓': '+', '●': '*', '↻': '@', '⇥': '>', '…': '~', '×': 'x',
	'→': '>', '·': '-',
	'└': '+', '▸': '>', '↑': '^', '↓': 'v', '←': '<', '‖': '=', '≥': '>', '§': 'S',
}

// printable returns text in which nothing moves a cursor, turns the direction of writing or joins characters to ones of
// other widths: such things are taken out, and line ends and tabs become blanks.
func printable(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r),
			r == '\u2028', r == '\u2029':
			return -1
		case r >= 0x1f3fb && r <= 0x1f3ff: // the colour of the skin of the emoji before it
			return -1
		case r >= 0x1f1e6 && r <= 0x1f1ff: // a letter of a flag, which two of them make
			return r - 0x1f1e6 + 'A'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// runeColumns is how many columns a character takes, as the library says that writes it to the terminal.
func runeColumns(r rune) int { return displaywidth.Rune(r) }

// columns is how many columns printable text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// clip makes printable text so many columns wide at most. What it takes away it marks.
func clip(s string, limit int) string {
	used, end := 0, 0 // end: where the text ends if one column goes to the mark
	for i, r := range s {
		used += runeColumns(r)
		if used > limit {
			if limit <= 0 {
				return ""
			}
			return s[:end] + "…"
		}
		if used < limit {
			end = i + utf8.RuneLen(r)
		}
	}
	return s
}

// squeeze makes a name so many columns wide at most, and keeps its end, which distinguishes the runs of a loop.
func squeeze(s string, limit int) string {
	s = printable(s)
	if columns(s) <= limit || limit < 12 {
		return clip(s, limit)
	}
	const tail = len("T100000")
	runes := []rune(s)
	end, used := len(runes), 0
	for end > 0 && used+runeColumns(runes[end-1]) <= tail {
		end--
		used += runeColumns(runes[end])
	}
	return clip(string(runes[:end]), limit-used) + string(runes[end:])
}
