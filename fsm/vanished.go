package fsm

import (
	"cmp"
)

// workdir ends the run before it enters a state whose actions would run in a folder that is gone: each of them
// would fail, and the run would go through all states that take failures. It can be resumed once the folder is
// there again.
func (e *Executor) workdir() result {
	if e.cfg.Gone == nil || !e.cfg.Gone(e.dir) {
		return pass
	}
	path := cmp.Or(e.dir, e.cfg.Dir)
	e.emit(EventWorkdirVanished, Field{"state", e.mem.Current}, Field{"path", path})
	e.end(Outcome{
		TerminatedBy: EndWorkdirVanished, Error: "Working directory vanished mid-run: " + path,
		Refused: true,
	})
	return ended
}
