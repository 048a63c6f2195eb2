package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/persistence"
)

// A behindError means that others who wait for the same files came before.
type behindError struct {
	ahead persistence.Waiter // one of them
	n     int
	as    persistence.Obstacle // what it is to this run
}

func (e *behindError) Error() string {
	return fmt.Sprintf("%s: others wait for it: %d", e.as.Path, e.n)
}

// errTakenOut means that somebody took this process out of the queue.
var errTakenOut = failure(exitTerm, "taken out of the queue (loops queue remove); nothing was run")

// errQueueGone means that the queue was removed, and with it the project, or what is recorded of it.
var errQueueGone = failure(exitRecord, "the queue (.loops/.queue) was removed while this command waited in it; nothing was run")

// A queued is what is told of somebody who waits.
type queued struct {
	Waiter persistence.Waiter
	For    persistence.Obstacle
	Text   string // whom he waits for, for a person
	First  bool   // nothing was told before
	Now    time.Time
	Log    string // where a process in the background writes while it waits
}

// obstacle is what an error of whenFree names.
func obstacle(err error) persistence.Obstacle {
	if locked, ok := errors.AsType[*persistence.ConflictError](err); ok {
		return persistence.Obstacle{Loop: locked.Loop, Path: locked.Path, Run: locked.Holder, Since: locked.Since}
	}
	if behind, ok := errors.AsType[*behindError](err); ok {
		return behind.as
	}
	return persistence.Obstacle{}
}

// age is how long ago something was, which a clock that was set does not make negative.
func age(t time.Time) string { return phrase.Duration(max(0, time.Since(t))) }

// waitsForJSON is whom somebody waits for.
func waitsForJSON(o persistence.Obstacle) any {
	return value.NewMap("loop", orNull(o.Loop), "instance_id", orNull(string(o.Run)), "queue_id", orNull(o.Waiter), "path", orNull(o.Path), "since", stamp(o.Since))
}

// inTheWayLine says who has what a run wants, or wants it before.
func inTheWayLine(err error) string {
	if locked, ok := errors.AsType[*persistence.ConflictError](err); ok {
		return plain.Line(fmt.Sprintf("%s is locked by run %s of loop %s (%s, for %s)", locked.Path, locked.Holder, locked.Loop, process(locked.Owner), age(locked.Since)))
	}
	if behind, ok := errors.AsType[*behindError](err); ok {
		who := fmt.Sprintf("loop %s (%s, for %s)", behind.ahead.Loop, process(behind.ahead.Owner), age(behind.ahead.Since))
		if behind.n == 1 {
			return plain.Line(fmt.Sprintf("a run of %s waits in the queue for %s", who, behind.as.Path))
		}
		return plain.Line(fmt.Sprintf("%d runs wait in the queue for %s, one of them of %s", behind.n, behind.as.Path, who))
	}
	return err.Error()
}

// refused is the error of a run that does not begin because others are in the way, after it waited for so long.
func (a *app) refused(err error, waited time.Duration) error {
	line := inTheWayLine(err)
	wait := "wait for it:"
	if _, behind := errors.AsType[*behindError](err); behind {
		wait = "wait in line:"
	}
	lines := []string{line, fmt.Sprintf("%-14s %s", wait, a.again("--queue"))}
	if waited > 0 {
		lines[0] = fmt.Sprintf("waited %s in the queue, in vain; nothing was run: %s", phrase.Duration(waited), line)
		lines[1] = fmt.Sprintf("%-14s %s", "wait longer:", a.again("--queue --queue-timeout "+timeoutText(2*waited)))
	}
	if locked, ok := errors.AsType[*persistence.ConflictError](err); ok {
		lines = append(lines, fmt.Sprintf("%-14s %s", "stop it:", a.command("stop", string(locked.Holder))))
	} else {
		lines = append(lines, fmt.Sprintf("%-14s %s", "see who waits:", a.command("queue list")))
	}
	lines = append(lines, fmt.Sprintf("%-14s %s", "lock nothing:", a.again("--no-lock")))
	return failure(exitConflict, "%s", blockOf("  ", lines))
}

// timeoutText is a time as --queue-timeout takes it.
func timeoutText(d time.Duration) string {
	if d < time.Second {
		return d.String()
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// waitsFor says whom this process waits for.
func (a *app) waitsFor(err error) string {
	if behind, ok := errors.AsType[*behindError](err); ok {
		last := "; the last of them is"
		if behind.n == 1 {
			last = ","
		}
		return plain.Line(fmt.Sprintf("Waiting behind %s in the queue for %s%s of loop %s (%s)", phrase.Count(behind.n, "other"), behind.as.Path, last, behind.ahead.Loop, process(behind.ahead.Owner)))
	}
	o := obstacle(err)
	return plain.Line(fmt.Sprintf("Waiting for run %s of loop %s, which has locked %s for %s", o.Run, o.Loop, o.Path, age(o.Since)))
}

// circle is the error of a run that would wait for ever.
func (a *app) circle(err error) error {
	return failure(exitConflict, "%s, and it waits, itself or through others, for the run whose action this is part of: none of them would ever go on. Nothing was run; have one of the loops lock less, or run after the other", inTheWayLine(err))
}

// changedMeanwhile is the error of a resume that somebody else was quicker with.
func changedMeanwhile(id persistence.ID) error {
	return failure(exitConflict, "run %s was resumed by somebody else while this command waited; nothing was done. Look at it: loops status %s", id, quote(string(id)))
}

// asItWas refuses to go on with a run that somebody else resumed since it was looked at: what it remembers is another thing.
func asItWas(ctx context.Context, store *project.Records, run persistence.Run) error {
	now, err := store.Runs(ctx, persistence.Query{ID: run.ID})
	if err == nil && len(now) == 1 && now[0].Segment != run.Segment {
		return changedMeanwhile(run.ID)
	}
	return err
}
