package view

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"loops/engine"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
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
		return humanize.PlainLine(fmt.Sprintf("%s is locked by %s of loop %s (%s)%s", locked.Path, run, locked.Loop,
			about, holderWaits(locked, ", which ")))
	}
	if behind, ok := errors.AsType[*engine.BehindError](err); ok {
		who := fmt.Sprintf("loop %s (%s, for %s)", behind.Ahead.Loop, Process(behind.Ahead.Owner),
			Age(behind.Ahead.Since))
		if behind.N == 1 {
			return humanize.PlainLine(fmt.Sprintf("a run of %s waits in the queue for %s", who, behind.As.Path))
		}
		return humanize.PlainLine(fmt.Sprintf("%d runs wait in the queue for %s, one of them of %s", behind.N,
			behind.As.Path, who))
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
		return humanize.PlainLine(fmt.Sprintf("Waiting behind %s in the queue for %s%s of loop %s (%s)",
			humanize.Count(behind.N, "other"), behind.As.Path, last, behind.Ahead.Loop, Process(behind.Ahead.Owner)))
	}
	o := engine.Obstacle(err)
	waits := ""
	if locked, ok := errors.AsType[*persistence.ConflictError](err); ok {
		waits = holderWaits(locked, " and ")
	}
	return humanize.PlainLine(fmt.Sprintf("Waiting for run %s of loop %s, which has locked %s for %s%s", o.Run,
		o.Loop, o.Path, Age(o.Since), waits))
}

// holderWaits says what the run waits for that is in the way, after a word that joins it to a sentence; "" if
// for nothing.
func holderWaits(locked *persistence.ConflictError, join string) string {
	switch w := locked.Waits; {
	case w == nil:
		return ""
	case w.Why == fsm.WaitPaused:
		return join + "is paused"
	default:
		return join + "waits for " + inspect.WaitText(w)
	}
}

// Unblock returns what ends the wait of the run that is in the way: a word for it, and the command, which
// remedy writes. Both are empty where time or the world ends it.
func Unblock(locked *persistence.ConflictError, remedy func(engine.Remedy) string) (word, command string) {
	id := string(locked.Holder)
	switch w := locked.Waits; {
	case w == nil:
		return "", ""
	case w.Why == fsm.WaitPaused:
		return "continue it", remedy(engine.Do(engine.OpUnpause, id))
	case w.Choices != "":
		return "answer it", remedy(engine.AnswerRemedy(id, w.Question)) + " " + strings.ReplaceAll(w.Choices, ", ", "|")
	case w.Event != "":
		return "send the event", remedy(engine.Do("signal", id)) + " " + humanize.ShellWord(w.Event)
	}
	return "", ""
}
