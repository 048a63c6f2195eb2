package watch

import "strings"

// Keys says what each key does, in the order of the help.
func Keys() [][2]string {
	return [][2]string{
		{"↑ ↓ k j", "move in the focused pane; among the runs, select one"},
		{"[ ]", "select the run above or below, whatever is focused"},
		{"Tab 1 2 3 4", "focus the next pane, or runs, graph, steps, log"},
		{"Enter", "among the runs, open the selected one; Esc goes back to the list"},
		{"z", "show the focused pane alone, or all panes; Enter does it in the other panes"},
		{"PgUp PgDn g G", "move by a page, to the beginning, to the end"},
		{"← →", "move a wide graph or a long line"},
		{"c", "have a held pane follow the run again"},
		{"/ n N", "search in the focused pane; find the next, the one before"},
		{"f", "filter the runs by words of their rows"},
		{"o", "sort the runs by time, name, elapsed time or cost"},
		{"s R", "stop, resume the selected run, after confirmation"},
		{"p u", "pause, unpause the selected run"},
		{"r", "end the wait of the selected run: retry now"},
		{"a", "answer the question of the selected run"},
		{"S", "start a loop in the background"},
		{"e", "explain how the selected run ended, or what it is doing"},
		{"L", "read the log of the selected run in $PAGER"},
		{"E", "open the loop of the selected run in $EDITOR"},
		{"Ctrl-L Ctrl-Z", "draw all again; suspend"},
		{"? h", "this help"},
		{"q Ctrl-C", "leave; no run is touched"},
	}
}

// pages is a text that has the screen until it is left.
type pages struct {
	title string
	text  string // "" = the help
	from  int    // first row that is shown
}

// Read shows a text on the whole screen until a user leaves it.
func (m *Model) Read(title, text string) {
	m.mode, m.pages, m.message = reading, pages{title: title, text: text}, ""
}

// helpRows is the help.
func helpRows(w int) []row {
	rows := []row{{{"What the keys do", bold}}, nil}
	for _, k := range Keys() {
		if w >= 50 {
			for i, line := range wrapped(k[1], w-16) {
				key := k[0]
				if i > 0 {
					key = ""
				}
				rows = append(rows, append(row{{padded(key, 16), bold}}, line...))
			}
			continue
		}
		rows = append(rows, row{{k[0], bold}})
		for _, line := range wrapped(k[1], w-2) {
			rows = append(rows, append(row{{"  ", plain}}, line...))
		}
	}
	return append(rows, nil, row{{"Marks", bold}},
		row{{"▶ running   ~ waits   ‖ paused   ✓ completed   ✗ failed", plain}},
		row{{"! ended, can be resumed   ● the state the run is in", plain}})
}

// rows returns the text broken into rows. A line that begins with blanks continues below where it begins.
func (p *pages) rows(w int) []row {
	if p.text == "" {
		return helpRows(w)
	}
	rows := []row{{{p.title, bold}}, nil}
	for line := range strings.Lines(p.text) {
		line = printable(strings.TrimRight(line, "\n"))
		text := strings.TrimLeft(line, " ")
		lead := line[:min(len(line)-len(text), w/2)]
		for _, part := range wrapped(text, w-len(lead)) {
			rows = append(rows, append(row{{lead, plain}}, part...))
		}
	}
	return rows
}

// drawPages draws the help, or the text that is read.
func (m *Model) drawPages(s *Screen) {
	rows := m.pages.rows(s.Width)
	room := max(1, s.Height-1)
	m.pages.from = min(m.pages.from, max(0, len(rows)-room))
	for i := range min(room, len(rows)-m.pages.from) {
		s.putRow(rows[m.pages.from+i], 0, i, s.Width, 0, false)
	}
	if s.Height > 1 {
		text := "any other key leaves"
		if len(rows) > room {
			text = "arrows move, other keys leave"
		}
		s.put(0, s.Height-1, s.Width, text, dim, true)
	}
}

func (m *Model) pressReading(k Key) {
	from := &m.pages.from
	switch k {
	case Down, "j":
		*from++
	case Up, "k":
		*from = max(0, *from-1)
	case PageDown, " ":
		*from += 10
	case PageUp:
		*from = max(0, *from-10)
	case Home, "g":
		*from = 0
	default:
		m.mode = normal
	}
}
