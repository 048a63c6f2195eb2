package view

import (
	"cmp"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// ListRows returns loops as lines of a table, with the last run of each by the name in its file, and what live
// runs wait for.
func ListRows(entries []loopfile.Entry, last map[string]persistence.Run,
	waits map[persistence.ID]*fsm.Wait,
) [][]string {
	out := [][]string{{"LOOP", "LAST RUN", "DESCRIPTION"}}
	for _, e := range entries {
		ran := "-"
		if r, ok := last[e.Loop]; ok {
			ran = inspect.OutcomeNow(r, waits[r.ID]) + " " +
				strings.Join(append([]string{Since(cmp.Or(r.UpdatedAt, r.StartedAt))}, terminal.DamageNote(r)...), ", ")
		}
		about := humanize.FirstLine(e.Title)
		if e.Problem != "" {
			about = "cannot run: " + humanize.FirstLine(e.Problem)
		}
		if e.Category != "" {
			about = "[" + e.Category + "] " + about
		}
		out = append(out, []string{e.Name, ran, about})
	}
	return out
}

// LastRun returns the last run of a loop.
func LastRun(r persistence.Run, waits *fsm.Wait) *api.LastRun {
	return &api.LastRun{
		Instance: string(r.ID), RunID: r.RunID, Status: api.Text(r.Status), Outcome: inspect.OutcomeNow(r, waits),
		Ending:  EndingOf(r),
		Started: api.Stamp(r.StartedAt), Updated: api.StampOrNull(r.UpdatedAt), Damage: r.Damage,
	}
}

// Listed returns a loop of a library.
func Listed(e loopfile.Entry) api.Listed {
	return api.Listed{
		Name: e.Name, Loop: cmp.Or(e.Loop, e.Name), Path: e.Path, File: e.Path, Description: e.Title,
		Category: api.Text(e.Category), Labels: e.Labels,
		Visibility: api.Text(e.Visibility), Problem: e.Problem,
	}
}

// Since is how long ago a time was, for a table.
func Since(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return humanize.Ago(time.Since(t))
}
