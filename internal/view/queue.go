package view

import (
	"strings"

	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/persistence"
)

// shortID is how many characters of an id in the queue people are shown.
const shortID = 8

// QueuePlace is the place of a waiter among those whose scopes overlap with its own, from 1.
func QueuePlace(w persistence.Waiter, line []persistence.Waiter) int {
	return 1 + len(persistence.Blocking(w, line, nil))
}

// Waiter returns what waits in the queue, with its place in the line.
func Waiter(w persistence.Waiter, line []persistence.Waiter) api.Waiter {
	return api.Waiter{
		ID: w.ID, Loop: w.Loop, Resumes: api.Text(w.Resumes), Since: api.Stamp(w.Since), Place: QueuePlace(w, line),
		WaitsFor: Obstacle(w.For), Scope: w.Scope,
		Singleton: w.Singleton, PID: w.Owner.PID, Host: api.Text(w.Owner.Host), Log: api.Text(w.Log),
		Foreign: w.Foreign,
	}
}

// Obstacle returns what a waiter waits for.
func Obstacle(o persistence.Obstacle) api.WaitsFor {
	return api.WaitsFor{
		Loop: api.Text(o.Loop), Instance: api.Text(o.Run), ID: api.Text(o.Waiter),
		Path: api.Text(o.Path), Since: api.StampOrNull(o.Since),
	}
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

// NoneOpen says that there is no open run.
const NoneOpen = "No active or resumable runs."

// StatusQueued is what a run that waits in the queue shows as: it is no run yet, so no store knows the word.
const StatusQueued = "queued"
