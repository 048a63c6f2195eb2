package diagram

import "strings"

// Directions in which a line leaves a cell.
const (
	north = 1 << iota
	east
	south
	west
)

// lineRunes draws a cell by the directions in which lines leave it.
var lineRunes = map[int]rune{
	north: '│', south: '│', north | south: '│', east: '─', west: '─', east | west: '─',
	north | east: '╰', north | west: '╯', south | east: '╭', south | west: '╮',
	north | south | east: '├', north | south | west: '┤', south | east | west: '┬', north | east | west: '┴',
	north | south | east | west: '┼',
}

// A cell of a canvas. wide is set after a character that takes two columns.
type cell struct {
	r     rune
	marks string // combining marks behind r
	wide  bool
	lines int
	net   int // whose the lines are
	style Style
}

// A canvas is a screen of text, by row and column.
type canvas [][]cell

func newCanvas(width, height int) canvas {
	c := make(canvas, height)
	cells := make([]cell, width*height)
	for y := range c {
		c[y] = cells[y*width : (y+1)*width]
	}
	return c
}

// text writes printable text; what is outside the canvas is lost.
func (c canvas) text(x, y int, s string, st Style) {
	last := -1
	for _, r := range s {
		w := runeColumns(r)
		switch {
		case w == 0 && last >= 0:
			c[y][last].marks += string(r)
			continue
		case w == 0 || x < 0 || x+w > len(c[y]):
			x += w
			continue
		}
		c[y][x] = cell{r: r, style: st}
		if w == 2 {
			c[y][x+1] = cell{wide: true}
		}
		last = x
		x += w
	}
}

// line adds directions to a cell. Lines of different nets cross without touching: the vertical one is seen.
func (c canvas) line(x, y, directions, net int) {
	at := &c[y][x]
	switch {
	case at.r != 0:
	case at.lines == 0 || at.net == net:
		at.lines |= directions
		at.net = net
	case directions&(east|west) == 0:
		at.lines, at.net = directions, net
	}
}

// down draws a vertical line from row y0 to row y1.
func (c canvas) down(x, y0, y1, net int) {
	for y := y0; y <= y1; y++ {
		d := 0
		if y > y0 {
			d |= north
		}
		if y < y1 {
			d |= south
		}
		c.line(x, y, d, net)
	}
}

// across draws a horizontal line from column x0 to column x1.
func (c canvas) across(y, x0, x1, net int) {
	for x := x0; x <= x1; x++ {
		d := 0
		if x > x0 {
			d |= west
		}
		if x < x1 {
			d |= east
		}
		c.line(x, y, d, net)
	}
}

// box draws a frame; broken ones are of states that are not quite there.
func (c canvas) box(x, y, width, height int, broken bool, st Style) {
	runes := []rune("╭─╮││╰─╯")
	if broken {
		runes = []rune("╭┄╮┆┆╰┄╯")
	}
	set := func(x, y int, r rune) { c[y][x] = cell{r: r, style: st} }
	for i := 1; i < width-1; i++ {
		set(x+i, y, runes[1])
		set(x+i, y+height-1, runes[6])
	}
	for i := 1; i < height-1; i++ {
		set(x, y+i, runes[3])
		set(x+width-1, y+i, runes[4])
	}
	set(x, y, runes[0])
	set(x+width-1, y, runes[2])
	set(x, y+height-1, runes[5])
	set(x+width-1, y+height-1, runes[7])
}

// spans returns the canvas without blanks at the ends of lines.
func (c canvas) spans() [][]Span {
	out := make([][]Span, 0, len(c))
	for _, row := range c {
		end := len(row)
		for end > 0 && row[end-1].r == 0 && row[end-1].lines == 0 && !row[end-1].wide ||
			end > 0 && row[end-1].r == ' ' {
			end--
		}
		var line []Span
		var run strings.Builder
		st := Plain
		flush := func() {
			if run.Len() > 0 {
				line = append(line, Span{run.String(), st})
			}
			run.Reset()
		}
		for _, at := range row[:end] {
			if at.wide {
				continue
			}
			if at.style != st {
				flush()
				st = at.style
			}
			switch {
			case at.r != 0:
				run.WriteRune(at.r)
				run.WriteString(at.marks)
			case at.lines != 0:
				run.WriteRune(lineRunes[at.lines])
			default:
				run.WriteByte(' ')
			}
		}
		flush()
		out = append(out, line)
	}
	return out
}
