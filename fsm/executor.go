package fsm

import (
	"context"
	"time"
)

// A Config is what a machine needs to run.
type Config struct {
	Loop     *Loop
	Runner   Runner
	Recorder Recorder
	Files    Files
	// Getenv looks up ${env.*}; nil means that nothing is set.
	Getenv func(name string) (string, bool)
	// Observe, if not nil, is told every event after it was recorded, in order, by the goroutine that runs.
	Observe func(Event)
}

// A Stop is the cause (context.Cause) of a graceful stop: the action in flight is ended, its result is
// discarded, and the run ends as interrupted in the state it was in (D8).
type Stop struct {
	Signal string // SIGINT, SIGTERM, SIGHUP, or "" for a stop without one
	ByUser bool   // asked for by the stop command: ends as user_stopped
}

func (s *Stop) Error() string {
	if s.Signal != "" {
		return "stopped by " + s.Signal
	}
	return "stopped"
}

// An Executor runs one loop once. It is not safe for concurrent use.
type Executor struct {
	cfg Config
	mem *Snapshot
}

// Start prepares a new run with the given context values.
func Start(cfg Config, context *Map, at time.Time) *Executor {
	return &Executor{cfg: cfg, mem: &Snapshot{Loop: cfg.Loop.Name, Phase: PhasePending, Current: cfg.Loop.Initial, StartedAt: at, Context: context}}
}

// Resume prepares to go on with a run from its memory, which it takes over.
func Resume(cfg Config, mem *Snapshot) *Executor { return &Executor{cfg: cfg, mem: mem} }

// Run runs until the loop ends, and returns how. An error means that the run could not be recorded any more
// (then it stopped at once) and that there is no outcome. When ctx is cancelled with a *Stop as its cause the
// run ends gracefully.
func (e *Executor) Run(ctx context.Context) (Outcome, error) { panic("not built yet") }
