package fsm

import "context"

// prepare has the run's surroundings made.
func (e *Executor) prepare(ctx context.Context) {
	if e.cfg.Prepare == nil || e.mem.Outcome != nil || !e.record(ctx, true) {
		return
	}
	ev, err := e.cfg.Prepare(ctx)
	switch {
	case err == nil:
		e.emit(ev.Kind, ev.Fields...)
	case ctx.Err() == nil:
		e.broken = err
	}
}
