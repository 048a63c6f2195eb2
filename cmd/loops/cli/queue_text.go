package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"loops/engine"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// busy is the error of a run that does not begin because others are in the way, after it waited for so long.
func (a *program) busy(err error, waited time.Duration) error {
	line := view.InTheWayLine(err)
	wait := "wait for it:"
	if _, behind := errors.AsType[*engine.BehindError](err); behind {
		wait = "wait in line:"
	}
	lines := []string{line}
	again := func(what, flags string) {
		if a.instead || a.has("queue") {
			lines = append(lines, fmt.Sprintf("%-14s %s", what, a.again(flags)))
		}
	}
	if waited > 0 {
		lines[0] = fmt.Sprintf("waited %s in the queue without success; nothing was run: %s",
			humanize.Duration(waited), line)
		again("wait longer:", "--queue --queue-timeout "+view.TimeoutText(2*waited))
	} else {
		again(wait, "--queue")
	}
	if locked, ok := errors.AsType[*persistence.ConflictError](err); ok {
		if word, command := view.Unblock(locked, a.remedy); word != "" {
			lines = slices.Insert(lines, 1, fmt.Sprintf("%-14s %s", word+":", command))
		}
		if locked.Holder != "" {
			lines = append(lines, fmt.Sprintf("%-14s %s", "stop it:", a.stopHolder(locked)))
		}
	} else {
		lines = append(lines, fmt.Sprintf("%-14s %s", "see who waits:", a.command("queue list")))
	}
	again("lock nothing:", "--no-lock")
	return failure(engine.Conflict, "%s", terminal.BlockOf("  ", lines))
}

// stopHolder is the command that stops the run that is in the way, where it is recorded.
func (a *program) stopHolder(c *persistence.ConflictError) string {
	there := *a
	if c.Store != "" {
		there.store = c.Store
	}
	return there.command("stop", string(c.Holder))
}
