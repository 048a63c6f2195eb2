package engine

import "sync"

// A hold reports whether a run is paused, for the process that carries it. It may be used by several goroutines at once.
type hold struct {
	mu       sync.Mutex
	released chan struct{} // guarded by mu; nil = not paused
}

func (h *hold) set(paused bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case paused && h.released == nil:
		h.released = make(chan struct{})
	case !paused && h.released != nil:
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
