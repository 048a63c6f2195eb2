package cli

import (
	"loops/engine"
	"loops/internal/ui"
	"loops/internal/ui/meter"
)

// meter shows on standard error how far long work has come; nil = it does not. The caller ends it.
func (a *app) meter(what string, quiet bool, count func(int64) string) *meter.Meter {
	if quiet {
		return nil
	}
	return &meter.Meter{Out: ui.Verbatim(a.Err), What: what, Width: ui.BarWidth(a.Err, a.getenv), ASCII: ui.OnlyASCII(a.getenv), Count: count}
}

// watchProgress has a meter show the progress that an engine reports.
func watchProgress(e *engine.Engine, m *meter.Meter) (done func()) {
	stop := e.Observe(engine.ObserverFunc(func(n engine.Notice) {
		if n, ok := n.(engine.Progress); ok {
			m.Set(int64(n.Done), int64(n.Total))
		}
	}))
	return func() { stop(); m.End() }
}
