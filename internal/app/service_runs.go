package app

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/inspect"
	"loops/persistence"
)

// AllRuns returns the runs of all loops, or of one where the query names it.
func (s *Service) AllRuns(ctx context.Context, q HistoryQuery) (*History, error) {
	if err := q.check(engine.OpRuns); err != nil {
		return nil, err
	}
	when, err := NewPeriod(q.Since, q.Until, engine.OpRuns)
	if err != nil {
		return nil, err
	}
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	return s.runs(ctx, f, q, when, engine.OpRuns)
}

// Filtered reports whether less than all runs is asked for.
func (q *HistoryQuery) Filtered() bool {
	return q.narrows() || q.Since+q.Until != ""
}

// narrows reports whether runs are chosen by more than their loop and time.
func (q *HistoryQuery) narrows() bool {
	return q.Failed || len(q.Status)+len(q.Labels) > 0 || q.Text+q.Reason+q.State != ""
}

// chooses reports whether the record of a run is one that is asked for, by all but time, label, state and text.
func (q *HistoryQuery) chooses(ctx context.Context, f project.Finder, r persistence.Run) bool {
	switch {
	case len(q.Status) > 0 && !slices.Contains(q.Status, inspect.StatusWord(r)) &&
		!slices.Contains(q.Status, inspect.Outcome(r)) && !q.paused(ctx, f, r),
		q.Failed && !EndedBadly(r),
		q.Reason != "" && !strings.Contains(strings.ToLower(inspect.Reason(r)), strings.ToLower(q.Reason)):
		return false
	}
	return true
}

// paused reports whether paused runs are asked for, and a run is.
func (q *HistoryQuery) paused(ctx context.Context, f project.Finder, r persistence.Run) bool {
	return slices.Contains(q.Status, inspect.Paused) && inspect.OutcomeNow(r, WaitNow(ctx, f, r)) == inspect.Paused
}

// labelled returns the names of the loops that have one of the labels now; nil where none is asked for. The
// help on see says more about a label that none has.
func (s *Service) labelled(labels []string, see engine.Operation) (map[string]bool, error) {
	if len(labels) == 0 {
		return nil, nil
	}
	lib, err := s.Project.Library()
	if err != nil {
		return nil, err
	}
	entries, err := lib.Files.List(s.Project.Loops)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, s.Project.CannotOpen(err)
	}
	more, err := CatalogOnly(lib, entries)
	if err != nil {
		return nil, err
	}
	entries = append(entries, more...)
	chosen, names := LoopFilter{Labels: labels}, map[string]bool{}
	if text, is := chosen.mistyped(entries); is {
		return nil, engine.Misuse(see, "%s", text)
	}
	for _, e := range entries {
		if slices.ContainsFunc(e.Labels, chosen.asksFor) {
			names[e.Name] = true
		}
	}
	return names, nil
}
