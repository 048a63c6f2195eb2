package watch

import (
	"fmt"
	"strings"
)

// A piece is text in one style.
type piece struct {
	text  string
	style Style
}

// A row is a line of a pane.
type row []piece

// has reports whether a row contains a text, in small or capital letters.
func (r row) has(pattern string) bool {
	if pattern == "" {
		return false
	}
	var b strings.Builder
	for _, p := range r {
		b.WriteString(printable(p.text))
	}
	return strings.Contains(strings.ToLower(b.String()), strings.ToLower(pattern))
}

var (
	plain    = Style{}
	bold     = Style{Bold: true}
	dim      = Style{Dim: true}
	reversed = Style{Reverse: true}
	bad      = Style{Bold: true, Colour: Red}
	good     = Style{Colour: Green}
	amber    = Style{Colour: Amber}
)

// Draw returns the screen for a terminal of that size. It is never empty.
func (m *Model) Draw(w, h int) *Screen {
	w, h = max(w, 1), max(h, 1)
	s := newScreen(w, h, m.ascii)
	if m.mode == helping || m.mode == reading {
		m.drawPages(s)
		return s
	}
	if m.mode == answeringMode {
		m.drawPages(s)
		label, means := m.answer.prompt()
		s.putInput(h-1, label, m.input, means)
		return s
	}
	note := m.note(w)
	rects, band := m.layout(w, h, len(note))
	for p, r := range rects {
		m.drawn[p], m.heights[p] = nil, 0
		if r.w > 0 && r.h > 0 {
			m.drawPane(s, pane(p), r)
		}
	}
	for i := range min(band.h, len(note)) {
		s.putRow(note[i], band.x, band.y+i, band.x+band.w, 0, false)
	}
	if h >= 4 {
		m.drawTitle(s)
	}
	if h > 1 || m.mode != normal || m.message != "" {
		m.drawFooter(s)
	}
	return s
}

func (m *Model) drawTitle(s *Screen) {
	live, queued, parked := 0, 0, 0
	for _, r := range m.view.Runs {
		switch {
		case r.Live:
			live++
		case r.Queued:
			queued++
		case r.Parked:
			parked++
		}
	}
	clock := ""
	if !m.view.Now.IsZero() {
		clock = m.view.Now.Format("15:04:05")
	}
	text := "loops watch"
	if s.Width >= narrow && m.view.Project != "" {
		text += "  " + m.view.Project
	}
	switch {
	case m.view.Now.IsZero():
	case live == 0:
		text += "  no active runs"
	case live == 1:
		text += "  1 active run"
	default:
		text += fmt.Sprintf("  %d active runs", live)
	}
	if queued > 0 && s.Width >= narrow {
		text += fmt.Sprintf(", %d queued", queued)
	}
	if parked > 0 && s.Width >= narrow {
		text += fmt.Sprintf(", %d parked", parked)
	}
	if n := len(m.view.Runs) - live - queued - parked; n > 0 && s.Width >= narrow {
		text += fmt.Sprintf(", %d ended", n)
	}
	if m.filter != "" {
		text += fmt.Sprintf("  filter %s: %d of %d", m.filter, len(m.runs), len(m.view.Runs))
	}
	s.fill(0, 0, s.Width, reversed)
	end := s.Width - len(clock) - 1
	if end < len("loops watch") {
		end = s.Width
	} else {
		s.put(end, 0, s.Width, clock, reversed, false)
	}
	s.put(0, 0, end-1, " "+text, reversed, true)
}

// drawFooter draws the last row: a question, a message, or what keys there are.
func (m *Model) drawFooter(s *Screen) {
	y := s.Height - 1
	switch {
	case m.mode == asking:
		verb, means := "Stop", "It ends its action and can be resumed."
		switch r := m.run(); {
		case m.confirm.Verb == Resume:
			verb, means = "Resume", "It runs in the background."
		case r != nil && r.ID == m.confirm.Run && r.Needs:
			means = "Nothing but resume continues it then."
		}
		question := verb + " " + m.confirm.Run + "?"
		if len(question) > s.Width-5 {
			question = verb + " it?"
		}
		s.fill(0, y, s.Width, reversed)
		x := s.put(0, y, s.Width, question+" y/n", Style{Bold: true, Reverse: true}, true)
		s.put(x, y, s.Width, "   "+means, reversed, true)
	case m.mode == searching:
		s.putInput(y, "/", m.input, "in "+strings.ToLower(paneNames[m.focus])+"   Enter finds, Esc leaves")
	case m.mode == filtering:
		s.putInput(y, "filter: ", m.input, "Enter keeps it, Esc clears it")
	case m.mode == typing:
		s.putInput(y, "run: ", m.input, "NAME and its input   Enter starts it in the background, Esc leaves")
	case m.message != "" && (m.bad || m.view.Problem == ""):
		s.say(m.message, m.bad)
	case m.view.Problem != "":
		s.say(m.view.Problem, true)
	default:
		m.drawKeys(s, y)
	}
}

// putInput writes what is being typed in the last row, and what it is for.
func (s *Screen) putInput(y int, label, input, means string) {
	s.fill(0, y, s.Width, plain)
	text := label + input
	if over := columns(printable(text)) - (s.Width - 1); over > 0 {
		text = "…" + string([]rune(text)[min(over+1, len([]rune(text))):])
	}
	x := s.put(0, y, s.Width-1, text, bold, false)
	s.put(x, y, s.Width, " ", reversed, false)
	s.put(x+3, y, s.Width, means, dim, true)
}

// say writes a message in the last row, or in a few more if it is long.
func (s *Screen) say(text string, failed bool) {
	st := plain
	if failed {
		st, text = bad, "✗ "+text
	}
	lines := wrapped(printable(text), s.Width)
	n := min(len(lines), max(1, s.Height/4))
	for i, line := range lines[:n] {
		y := s.Height - n + i
		text := line[0].text
		if i == n-1 && n < len(lines) {
			text += " …"
		}
		s.fill(0, y, s.Width, plain)
		s.put(0, y, s.Width, text, st, true)
	}
}

// drawKeys draws as many keys as there is room for.
func (m *Model) drawKeys(s *Screen, y int) {
	x, enter := 0, "zoom"
	if m.focus == runsPane {
		enter = "open"
	}
	for _, k := range [][2]string{
		{"?", "help"},
		{"q", "quit"},
		{"Enter", enter},
		{"s", "stop"},
		{"R", "resume"},
		{"a", "answer"},
		{"e", "explain"},
		{"L", "log"},
		{"f", "filter"},
		{"o", "order"},
		{"S", "start"},
		{"p", "pause"},
		{"/", "search"},
		{"Tab", "pane"},
	} {
		if x+len(k[0])+1+len(k[1]) > s.Width {
			return
		}
		x = s.put(x, y, s.Width, k[0], bold, false)
		x = s.put(x+1, y, s.Width, k[1], dim, false) + 2
	}
}

// drawPane draws the heading of a pane, if there is room for one, and what it shows.
func (m *Model) drawPane(s *Screen, p pane, r rect) {
	headed := r.h >= 2
	if headed {
		m.drawHeading(s, p, r)
		r.y, r.h = r.y+1, r.h-1
	}
	rows, focus := m.content(p, r)
	m.drawn[p], m.heights[p] = rows, r.h
	at := &m.scrolls[p]
	last := max(0, len(rows)-r.h)
	switch {
	case !at.free && (p == runsPane || p == graphPane):
		if p == graphPane || focus < at.row || focus >= at.row+r.h {
			at.row = focus - r.h/2
		}
		if p == graphPane {
			at.column = m.litColumn(rows, focus, r.w)
		}
	case !at.free:
		at.row = last
	}
	at.row = min(max(at.row, 0), last)
	if at.row == last && p != graphPane {
		at.free = false
	}
	if headed {
		s.drawCut(r, at.row, len(rows)-r.h-at.row)
	}
	for i := range min(r.h, len(rows)-at.row) {
		s.putRow(rows[at.row+i], r.x, r.y+i, r.x+r.w, at.column, rows[at.row+i].has(m.pattern))
	}
}

// drawCut marks in the heading above a pane how many of its rows are above and below what is shown.
func (s *Screen) drawCut(r rect, above, below int) {
	text := ""
	if above > 0 {
		text = fmt.Sprintf(" ↑%d", above)
	}
	if below > 0 {
		text += fmt.Sprintf(" ↓%d", below)
	}
	if x := r.x + r.w - columns(text) - 1; text != "" && x > r.x+r.w/2 {
		s.put(x, r.y-1, r.x+r.w, text+" ", bold, false)
	}
}

// putRow writes a row from one of its columns on.
func (s *Screen) putRow(line row, x, y, end, from int, found bool) {
	for _, p := range line {
		st := p.style
		if found {
			st.Reverse = true
		}
		text := printable(p.text)
		for from > 0 && text != "" {
			r := []rune(text)
			from -= runeColumns(r[0])
			text = string(r[1:])
		}
		x = s.put(x, y, end, text, st, true)
	}
}

// drawHeading draws the line above a pane. That of the focused one has a mark.
func (m *Model) drawHeading(s *Screen, p pane, r rect) {
	mark, st := "─ ", dim
	if p == m.focus {
		mark, st = "▸ ", bold
	}
	text, held := mark+paneNames[p], ""
	if m.scrolls[p].free && p != runsPane {
		held = " (held)"
	}
	s.put(r.x, r.y, r.x+r.w, strings.Repeat("─", max(0, r.w)), dim, false)
	switch {
	case p == runsPane && len(m.runs) > 0:
		s.put(r.x, r.y, r.x+r.w, mark, st, true)
		m.runHeading(s, r, st)
		return
	case p == stepsPane && r.w > 30 && held == "":
		s.put(r.x, r.y, r.x+r.w, mark+"Step ", st, true)
		m.stepHeading(s, r, st)
		return
	}
	if run := m.run(); p != runsPane && run != nil {
		text += " " + squeeze(run.ID, r.w-columns(text)-len(held)-3)
	}
	s.put(r.x, r.y, r.x+r.w, text+held+" ", st, true)
}
