package live

import (
	"fmt"
	"os"
	"time"

	"loops/internal/humanize"
	"loops/internal/terminal"
)

// redraw is how often the live line is drawn.
const redraw = 100 * time.Millisecond

// A live is the last line of a terminal, drawn in place: what runs now, for how long and what it printed last. Its
// owner serialises calls.
type live struct {
	file  *os.File
	head  string // "[3/50] check > make test"; "" = nothing runs
	last  string // last output line
	since time.Time
	drawn string // what is there now
}

func newLive(f *os.File) *live { return &live{file: f} }

// set says what runs from now on.
func (l *live) set(head string, since time.Time) { l.head, l.last, l.since = head, "", since }

// draw brings the line up to date.
func (l *live) draw(now time.Time, p terminal.Paint) {
	if l.head == "" {
		return
	}
	text := l.text(now, terminal.Width(l.file))
	if text == l.drawn {
		return
	}
	l.drawn = text
	fmt.Fprint(l.file, "\r"+humanize.Sequences(p.Dim(text))+"\x1b[K") // past the writer that lets no cursor be moved
}

// text returns the line, cut to the width of the terminal less one column, where the cursor stays.
func (l *live) text(now time.Time, width int) string {
	room := width - 1
	elapsed := " (" + humanize.Seconds(now.Sub(l.since)) + ")"
	head := humanize.Cut(l.head, max(room/2, room-len(elapsed)-1-humanize.Width(l.last)))
	text := humanize.Cut(head, room-len(elapsed)) + elapsed
	if l.last != "" && humanize.Width(text)+2 < room {
		text += " " + l.last
	}
	return humanize.Cut(text, room)
}

// erase takes the line away, so that others can be printed.
func (l *live) erase() {
	if l.drawn != "" {
		fmt.Fprint(l.file, "\r\x1b[K")
		l.drawn = ""
	}
}
