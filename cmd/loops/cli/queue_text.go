package cli

import (
	"errors"
	"fmt"
	"time"

	"loops/engine"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/persistence"
)

// age is how long ago something was, which a clock that was set does not make negative.
func age(t time.Time) string { return phrase.Duration(max(0, time.Since(t))) }

// inTheWayLine says who has what a run wants, or wants it before.
func inTheWayLine(err error) string {
	if locked, ok := errors.AsType[*persistence.ConflictError](err); ok {
		about := fmt.Sprintf("%s, for %s", process(locked.Owner), age(locked.Since))
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
		who := fmt.Sprintf("loop %s (%s, for %s)", behind.Ahead.Loop, process(behind.Ahead.Owner), age(behind.Ahead.Since))
		if behind.N == 1 {
			return plain.Line(fmt.Sprintf("a run of %s waits in the queue for %s", who, behind.As.Path))
		}
		return plain.Line(fmt.Sprintf("%d runs wait in the queue for %s, one of them of %s", behind.N, behind.As.Path, who))
	}
	return err.Error()
}

// busy is the error of a run that does not begin because others are in the way, after it waited for so long.
func (a *app) busy(err error, waited time.Duration) error {
	line := inTheWayLine(err)
	wait := "wait for it:"
	if _, behind := errors.AsType[*engine.BehindError](err); behind {
		wait = "wait in line:"
	}
	lines := []string{line, fmt.Sprintf("%-14s %s", wait, a.again("--queue"))}
	if waited > 0 {
		lines[0] = fmt.Sprintf("waited %s in the queue, in vain; nothing was run: %s", phrase.Duration(waited), line)
		lines[1] = fmt.Sprintf("%-14s %s", "wait longer:", a.again("--queue --queue-timeout "+timeoutText(2*waited)))
	}
	if locked, ok := errors.AsType[*persistence.ConflictError](err); ok {
		if locked.Holder != "" {
			lines = append(lines, fmt.Sprintf("%-14s %s", "stop it:", a.stopHolder(locked)))
		}
	} else {
		lines = append(lines, fmt.Sprintf("%-14s %s", "see who waits:", a.command("queue list")))
	}
	lines = append(lines, fmt.Sprintf("%-14s %s", "lock nothing:", a.again("--no-lock")))
	return failure(engine.Conflict, "%s", ui.BlockOf("  ", lines))
}

// stopHolder is the command that stops the run that is in the way, where it is recorded.
func (a *app) stopHolder(c *persistence.ConflictError) string {
	there := *a
	if c.Store != "" {
		there.store = c.Store
	}
	return there.command("stop", string(c.Holder))
}

// timeoutText is a time as --queue-timeout takes it.
func timeoutText(d time.Duration) string {
	if d < time.Second {
		return d.String()
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// waitsFor says whom this process waits for.
func waitsFor(err error) string {
	if behind, ok := errors.AsType[*engine.BehindError](err); ok {
		last := "; the last of them is"
		if behind.N == 1 {
			last = ","
		}
		return plain.Line(fmt.Sprintf("Waiting behind %s in the queue for %s%s of loop %s (%s)", phrase.Count(behind.N, "other"), behind.As.Path, last, behind.Ahead.Loop, process(behind.Ahead.Owner)))
	}
	o := engine.Obstacle(err)
	return plain.Line(fmt.Sprintf("Waiting for run %s of loop %s, which has locked %s for %s", o.Run, o.Loop, o.Path, age(o.Since)))
}
