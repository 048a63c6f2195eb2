package terminal

import (
	"sync"
	"sync/atomic"
	"time"
)

// Follow shows n, of a total that is not known, until end is called, which may be called again, and by several at once.
// end is nil where m shows nothing.
func (m *Meter) Follow(n *atomic.Int64) (end func()) {
	if m == nil {
		return nil
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer m.End()
		every := time.NewTicker(barEvery)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				m.Set(n.Load(), 0)
			case <-stop:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-done
	})
}
