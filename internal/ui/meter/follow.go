package meter

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// Follow shows n, of a total that is not known, until the function that it returns is called, which may be called again. Where m shows something, a
// signal ends the process as it would without this, after the bar is taken away. So it is for work that a signal may end at any place.
func (m *Meter) Follow(n *atomic.Int64) (end func()) {
	if m == nil {
		return func() {}
	}
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
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
				signal.Stop(signals)
				return
			case s := <-signals:
				m.End()
				signal.Reset(s)
				if number, ok := s.(syscall.Signal); ok {
					_ = syscall.Kill(os.Getpid(), number)
				}
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
