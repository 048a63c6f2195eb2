package watch

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// A Key is a key that was pressed: the character it types ("s", "/", "ä"), or one of these names.
type Key string

// The keys that type nothing.
const (
	Up        Key = "Up"
	Down      Key = "Down"
	Left      Key = "Left"
	Right     Key = "Right"
	PageUp    Key = "PageUp"
	PageDown  Key = "PageDown"
	Home      Key = "Home"
	End       Key = "End"
	Tab       Key = "Tab"
	BackTab   Key = "BackTab"
	Enter     Key = "Enter"
	Escape    Key = "Escape"
	Backspace Key = "Backspace"
	CtrlC     Key = "Ctrl-C"
	CtrlL     Key = "Ctrl-L"
	CtrlU     Key = "Ctrl-U"
	CtrlZ     Key = "Ctrl-Z"
)

// Press does what a key means, and returns the rest for the program to do.
func (m *Model) Press(k Key) Command {
	switch k {
	case CtrlC:
		return Command{Verb: Quit}
	case CtrlL:
		return Command{Verb: Redraw}
	case CtrlZ:
		return Command{Verb: Suspend}
	}
	switch m.mode {
	case helping, reading:
		m.pressReading(k)
		return Command{}
	case searching, filtering, typing, answeringMode:
		return m.pressTyping(k)
	case asking:
		m.mode = normal
		if k == "y" || k == "Y" {
			return m.confirm
		}
		became := "stopped"
		if m.confirm.Verb == Resume {
			became = "resumed"
		}
		m.Say("Nothing was "+became+".", false)
		return Command{}
	}
	m.message = ""
	return m.pressNormal(k)
}

func (m *Model) pressNormal(k Key) Command {
	switch k {
	case "q", "Q":
		return Command{Verb: Quit}
	case "?", "h":
		m.mode, m.pages = helping, pages{}
	case "/":
		m.mode, m.input = searching, ""
	case "f":
		m.mode, m.input = filtering, m.filter
	case "o":
		m.order = (m.order + 1) % orders
		m.list()
		m.Say("The runs are sorted by "+orderNames[m.order]+".", false)
	case "n":
		m.find(m.pattern, 1, false)
	case "N":
		m.find(m.pattern, -1, false)
	case Tab:
		m.turn(1)
	case BackTab:
		m.turn(panes - 1)
	case "1", "2", "3", "4":
		m.focus = pane(k[0] - '1')
		m.opened = m.opened && m.focus != runsPane
	case Enter:
		if m.focus != runsPane {
			m.zoomed = !m.zoomed
		} else if m.run() != nil {
			m.opened, m.zoomed, m.focus = true, false, stepsPane
		}
	case "z":
		m.zoomed = !m.zoomed
	case Escape:
		if m.opened && !m.zoomed {
			m.opened, m.focus = false, runsPane
			break
		}
		m.zoomed, m.pattern, m.filter = false, "", ""
		m.list()
	case "]", "J":
		m.move(1)
	case "[", "K":
		m.move(-1)
	case "S":
		m.mode, m.input, m.confirm = typing, "", Command{Verb: Start}
		if r := m.run(); r != nil {
			m.input = r.Loop
		}
	case "s", "p", "u", "r", "R", "a", "e", "L", "E":
		return m.act(k)
	default:
		m.scrollBy(k)
	}
	return Command{}
}

// turn focuses the pane that is so many further, of those that are shown.
func (m *Model) turn(by pane) {
	m.focus = (m.focus + by) % panes
	if m.opened && m.focus == runsPane {
		m.focus = (m.focus + by) % panes
	}
}

// deeds are what keys do to the selected run.
var deeds = map[Key]struct {
	verb Verb
	name string // what there is nothing to do with
}{
	"s": {Stop, "stop"}, "p": {Pause, "pause"}, "u": {Unpause, "unpause"}, "r": {Retry, "wake"},
	"R": {Resume, "resume"}, "a": {Answer, "answer"},
	"e": {Explain, "explain"}, "L": {Log, "read"}, "E": {Edit, "edit"},
}

// act is a key that does something to the selected run.
func (m *Model) act(k Key) Command {
	do := deeds[k]
	r := m.run()
	no := func(why string) Command {
		m.Say("Cannot "+do.name+" "+why, true)
		return Command{}
	}
	if r == nil {
		m.Say("There is no run to "+do.name+".", true)
		return Command{}
	}
	c := Command{Verb: do.verb, Run: r.ID}
	switch {
	case do.verb == Edit:
		c.Text = r.Loop
		return c
	case r.Queued:
		return no(r.ID + ": it waits in the queue and is not a run yet; see loops queue list.")
	case do.verb == Resume && r.Live:
		return no("run " + r.ID + ": it is running.")
	case do.verb == Resume && !r.Resumable, do.verb == Stop && !r.Live && !r.Needs,
		(do.verb == Pause || do.verb == Retry) && !r.Live:
		return no("run " + r.ID + ": it is " + r.Status + ".")
	case do.verb == Answer && len(r.Questions) == 0:
		return no("run " + r.ID + ": it asks no question.")
	case do.verb == Answer:
		m.beginAnswer(r)
		return Command{}
	case do.verb == Stop, do.verb == Resume:
		m.mode, m.confirm = asking, c
		return Command{}
	}
	return c
}

// pressTyping is a key while a search, a filter or the text of a command is typed.
func (m *Model) pressTyping(k Key) Command {
	switch k {
	case Enter:
		return m.entered()
	case Escape:
		if m.mode == filtering {
			m.input = ""
		}
		defer func() { m.mode = normal }()
	case Down:
		m.pages.from++
	case Up:
		m.pages.from = max(0, m.pages.from-1)
	case PageDown:
		m.pages.from += 10
	case PageUp:
		m.pages.from = max(0, m.pages.from-10)
	case CtrlU:
		m.input = ""
	case Backspace:
		if m.input == "" {
			m.mode = normal
		}
		_, n := utf8.DecodeLastRuneInString(m.input)
		m.input = m.input[:len(m.input)-n]
	default:
		if !named(k) && len(m.input) < 2000 {
			m.input += string(k)
		}
	}
	if m.mode == filtering {
		m.filter = m.input
		m.list()
	}
	return Command{}
}

// entered is what was typed.
func (m *Model) entered() Command {
	was := m.mode
	if was == answeringMode {
		text := strings.TrimSpace(m.input)
		m.input = ""
		return m.typed(text)
	}
	m.mode = normal
	switch text := strings.TrimSpace(m.input); {
	case was == searching:
		m.pattern = cmp.Or(m.input, m.pattern)
		m.find(m.pattern, 1, true)
	case was == typing && text != "":
		c := m.confirm
		c.Text = text
		return c
	}
	return Command{}
}

// named reports whether a key types nothing.
func named(k Key) bool { return len(k) > 1 && k[0] < utf8.RuneSelf }

// move selects a run that is so many below.
func (m *Model) move(by int) {
	if n := len(m.runs); n > 0 {
		m.pick(m.runs[min(max(m.index()+by, 0), n-1)].ID)
	}
}

// scrollBy moves what is seen of the focused pane, or the cursor in the list of runs.
func (m *Model) scrollBy(k Key) {
	page := max(1, m.heights[m.focus]-1)
	const all = 1 << 20
	rows, columns := 0, 0
	switch k {
	case Up, "k":
		rows = -1
	case Down, "j":
		rows = 1
	case PageUp:
		rows = -page
	case PageDown, " ":
		rows = page
	case Home, "g":
		rows = -all
	case End, "G":
		rows = all
	case Left, "<":
		columns = -8
	case Right, ">":
		columns = 8
	case "c":
		m.scrolls[m.focus] = scroll{}
		return
	default:
		return
	}
	if m.focus == runsPane {
		m.move(rows)
		return
	}
	s := &m.scrolls[m.focus]
	switch {
	case k == End || k == "G":
		s.free = m.focus == graphPane // steps and log follow what comes
	case rows != 0 || m.focus == graphPane:
		s.free = true
	}
	s.row, s.column = max(0, s.row+rows), max(0, s.column+columns)
}

// find goes to the next row of the focused pane, or of the list of runs, that has a text in it. here reports whether
// the row it is on counts.
func (m *Model) find(pattern string, step int, here bool) {
	if pattern == "" {
		m.Say("Nothing to look for: / begins a search.", true)
		return
	}
	rows, s := m.drawn[m.focus], &m.scrolls[m.focus]
	at := s.found
	switch {
	case m.focus == runsPane:
		at = max(0, m.index())
	case here:
		at = s.row
	}
	n := len(rows)
	for i := range n {
		d := i
		if !here {
			d++
		}
		k := ((at+step*d)%n + n) % n
		if !rows[k].has(pattern) {
			continue
		}
		if m.focus == runsPane {
			m.pick(m.runs[k].ID)
		} else {
			s.row, s.found, s.free = k, k, true
		}
		return
	}
	m.Say("No "+strings.ToLower(paneNames[m.focus])+" with "+pattern+".", true)
}
