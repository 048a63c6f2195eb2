package views

import (
	"errors"
	"fmt"
	"time"

	"loops/engine"
	"loops/internal/humanize"
	"loops/internal/plain"
	"loops/persistence"
)

// Age is how long ago something was, which a clock that was set does not make negative.
func Age(t time.Time) string { return humanize.Duration(max(0, time.Since(t))) }

// InTheWayLine says who has what a run wants, or wants it before.
func InTheWayLine(err error) string {
	if locked, ok := errors.AsType[*persistence.ConflictError](err); ok {
		about := fmt.Sprintf("%s, for %s", Process(locked.Owner), Age(locked.Since))
		if locked.Store != "" {
			about += ", recorded in " + locked.Store
		}
		run := "run " + string(locked.Holder)
		if locked.Holder == "" {
			run = "a run" // it begins just now in another store, which has not named it yet
		}
		return plain.Line(fmt.Sprintf("%s is locked by %s of loop %s (%s)", locked.Path, run, locked.Loop, about))
	}
	if behind, ok := errors.AsType[*engine.BehindError](err); ok {
		who := fmt.Sprintf("loop %s (%s, for %s)", behind.Ahead.Loop, Process(behind.Ahead.Owner), Age(behind.Ahead.Since))
		if behind.N == 1 {
			return plain.Line(fmt.Sprintf("a run of %s waits in the queue for %s", who, behind.As.Path))
		}
		return plain.Line(fmt.Sprintf("%d runs wait in the queue for %s, one of them of %s", behind.N, behind.As.Path, who))
	}
	return err.Error()
}

// TimeoutText is a time as --queue-timeout takes it.
func TimeoutText(d time.Duration) string {
	if d < time.Second {
		return d.String()
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// WaitsFor says what this process waits for.
func WaitsFor(err error) string {
	if behind, ok := errors.AsType[*engine.BehindError](err); ok {
		last := "; the last of them is"
		if behind.N == 1 {
			last = ","
		}
		return plain.Line(fmt.Sprintf("Waiting behind %s in the queue for %s%s of loop %s (%s)", humanize.Count(behind.N, "other"), behind.As.Path, last, behind.Ahead.Loop, Process(behind.Ahead.Owner)))
	}
	o := engine.Obstacle(err)
	return plain.Line(fmt.Sprintf("Waiting for run %s of loop %s, which has locked %s for %s", o.Run, o.Loop, o.Path, Age(o.Since)))
}
