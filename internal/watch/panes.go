package watch

import (
	"slices"
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
	Running: {"▶", good}, Waiting: {"~", amber}, Paused: {"‖", amber}, Completed: {"✓", good}, Failed: {"✗", bad}, Stopped: {"!", amber}, Unreadable: {"?", bad},
}

// runRows returns the list of runs: mark and name, and as much else as there is room for.
func (m *Model) runRows(w int) []row {
	if len(m.view.Runs) == 0 {
		text := "No active runs. New ones appear here: loops run NAME, in another terminal."
		if m.view.Now.IsZero() {
			text = "reading…"
		}
		return wrapped(text, w)
	}
	name := 0
	for _, r := range m.view.Runs {
		name = max(name, columns(printable(r.ID)))
	}
	cells := []struct {
		width int
		text  func(Run) string
	}{
		{11, func(r Run) string { return r.Status }},
		{12, func(r Run) string { return r.State }},
		{7, func(r Run) string { return r.Step }},
		{8, func(r Run) string { return r.Elapsed }},
		{9, func(r Run) string { return r.Cost }},
	}
	switch {
	case w >= 140:
		cells[1].width, cells[2].width, cells[3].width = 24, 9, 10
		name = min(name, 48)
	case w >= narrow:
		name = min(name, max(20, w-55))
	case w >= 36:
		cells = cells[:2]
		name = min(name, w-25)
		cells[1].width = w - 4 - name - 12
	default:
		cells = cells[:1]
		name = min(name, max(8, w-16))
	}
	rows := make([]row, len(m.view.Runs))
	for i, r := range m.view.Runs {
		mark := marks[r.Health]
		here, st := " ", plain
		if r.ID == m.selected {
			here, st = "▸", Style{Bold: true, Reverse: true}
		} else if !r.Live && !r.Queued {
			st = dim
		}
		status := mark.style
		status.Reverse = st.Reverse
		line := row{{here, st}, {mark.text + " ", status}, {padded(squeeze(r.ID, name), name+1), st}}
		for k, c := range cells {
			how := st
			if k == 0 {
				how = status
			}
			line = append(line, piece{padded(clip(printable(c.text(r)), c.width), c.width+1), how})
		}
		if len(cells) > 4 {
			line = append(line, piece{r.Note, st})
		}
		rows[i] = line
	}
	return rows
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
	if run := m.run(); run != nil && run.Note != "" {
		rows = noted(marks[run.Health].text+" "+run.Note, r.w)
	}
	rows = append(rows, noted(d.Note, r.w)...)
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
	if last := &m.graph; last.of.Graph == d.Graph && last.of.Previous == d.Previous && last.of.Current == d.Current && last.width == r.w && last.around == around {
		return last.lines
	}
	m.graph = graphDrawing{of: Detail{Graph: d.Graph, Previous: d.Previous, Current: d.Current}, width: r.w, around: around}
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
	diagram.Plain: plain, diagram.Strong: bold, diagram.Faint: dim, diagram.Bad: bad, diagram.Warm: amber, diagram.Hot: {Bold: true, Colour: Amber}, diagram.Lit: {Bold: true, Reverse: true},
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

// stepRows returns the table of steps: number, state, verdict, where it led, time and cost, as there is room.
func stepRows(d *Detail, w int) []row {
	if len(d.Steps) == 0 {
		return []row{{{"no step was taken yet", dim}}}
	}
	number := 4
	for _, s := range d.Steps {
		number = max(number, len(s.Number))
	}
	number = min(number, 12)
	cost := slices.ContainsFunc(d.Steps, func(s Step) bool { return s.Cost != "" })
	const took, paid, verdict = 8, 9, 11
	room := w - number - 3 - took - 1
	if cost = cost && room > 30; cost {
		room -= paid + 1
	}
	name := min(max(room-verdict-1, 6), 28)
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
		if s.To != "" && room-name > verdict+4 {
			said += " → " + s.To
		}
		text := mark + padded(clip(s.Number, number), number+1) + padded(clip(printable(s.State), name), name+1) +
			padded(clip(printable(said), max(room-name-1, 0)), max(room-name, 0)) + padded(clip(s.Took, took), took+1)
		if cost {
			text += s.Cost
		}
		rows[i] = row{{text, st}}
	}
	return rows
}
