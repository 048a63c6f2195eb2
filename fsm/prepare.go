package fsm

import "context"

// prepare has the run's surroundings made.
func (e *Executor) prepare() {
	if e.cfg.Prepare != nil && e.mem.Outcome == nil && e.record(true) {
		var ev Event
		if e.surround(func(ctx context.Context) (err error) { ev, err = e.cfg.Prepare(ctx); return err }) &&
			ev.Kind != "" {
			e.emit(ev.Kind, ev.Fields...)
		}
	}
	if e.cfg.Start != nil && e.parent == nil && e.mem.Outcome == nil && e.machine.broken == nil {
		known := e.mem.StartTree
		tree := known
		made := e.surround(func(ctx context.Context) (err error) { tree, err = e.cfg.Start(ctx, known); return err })
		if made && tree != known {
			e.mem.StartTree = tree
			e.record(true)
		}
	}
}

// surround has the world make what the run needs, and reports whether it did. Its error ends the run, unless that is to
// end anyway.
func (e *Executor) surround(f func(context.Context) error) bool {
	var err error
	e.do(func(ctx context.Context) { err = f(ctx) })
	if err != nil && !e.ending() {
		e.machine.broken = err
	}
	return err == nil
}
