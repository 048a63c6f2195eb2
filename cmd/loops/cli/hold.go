package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"loops/persistence"
)

// pauseFile is what pause makes in the working folder of a run, and unpause removes. While it is there the run enters no
// state, also when another process has taken it over.
const pauseFile = ".paused"

func (p project) pauseFile(id persistence.ID) string { return filepath.Join(p.runDir(id), pauseFile) }

// pausedSince returns when a run was asked to pause, and whether it was.
func (p project) pausedSince(id persistence.ID) (time.Time, bool) {
	info, err := os.Stat(p.pauseFile(id))
	if err != nil {
		return time.Time{}, false
	}
	return info.ModTime(), true
}

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
