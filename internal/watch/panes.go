package watch

import (
	"strings"

	"loops/internal/diagram"
)

// content returns the rows of a pane, and which of them is to be seen.
func (m *Model) content(p pane, r rect) (rows []row, focus int) {
	if p == runsPane {
		return m.runRows(r.w), max(0, m.index())
	}
	d := m.detail()
	if d == nil {
		text := "reading…"
		if m.run() == nil {
			text = "no run is selected"
		}
		return []row{{{text, dim}}}, 0
	}
	switch p {
	case graphPane:
		return m.graphRows(d, r)
	case stepsPane:
		return stepRows(d, r.w), 0
	}
	rows = make([]row, 0, len(d.Log))
	for _, l := range d.Log {
		st := plain
		switch {
		case l.Bad:
			st = Style{Colour: Red}
		case l.Dim:
			st = dim
		case l.Head:
			st = bold
		}
		rows = append(rows, row{{l.Text, st}})
	}
	if len(rows) == 0 {
		rows = []row{{{"its actions have written nothing yet", dim}}}
	}
	return rows, 0
}

var marks = [...]struct {
	text  string
	style Style
}{
	Running: {"▶", good}, Waiting: {"~", amber}, Paused: {"‖", amber}, Completed: {"✓", good}, Failed: {"✗", bad},
	Stopped: {"!", amber}, Unreadable: {"?", bad},
}

// padded fills printable text up with blanks.
func padded(s string, w int) string { return s + strings.Repeat(" ", max(0, w-columns(s))) }

// wrapped breaks a sentence into rows.
func wrapped(text string, w int) []row {
	var rows []row
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && columns(line)+1+columns(word) > w {
			rows = append(rows, row{{line, plain}})
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(rows, row{{line, plain}})
}

// A graph is drawn around the state the run is in where a drawing of it would show little of it.
const (
	graphRowsLeast = 7
	graphNodesMost = 120
)

// graphRows returns the drawing of the loop, and in which row the run is.
func (m *Model) graphRows(d *Detail, r rect) (rows []row, focus int) {
	rows = noted(d.Note, r.w)
	g := d.Graph
	if g == nil || len(g.Nodes) == 0 {
		return append(rows, row{{"its loop is not known", dim}}), 0
	}
	lines := m.graphLines(d, r)
	focus = -1
	for _, line := range lines {
		var out row
		for _, s := range line {
			if s.Style == diagram.Lit && focus < 0 {
				focus = len(rows)
			}
			out = append(out, piece{s.Text, styleOf[s.Style]})
		}
		rows = append(rows, out)
	}
	return rows, max(focus, 0)
}

// A graphDrawing is kept, because it takes longer to make than all else on the screen.
type graphDrawing struct {
	of     Detail // whose graph, with the states it was drawn for
	width  int
	around bool
	lines  [][]diagram.Span
}

// graphLines draws the graph, or what is around the state the run is in, where there is no room for more.
func (m *Model) graphLines(d *Detail, r rect) [][]diagram.Span {
	around := r.h < graphRowsLeast || len(d.Graph.Nodes) > graphNodesMost
	if last := &m.graph; last.of.Graph == d.Graph && last.of.Previous == d.Previous && last.of.Current == d.Current &&
		last.width == r.w && last.around == around {
		return last.lines
	}
	m.graph = graphDrawing{
		of: Detail{Graph: d.Graph, Previous: d.Previous, Current: d.Current}, width: r.w,
		around: around,
	}
	if around {
		m.graph.lines = d.Graph.Around(d.Previous, d.Current, r.w)
	}
	if m.graph.lines == nil {
		m.graph.lines = d.Graph.Lines(r.w)
	}
	return m.graph.lines
}

func noted(note string, w int) []row {
	if note == "" {
		return nil
	}
	return wrapped(printable(note), w)
}

var styleOf = [...]Style{
	diagram.Plain: plain, diagram.Strong: bold, diagram.Faint: dim, diagram.Bad: bad, diagram.Warm: amber,
	diagram.Hot: {Bold: true, Colour: Amber}, diagram.Lit: {Bold: true, Reverse: true},
}

// litColumn is from which column a row is seen so that what is lit in it is.
func (m *Model) litColumn(rows []row, at, w int) int {
	if at >= len(rows) {
		return 0
	}
	x := 0
	for _, p := range rows[at] {
		end := x + columns(p.text)
		if p.style.Reverse && end > w {
			return end - w
		}
		x = end
	}
	return 0
}

// Widths in the table of steps.
const (
	stepTook    = 8
	stepCost    = 9
	stepVerdict = 11
)

// stepWidths returns how wide the columns of the table of steps are: room is that of state and verdict together.
func stepWidths(d *Detail, w int) (number, name, room int, cost bool) {
	number = 4
	for _, s := range d.Steps {
		number = max(number, len(s.Number))
		cost = cost || s.Cost != ""
	}
	number = min(number, 12)
	room = w - number - 3 - stepTook - 1
	if cost = cost && room > 30; cost {
		room -= stepCost + 1
	}
	return number, min(max(room-stepVerdict-1, 6), 28), room, cost
}

// stepHeading writes the titles of the columns into the line above the table of steps.
func (m *Model) stepHeading(s *Screen, r rect, st Style) {
	d := m.detail()
	if d == nil || len(d.Steps) == 0 {
		return
	}
	number, name, room, cost := stepWidths(d, r.w)
	titles := []column{
		{title: "State", width: 3 + number},
		{title: "Verdict", width: name + 1},
		{title: "Took", width: room - name},
		{title: "Cost", width: stepTook + 1},
	}
	if !cost {
		titles = titles[:3]
	}
	x := r.x
	for _, c := range titles {
		if x += c.width; x+columns(c.title)+1 > r.x+r.w || c.title == "Verdict" && room-name <= len("Verdict") {
			continue
		}
		s.put(x-1, r.y, r.x+r.w, " "+c.title+" ", st, false)
	}
}

// stepRows returns the table of steps: number, state, verdict, where it led, time and cost, as there is room.
func stepRows(d *Detail, w int) []row {
	if len(d.Steps) == 0 {
		return []row{{{"no step was taken yet", dim}}}
	}
	number, name, room, cost := stepWidths(d, w)
	rows := make([]row, len(d.Steps))
	for i, s := range d.Steps {
		st, mark := plain, "  "
		switch {
		case s.Bad:
			st, mark = Style{Colour: Red}, "✗ "
		case i == len(d.Steps)-1 && s.State == d.Current && s.To == "":
			st, mark = bold, "● "
		}
		said := s.Verdict
		if s.Left != "" && room-name > len(said)+len(s.Left)+2 {
			said += ", " + s.Left
		}
		if s.To != "" && room-name > stepVerdict+4 {
			said += " → " + s.To
		}
		text := mark + padded(clip(s.Number, number), number+1) + padded(clip(printable(s.State), name), name+1) +
			padded(clip(printable(said), max(room-name-1, 0)), max(room-name, 0)) +
			padded(clip(s.Took, stepTook), stepTook+1)
		if cost {
			text += s.Cost
		}
		rows[i] = row{{text, st}}
	}
	return rows
}
