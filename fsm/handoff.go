package fsm

import (
	"context"

	"loops/fsm/confine"
)

// handoff ends the run so that a later session continues it, for which on_handoff: spawn starts an agent. The
// loop that was run decides that: an agent resumes runs, not sub-loops.
func (e *Executor) handoff(payload string) {
	m, loop := e.mem, e.cfg.Loop
	m.Continuation, m.Session = payload, nil
	m.Attempt = 0 // the action was done: it is not an interrupted one that is started again
	e.emit(EventHandoffDetected, Field{"state", m.Current}, Field{"iteration", int64(m.Step)},
		Field{"continuation", payload})
	if loop.OnHandoff != "spawn" || e.parent != nil || e.cfg.Spawn == nil {
		e.finish(EndHandoff, "")
		return
	}
	if !e.record(true) { // an agent continues only what is on record
		return
	}
	if layers := e.sandbox(nil); layers != nil {
		e.end(Outcome{
			TerminatedBy: EndError,
			Error: "on_handoff: spawn cannot start an agent outside of the sandbox " + confine.Name(layers) +
				"; resume the run by hand, with on_handoff: pause", Refused: true,
		})
		return
	}
	var pid int
	var err error
	e.do(func(ctx context.Context) { pid, err = e.cfg.Spawn(ctx, loop.LLM.Host, loop.Permissions, payload) })
	if err != nil {
		e.end(Outcome{
			TerminatedBy: EndError, Error: "on_handoff: spawn cannot start an agent: " + err.Error(),
			Refused: true,
		})
		return
	}
	e.emit(EventHandoffSpawned, Field{"pid", int64(pid)}, Field{"state", m.Current})
	e.finish(EndHandoff, "")
}
