package view

import (
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/persistence"
)

// Submitted returns a run that was submitted.
func Submitted(r persistence.Run, j persistence.Job) api.Submitted {
	return api.Submitted{
		Instance: string(r.ID), RunID: r.RunID, Loop: r.Loop, Status: string(r.Status), Queue: j.Queue,
		Key: api.Text(j.Key), Priority: j.Priority, Labels: j.Labels,
		At: api.StampOrNull(j.At),
	}
}

// SubmittedText reports the result of a run that was submitted.
func SubmittedText(page *Page, r persistence.Run, j persistence.Job) string {
	text := fmt.Sprintf("Run %s is queued in %s.", r.ID, j.Queue)
	if !j.At.IsZero() {
		text = fmt.Sprintf("Run %s is queued in %s, and begins at %s or later.", r.ID, j.Queue, humanize.Clock(j.At))
	}
	return text + "\n  follow it: " + page.Command("status", string(r.ID)) + "\n  stop it:   " +
		page.Command("stop", string(r.ID))
}

// Workers returns workers.
func Workers(all []persistence.WorkerState) []api.Worker {
	return each(all, func(w persistence.WorkerState) api.Worker {
		return api.Worker{
			ID: w.ID, Host: w.Host, PID: w.PID, Queue: w.Queue, Labels: w.Labels, Slots: w.Slots,
			Runs:    each(w.Runs, func(id persistence.ID) string { return string(id) }),
			Version: w.Version, Since: fsm.FormatTime(w.Since), SilentMS: w.Silent.Milliseconds(),
			LeaseMS: w.Lease.Milliseconds(), Gone: w.Gone(),
			DrainedBy: api.Text(w.Draining), LastError: api.Text(w.LastError),
		}
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
		rows = append(rows,
			[]string{
				w.ID, w.Queue, orDash(strings.Join(w.Labels, ",")),
				fmt.Sprintf("%d of %d", len(w.Runs), w.Slots), heard, w.Version, orDash(strings.Join(runs, " ")),
			})
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
