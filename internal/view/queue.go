package view

import (
	"strings"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/persistence"
)

// shortID is how many characters of an id in the queue people are shown.
const shortID = 8

// QueuePlace is the place of a waiter among those whose scopes overlap with its own, from 1.
func QueuePlace(w persistence.Waiter, line []persistence.Waiter) int {
	return 1 + len(persistence.Blocking(w, line, nil))
}

// WaiterJSON is what waits in the queue, with its place in the line, for a program.
func WaiterJSON(w persistence.Waiter, line []persistence.Waiter) any {
	return value.NewMap(
		"queue_id", w.ID, "loop", w.Loop, "resumes", terminal.OrNull(string(w.Resumes)), "since", terminal.Stamp(w.Since), "place", int64(QueuePlace(w, line)),
		"waits_for", terminal.ObstacleObject(w.For), "scope", terminal.Texts(w.Scope), "singleton", w.Singleton, "pid", int64(w.Owner.PID), "host", terminal.OrNull(w.Owner.Host),
		"log", terminal.OrNull(w.Log), "reference_tool", w.Foreign,
	)
}

// WaiterLoop names what a waiter waits with. What is read of the queue may have been written by any program.
func WaiterLoop(w persistence.Waiter) string {
	if w.Resumes != "" {
		return humanize.PlainLine(w.Loop + " (resumes " + string(w.Resumes) + ")")
	}
	return humanize.PlainLine(w.Loop)
}

// WaitsForText is what a waiter waits for, for a table.
func WaitsForText(o persistence.Obstacle) string {
	switch {
	case o.Run != "":
		return humanize.PlainLine("run " + string(o.Run))
	case o.Waiter != "":
		return humanize.PlainLine(o.Loop + " (" + ShortWaiter(o.Waiter) + ")")
	case o.Loop != "":
		return humanize.PlainLine("loop " + o.Loop)
	}
	return "-" // it came just now
}

// ShortScope is what a waiter will lock, as a person in the project would write it.
func ShortScope(p *project.Project, w persistence.Waiter) string {
	paths := make([]string, len(w.Scope))
	for i, path := range w.Scope {
		paths[i] = humanize.PlainLine(p.Short(path))
	}
	return strings.Join(paths, ", ")
}

// ShortWaiter is the beginning of the id of a place in the queue.
func ShortWaiter(id string) string { return humanize.PlainLine(id[:min(len(id), shortID)]) }
