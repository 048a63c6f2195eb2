package fsm

import "context"

// prepare has the run's surroundings made.
func (e *Executor) prepare() {
	if e.cfg.Prepare == nil || e.mem.Outcome != nil || !e.record(true) {
		return
	}
	var ev Event
	var err error
	e.do(func(ctx context.Context) { ev, err = e.cfg.Prepare(ctx) })
	switch {
	case err == nil && ev.Kind == "":
	case err == nil:
		e.emit(ev.Kind, ev.Fields...)
	case !e.ending():
		e.machine.broken = err
	}
}
