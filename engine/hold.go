package engine

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

// A hold says whether a run is paused, for the process that carries it on. It may be used by several goroutines at once.
type hold struct {
	path string

	mu       sync.Mutex
	released chan struct{} // guarded by mu; nil = not paused
}

func newHold(path string) *hold {
	h := &hold{path: path}
	h.look()
	return h
}

// look takes up what was asked for since. A file that cannot be looked at changes nothing.
func (h *hold) look() {
	_, err := os.Stat(h.path)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil && h.released == nil:
		h.released = make(chan struct{})
	case errors.Is(err, fs.ErrNotExist) && h.released != nil:
		close(h.released)
		h.released = nil
	}
}

// held fits fsm.Config.Held.
func (h *hold) held() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.released
}

// forget removes what is left of a pause when the run has ended for good.
func (h *hold) forget() {
	_ = os.Remove(h.path) // mostly it is not there
}
