package cli

import (
	"time"

	"github.com/gdamore/tcell/v3"
	"golang.org/x/term"
)

// watchRestore is how long the terminal of watch has to take back its modes.
const watchRestore = 2 * time.Second

// A ttyModes is how a terminal was.
type ttyModes struct {
	fd    int
	state *term.State // nil = nobody knows
}

func modes(a *app) ttyModes {
	f, is := terminal(a.Out)
	if !is {
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

// restore gives the terminal back, and says whether it did: one that is gone, or takes nothing any more, is not waited for.
func restore(screen tcell.Screen) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		screen.Fini()
	}()
	select {
	case <-done:
		return true
	case <-time.After(watchRestore):
		return false
	}
}
