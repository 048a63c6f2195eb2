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

// Press does what a key means, and returns what is left for the program to do.
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
	case helping:
		m.pressHelping(k)
		return Command{}
	case searching:
		m.pressSearching(k)
		return Command{}
	case asking:
		m.mode = normal
		if k == "y" || k == "Y" {
			return m.confirm
		}
		m.Say("Nothing was stopped.", false)
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
		m.mode, m.help = helping, 0
	case "/":
		m.mode, m.input = searching, ""
	case "n":
		m.find(m.pattern, 1, false)
	case "N":
		m.find(m.pattern, -1, false)
	case Tab:
		m.focus = (m.focus + 1) % panes
	case BackTab:
		m.focus = (m.focus + panes - 1) % panes
	case "1", "2", "3", "4":
		m.focus = pane(k[0] - '1')
	case Enter, "z":
		m.zoomed = !m.zoomed
	case Escape:
		m.zoomed, m.pattern = false, ""
	case "]", "J":
		m.move(1)
	case "[", "K":
		m.move(-1)
	case "s", "p", "u", "r":
		return m.act(k)
	default:
		m.scrollBy(k)
	}
	return Command{}
}

// act is a key that does something to the selected run.
func (m *Model) act(k Key) Command {
	verb, name := Stop, "stop"
	switch k {
	case "p":
		verb, name = Pause, "pause"
	case "u":
		verb, name = Unpause, "unpause"
	case "r":
		verb, name = Retry, "wake"
	}
	r := m.run()
	switch {
	case r == nil:
		m.Say("There is no run to "+name+".", true)
		return Command{}
	case r.Queued:
		m.Say("Nothing to "+name+": "+r.ID+" waits in the queue and is no run yet; loops queue list tells who is there.", true)
		return Command{}
	case !r.Live && verb != Unpause:
		m.Say("Nothing to "+name+": run "+r.ID+" is "+r.Status+".", true)
		return Command{}
	}
	c := Command{verb, r.ID}
	if verb == Stop {
		m.mode, m.confirm = asking, c
		return Command{}
	}
	return c
}

func (m *Model) pressHelping(k Key) {
	switch k {
	case Down, "j":
		m.help++
	case Up, "k":
		m.help = max(0, m.help-1)
	case PageDown, " ":
		m.help += 10
	case PageUp:
		m.help = max(0, m.help-10)
	case Home, "g":
		m.help = 0
	default:
		m.mode = normal
	}
}

func (m *Model) pressSearching(k Key) {
	switch k {
	case Enter:
		m.mode = normal
		m.pattern = cmp.Or(m.input, m.pattern)
		m.find(m.pattern, 1, true)
	case Escape:
		m.mode = normal
	case CtrlU:
		m.input = ""
	case Backspace:
		if m.input == "" {
			m.mode = normal
		}
		_, n := utf8.DecodeLastRuneInString(m.input)
		m.input = m.input[:len(m.input)-n]
	default:
		if !named(k) && len(m.input) < 200 {
			m.input += string(k)
		}
	}
}

// named reports whether a key types nothing.
func named(k Key) bool { return len(k) > 1 && k[0] < utf8.RuneSelf }

// move selects a run that is so many below.
func (m *Model) move(by int) {
	if n := len(m.view.Runs); n > 0 {
		m.pick(m.view.Runs[min(max(m.index()+by, 0), n-1)].ID)
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

// find goes to the next row of the focused pane, or of the list of runs, that has a text in it. here reports whether the
// row it stands on counts.
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
			m.pick(m.view.Runs[k].ID)
		} else {
			s.row, s.found, s.free = k, k, true
		}
		return
	}
	m.Say("No "+strings.ToLower(paneNames[m.focus])+" with "+pattern+".", true)
}
