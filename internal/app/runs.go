package app

import (
	"context"
	"maps"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/view"
	"loops/persistence"
)

// A RunFilter chooses runs. live reports whether only those are read that were not archived.
type RunFilter struct {
	live bool
	fits func(r persistence.Run, alive bool) bool
	all  bool                                                                // it fits all
	also func(ctx context.Context, f project.Finder, r persistence.Run) bool // must hold, too; nil = nothing
}

// Which runs are offered.
var (
	IsAny    = RunFilter{all: true, fits: func(persistence.Run, bool) bool { return true }}
	IsLive   = RunFilter{live: true, fits: func(_ persistence.Run, alive bool) bool { return alive }}
	IsPaused = RunFilter{
		live: true, fits: func(persistence.Run, bool) bool { return true },
		also: func(ctx context.Context, f project.Finder, r persistence.Run) bool {
			_, paused := f.Store.PausedSince(ctx, r)
			return paused
		},
	}
	IsWaiting = RunFilter{
		live: true, fits: IsLive.fits,
		also: func(ctx context.Context, f project.Finder, r persistence.Run) bool {
			w := WaitNow(ctx, f, r)
			return w != nil && w.Why != fsm.WaitPaused
		},
	}
	IsEnded     = RunFilter{fits: func(_ persistence.Run, alive bool) bool { return !alive }}
	IsResumable = RunFilter{fits: func(r persistence.Run, alive bool) bool {
		return r.Resumable && (!alive || r.Lapsed)
	}}
)

// Runs offers the ids of runs that fit, newest first, and, unless all do, the loops they are of.
func (s *CompletionSource) Runs(fits RunFilter) CompletionOffer {
	return func(ctx context.Context, args []string, word string) (found []string, ok bool) {
		runs := s.find(ctx, "", word, fits)
		if !fits.all {
			n := map[string]int{}
			for _, r := range runs {
				n[r.Loop]++
			}
			for _, loop := range slices.Sorted(maps.Keys(n)) {
				if strings.HasPrefix(loop, word) {
					found = append(found, described(loop, humanize.Count(n[loop], "run")))
				}
			}
		}
		return without(append(found, offerRuns(runs, word)...), args), true
	}
}

// RunsOnly is runs without names of loops.
func (s *CompletionSource) RunsOnly(fits RunFilter) CompletionOffer {
	return func(ctx context.Context, args []string, word string) ([]string, bool) {
		return without(offerRuns(s.find(ctx, "", word, fits), word), args), true
	}
}

// RunsOfLoop offers the runs of the loop that is named before.
func (s *CompletionSource) RunsOfLoop(ctx context.Context, args []string, word string) ([]string, bool) {
	runs := s.find(ctx, args[0], word, IsAny)
	return append(StartingWith(word, []string{"last\tThe newest run"}), offerRuns(runs, word)...), true
}

func offerRuns(runs []persistence.Run, word string) (found []string) {
	for _, r := range runs {
		if !strings.HasPrefix(string(r.ID), word) {
			continue
		}
		about := inspect.Outcome(r)
		if r.State != "" {
			about += " in " + r.State
		}
		found = append(found, described(string(r.ID), about+", "+view.Since(r.UpdatedAt)))
	}
	return found
}

// find returns the newest runs that fit; of one loop if loop is not "", or if word is the beginning of the id
// of its runs.
func (s *CompletionSource) find(ctx context.Context, loop, word string, fits RunFilter) []persistence.Run {
	f, done := s.look(ctx)
	if f == nil {
		return nil
	}
	defer done()
	q := persistence.Query{Loop: loop, Live: fits.live, Limit: completionRuns}
	if i := strings.LastIndexByte(word, '-'); loop == "" && i > 0 && strings.Trim(word[i:], "-0123456789T") == "" &&
		!strings.Contains(word, "%") {
		q.Loop = word[:i]
	}
	if q.Loop != "" {
		q.Limit = engine.RecentRuns
	}
	if fits.live {
		q.Limit = 0 // these are few
	}
	runs := fitting(ctx, *f, q, fits)
	if len(runs) == 0 && loop == "" && q.Loop != "" {
		q.Loop, q.Limit = "", completionRuns // it is a loop whose name ends so
		runs = fitting(ctx, *f, q, fits)
	}
	return runs
}

func fitting(ctx context.Context, f project.Finder, q persistence.Query, fits RunFilter) (found []persistence.Run) {
	runs, err := f.Store.Runs(ctx, q)
	if err != nil {
		return nil
	}
	for _, r := range project.Current(runs) {
		if fits.fits(r, !fits.all && project.Alive(r)) && (fits.also == nil || fits.also(ctx, f, r)) {
			found = append(found, r)
		}
	}
	return found
}
