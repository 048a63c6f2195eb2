package engine

import "sync"

// A bell tells those who wait for it that something changed. It may be used by several goroutines at once.
type bell struct {
	mu   sync.Mutex
	next chan struct{} // guarded by mu; closed when the bell rings; nil = nobody waits
}

// ring has those who wait look.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// changed fits fsm.Config.Changed.
func (b *bell) changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}
