package watch

import (
	"cmp"
	"slices"
	"strings"
)

// An order is that of the list of runs.
type order int

const (
	byTime order = iota // as they come: those that are running first, the newest of them at the top
	byName
	byElapsed
	byCost
	orders
)

var orderNames = [orders]string{"time", "name", "elapsed time", "cost"}

// list filters and sorts the runs. A selected one that is not among them any more gives way to its neighbour.
func (m *Model) list() {
	at := m.index()
	m.runs = nil
	for _, r := range m.view.Runs {
		if m.keeps(r) {
			m.runs = append(m.runs, r)
		}
	}
	slices.SortStableFunc(m.runs, func(a, b Run) int {
		switch m.order {
		case byName:
			return strings.Compare(a.Loop, b.Loop)
		case byElapsed:
			return cmp.Compare(b.Lasted, a.Lasted)
		case byCost:
			return cmp.Compare(b.Dollars, a.Dollars)
		}
		return 0
	})
	if m.awaited != "" && slices.ContainsFunc(m.runs, func(r Run) bool { return r.ID == m.awaited }) {
		m.pick(m.awaited)
		m.awaited = ""
	}
	if m.index() < 0 && len(m.runs) > 0 {
		m.pick(m.runs[min(max(at, 0), len(m.runs)-1)].ID)
	}
}

// keeps reports whether the filter keeps a run: each of its words is somewhere in the row, in small or capital letters.
func (m *Model) keeps(r Run) bool {
	text := strings.ToLower(strings.Join([]string{r.ID, r.Status, r.State, r.Note}, " "))
	for word := range strings.FieldsSeq(strings.ToLower(m.filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// name is a run in the list: below the run whose action started it, as long as the list is in its own order.
func (m *Model) name(r Run) string {
	if r.Depth == 0 || m.order != byTime || m.filter != "" {
		return r.ID
	}
	return strings.Repeat("  ", r.Depth-1) + "└ " + r.ID
}

// A column is one of the list of runs. One without a width has the rest of the row.
type column struct {
	title string
	order order // what sorts by it; byTime = nothing does
	width int
	text  func(Run) string
}

// runColumns returns the columns of the list for a width, as many as there is room for: the name of the run first.
func (m *Model) runColumns(w int) []column {
	name := 0
	for _, r := range m.runs {
		name = max(name, columns(printable(m.name(r))))
	}
	all := []column{
		{"Run", byName, name, m.name},
		{"Status", byTime, 11, func(r Run) string { return r.Status }},
		{"State", byTime, 12, func(r Run) string { return r.State }},
		{"Step", byTime, 7, func(r Run) string { return r.Step }},
		{"Elapsed", byElapsed, 9, func(r Run) string { return r.Elapsed }},
		{"Cost", byCost, 9, func(r Run) string { return r.Cost }},
		{"Note", byTime, 0, func(r Run) string { return r.Note }},
	}
	switch {
	case w >= wide:
		all[0].width = min(name, 48)
		all[2].width, all[3].width, all[4].width = 24, 9, 10
	case w >= narrow:
		all = all[:6]
		all[0].width = min(name, max(20, w-57))
	case w >= 36:
		all = all[:3]
		all[0].width = min(name, w-25)
		all[2].width = w - 4 - all[0].width - 12
	default:
		all = all[:2]
		all[0].width = min(name, max(8, w-16))
	}
	return all
}

// runRows returns the list of runs: mark and name, and as much else as there is room for.
func (m *Model) runRows(w int) []row {
	switch {
	case m.view.Now.IsZero():
		return wrapped("reading…", w)
	case len(m.view.Runs) == 0:
		return wrapped("No active runs. New ones appear here: loops run NAME, in another terminal, or S here.", w)
	case len(m.runs) == 0:
		return wrapped("No run matches "+printable(m.filter)+". f changes the filter, Esc clears it.", w)
	}
	cols := m.runColumns(w)
	rows := make([]row, len(m.runs))
	for i, r := range m.runs {
		mark := marks[r.Health]
		here, st := " ", plain
		if r.ID == m.selected {
			here, st = "▸", Style{Bold: true, Reverse: true}
		} else if !r.Live && !r.Queued && !r.Parked {
			st = dim
		}
		status := mark.style
		status.Reverse = st.Reverse
		line := row{{here, st}, {mark.text + " ", status}}
		for k, c := range cols {
			text, how := c.text(r), st
			switch {
			case c.width == 0:
				line = append(line, piece{text, st})
				continue
			case k == 0:
				text = squeeze(text, c.width)
			case k == 1:
				text, how = clip(printable(text), c.width), status
			case k == 2:
				text = innermost(text, c.width)
			default:
				text = clip(printable(text), c.width)
			}
			line = append(line, piece{padded(text, c.width+1), how})
		}
		rows[i] = line
	}
	return rows
}

// innermost makes a path of states so many columns wide at most, and keeps its end: the state whose action runs.
func innermost(path string, limit int) string {
	path = printable(path)
	for columns(path) > limit {
		_, rest, inside := strings.Cut(strings.TrimPrefix(path, "… > "), " > ")
		if !inside {
			break
		}
		path = "… > " + rest
		if columns(path) > limit && !strings.Contains(rest, " > ") {
			path = rest
		}
	}
	return clip(path, limit)
}

// runHeading writes the titles of the columns into the line above the list.
func (m *Model) runHeading(s *Screen, r rect, st Style) {
	x := r.x + 3 // behind the mark of a run
	for _, c := range m.runColumns(r.w) {
		title := c.title
		if m.order != byTime && c.order == m.order {
			title += " ▾"
		}
		if x+columns(title)+1 > r.x+r.w || c.width > 0 && columns(title) > c.width {
			break
		}
		s.put(x-1, r.y, r.x+r.w, " "+title+" ", st, false)
		x += c.width + 1
	}
}

// note returns what there is to say of the selected run, in full, where the list has no room for it.
func (m *Model) note(w int) []row {
	r := m.run()
	if r == nil {
		return nil
	}
	var rows []row
	if cols := m.runColumns(w); len(cols) > 2 && innermost(r.State, cols[2].width) != printable(r.State) {
		rows = wrapped("in "+printable(r.State), w-2)
	}
	if r.Note != "" && (w < wide || m.noteAt(w)+columns(printable(r.Note)) > w) {
		rows = append(rows, wrapped(printable(r.Note), w-2)...)
	}
	st := marks[r.Health].style
	for i := range rows {
		lead := "  "
		if i == 0 {
			lead = marks[r.Health].text + " "
		}
		rows[i] = append(row{{lead, st}}, rows[i]...)
	}
	return rows
}

// noteAt is the column of the list where notes begin.
func (m *Model) noteAt(w int) int {
	x := 3
	for _, c := range m.runColumns(w) {
		if c.width > 0 {
			x += c.width + 1
		}
	}
	return x
}
