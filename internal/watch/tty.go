package watch

import (
	"os"
	"time"

	"github.com/gdamore/tcell/v3"
	"golang.org/x/term"
)

// restoreWait is how long the terminal has to take back its modes.
const restoreWait = 2 * time.Second

// A ttyModes is how a terminal was.
type ttyModes struct {
	fd    int
	state *term.State // nil = not known
}

func modes(f *os.File) ttyModes {
	if f == nil {
		return ttyModes{}
	}
	state, err := term.GetState(int(f.Fd()))
	if err != nil {
		return ttyModes{}
	}
	return ttyModes{int(f.Fd()), state}
}

// set is for a terminal that does not even take what gives it back: its modes are set all the same.
func (m ttyModes) set() {
	if m.state != nil {
		_ = term.Restore(m.fd, m.state) // there is no other way left
	}
}

// restore gives the terminal back, and reports whether it did: one that is gone, or takes nothing any more, is
// not waited for.
func restore(screen tcell.Screen) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		screen.Fini()
	}()
	select {
	case <-done:
		return true
	case <-time.After(restoreWait):
		return false
	}
}
