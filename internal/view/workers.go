package view

import (
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/persistence"
)

// SubmittedObject is a run that was submitted, as an object of JSON.
func SubmittedObject(r persistence.Run, j persistence.Job) *value.Map {
	var at any
	if !j.At.IsZero() {
		at = fsm.FormatTime(j.At)
	}
	return value.NewMap("instance_id", string(r.ID), "run_id", r.RunID, "loop", r.Loop, "status", string(r.Status), "queue", j.Queue, "key", terminal.OrNull(j.Key),
		"priority", int64(j.Priority), "labels", terminal.List(j.Labels, func(l string) any { return l }), "at", at)
}

// SubmittedText says what became of a run that was submitted.
func SubmittedText(page *Page, r persistence.Run, j persistence.Job) string {
	text := fmt.Sprintf("Run %s is queued in %s.", r.ID, j.Queue)
	if !j.At.IsZero() {
		text = fmt.Sprintf("Run %s is queued in %s, and begins at %s or later.", r.ID, j.Queue, humanize.Clock(j.At))
	}
	return text + "\n  follow it: " + page.Command("status", string(r.ID)) + "\n  stop it:   " + page.Command("stop", string(r.ID))
}

// WorkerObjects are workers as objects of JSON.
func WorkerObjects(all []persistence.WorkerState) []any {
	return terminal.List(all, func(w persistence.WorkerState) any {
		return value.NewMap("worker_id", w.ID, "host", w.Host, "pid", int64(w.PID), "queue", w.Queue, "labels", terminal.List(w.Labels, func(l string) any { return l }),
			"slots", int64(w.Slots), "runs", terminal.List(w.Runs, func(id persistence.ID) any { return string(id) }), "version", w.Version, "since", fsm.FormatTime(w.Since),
			"silent_ms", w.Silent.Milliseconds(), "lease_ms", w.Lease.Milliseconds(), "gone", w.Gone(), "drained_by", terminal.OrNull(w.Draining), "last_error", terminal.OrNull(w.LastError))
	})
}

// WorkerHeard says when a worker was heard of, and what that means.
func WorkerHeard(w persistence.WorkerState) string {
	heard := humanize.Duration(w.Silent.Round(100*time.Millisecond)) + " ago"
	switch {
	case w.Gone():
		heard += " (gone)"
	case w.Draining != "":
		heard += " (draining)"
	}
	return heard
}

// PrintWorkers prints workers as a table.
func (page *Page) PrintWorkers(all []persistence.WorkerState) {
	if len(all) == 0 {
		terminal.SayLine(page.Out, "No workers. Start one with: "+page.Command("worker"))
		return
	}
	rows := [][]string{{"WORKER", "QUEUE", "LABELS", "SLOTS", "HEARD OF", "VERSION", "RUNS"}}
	for _, w := range all {
		heard := WorkerHeard(w)
		var runs []string
		for _, id := range w.Runs {
			runs = append(runs, string(id))
		}
		rows = append(rows, []string{w.ID, w.Queue, orDash(strings.Join(w.Labels, ",")), fmt.Sprintf("%d of %d", len(w.Runs), w.Slots), heard, w.Version, orDash(strings.Join(runs, " "))})
	}
	terminal.WriteTable(page.Out, rows)
	for _, w := range all {
		if w.LastError != "" {
			terminal.Say(page.Out, "%s: last error: %s\n", w.ID, w.LastError)
		}
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
