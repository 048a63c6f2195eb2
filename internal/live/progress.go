package live

import (
	"loops/engine"
	"loops/internal/terminal"
)

// WatchProgress has a meter show the progress that an engine reports, until done is called.
func WatchProgress(e *engine.Engine, m *terminal.Meter) (done func()) {
	stop := e.Observe(engine.ObserverFunc(func(n engine.Notice) {
		if n, ok := n.(engine.Progress); ok {
			m.Set(int64(n.Done), int64(n.Total))
		}
	}))
	return func() { stop(); m.End() }
}
