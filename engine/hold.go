package engine

import "sync"

// A hold reports whether a run is paused, for the process that carries it. It may be used by several goroutines
// at once.
type hold struct {
	mu       sync.Mutex
	released chan struct{} // guarded by mu; nil = not paused
	user     string        // guarded by mu; who paused it first; "" = it is not known
}

func (h *hold) set(paused bool, by string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case paused && h.released == nil:
		h.released, h.user = make(chan struct{}), by
	case !paused && h.released != nil:
		close(h.released)
		h.released, h.user = nil, ""
	}
}

// by fits fsm.Config.HeldBy.
func (h *hold) by() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.user
}

// held fits fsm.Config.Held.
func (h *hold) held() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.released
}
