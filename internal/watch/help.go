package watch

// Keys says what each key does, in the order of the help.
func Keys() [][2]string {
	return [][2]string{
		{"↑ ↓ k j", "move in the focused pane; among the runs, select one"},
		{"[ ]", "select the run above or below, whatever is focused"},
		{"Tab 1 2 3 4", "focus the next pane, or runs, graph, steps, log"},
		{"Enter z", "give the focused pane all the room, or take it back"},
		{"PgUp PgDn g G", "move by a page, to the beginning, to the end"},
		{"← →", "move a wide graph or a long line"},
		{"c", "have a held pane follow the run again"},
		{"/ n N", "search in the focused pane; find the next, the one before"},
		{"s", "stop the selected run, after confirmation"},
		{"p u", "pause, unpause the selected run"},
		{"r", "end the wait of the selected run: retry now"},
		{"Ctrl-L Ctrl-Z", "draw all again; suspend"},
		{"? h", "this help"},
		{"q Ctrl-C", "leave; no run is touched"},
	}
}

func (m *Model) drawHelp(s *Screen) {
	rows := []row{{{"What the keys do", bold}}, nil}
	wide := s.Width >= 50
	for _, k := range Keys() {
		if wide {
			rows = append(rows, row{{padded(k[0], 16), bold}, {k[1], plain}})
			continue
		}
		rows = append(rows, row{{k[0], bold}})
		for _, line := range wrapped(k[1], s.Width-2) {
			rows = append(rows, append(row{{"  ", plain}}, line...))
		}
	}
	rows = append(rows, nil, row{{"Marks", bold}},
		row{{"▶ running   ~ waits   ‖ paused   ✓ completed   ✗ failed", plain}},
		row{{"! ended, can be resumed   ● the state the run is in", plain}})
	room := max(1, s.Height-1)
	m.help = min(m.help, max(0, len(rows)-room))
	for i := range min(room, len(rows)-m.help) {
		s.putRow(rows[m.help+i], 0, i, s.Width, 0, false)
	}
	if s.Height > 1 {
		text := "any other key leaves the help"
		if len(rows) > room {
			text = "arrows move, other keys leave the help"
		}
		s.put(0, s.Height-1, s.Width, text, dim, true)
	}
}
