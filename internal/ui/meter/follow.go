package meter

import (
	"sync/atomic"
	"time"
)

// Follow shows n, of a total that is not known, until the function that it returns is called, which may be called again, and by several at once. It
// returns nil where m shows nothing.
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
	var over atomic.Bool
	return func() {
		if !over.Swap(true) {
			close(stop)
		}
		<-done
	}
}
