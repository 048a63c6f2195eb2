package watch

// A rect is a part of the screen: columns from x up to x+w, rows from y up to y+h.
type rect struct{ x, y, w, h int }

// Below these a screen shows one thing at a time.
const (
	narrow = 64 // columns
	wide   = 140
	low    = 12 // rows
	spare  = 8  // rows
)

// layout places the panes between the first row, which is a heading, and the last one, which is for messages. A pane
// without room is empty. Below the list there are rows for what there is to say of the selected run, as many as note.
func (m *Model) layout(w, h, note int) (out [panes]rect, band rect) {
	body := rect{0, 1, w, h - 2}
	if h < 4 {
		body = rect{0, 0, w, h - 1} // no heading
	}
	if h == 1 {
		body.h = 1
	}
	runs := len(m.runs) + 1
	note = min(note, h/3)
	if h < spare {
		note = 0
	}
	list := func(rows int) { // the list of runs, and what there is to say of the selected one
		if !m.opened {
			out[runsPane] = top(&body, min(runs, max(rows, body.h/3)))
		}
		band = top(&body, note)
	}
	switch {
	case m.zoomed || h < low || len(m.runs) == 0:
		at := m.focus
		if len(m.runs) == 0 {
			at = runsPane
		}
		band = top(&body, note)
		out[at] = body
	case w < narrow:
		// The list, and below it one of the others.
		list(3)
		at := m.focus
		if at == runsPane {
			at = graphPane
		}
		out[at] = body
	case w < wide:
		list(4)
		middle := top(&body, body.h*3/5)
		out[graphPane] = left(&middle, middle.w*11/20)
		out[stepsPane] = middle
		out[logPane] = body
	default:
		list(4)
		out[graphPane] = left(&body, body.w*9/20)
		out[stepsPane] = top(&body, body.h/2)
		out[logPane] = body
	}
	return out, band
}

// top cuts rows off.
func top(r *rect, h int) rect {
	cut := rect{r.x, r.y, r.w, h}
	r.y, r.h = r.y+h, r.h-h
	return cut
}

// left cuts columns off, and one more that stays blank.
func left(r *rect, w int) rect {
	cut := rect{r.x, r.y, w, r.h}
	r.x, r.w = r.x+w+1, r.w-w-1
	return cut
}
