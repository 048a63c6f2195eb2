package engine

import "sync"

// A notice wakes the goroutines that wait for a change. It may be used by several goroutines at once.
type notice struct {
	mu   sync.Mutex
	next chan struct{} // guarded by mu; closed at the next change; nil = no goroutine waits
}

// post wakes those that wait.
func (b *notice) post() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// changed fits fsm.Config.Changed.
func (b *notice) changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}
