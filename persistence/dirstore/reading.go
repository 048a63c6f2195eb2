package dirstore

import (
	"context"
	"iter"
	"slices"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// A reading is what a listing read of a run. It implements [persistence.Reading]. Where that is not enough, as
// the run is damaged or was moved meanwhile, the store is asked as others ask it.
type reading struct {
	d   *Store
	p   place
	l   *loaded
	err error // of loading it
}

// Memory implements [persistence.Reading].
func (r *reading) Memory(ctx context.Context) (*fsm.Snapshot, error) {
	l := r.l
	if r.err != nil || l.flat == nil || l.whole && (l.skimmed || countsLogs(l.flat)) {
		return r.d.Snapshot(ctx, r.p.id)
	}
	if err := l.fillTexts(r.p); err != nil || l.gap {
		return r.d.Snapshot(ctx, r.p.id)
	}
	rec, err := takeFlat(l.flat)
	if err != nil {
		return r.d.Snapshot(ctx, r.p.id)
	}
	if l.foreign {
		return &l.Snapshot, nil // with what was found out about how it ended
	}
	return &rec.Snapshot, nil
}

// Events implements [persistence.Reading].
func (r *reading) Events(ctx context.Context, after uint64) iter.Seq2[fsm.Event, error] {
	if r.err != nil || r.l.foreign {
		return r.d.Events(ctx, r.p.id, after)
	}
	return r.d.events(ctx, r.p, r.l.seq, after)
}

// countsLogs reports whether a memory only counts the lines of a sub-loop's log, which are in the journal.
func countsLogs(flat *value.Map) (counts bool) {
	snapshot.EachLog(flat, nil, func(_, _ *value.Map, log any) {
		_, _, counted := snapshot.Counted(log)
		counts = counts || counted
	})
	return counts
}

// Definition implements [persistence.Reading].
func (r *reading) Definition(ctx context.Context) ([]byte, error) {
	if r.l.flat != nil {
		if text, _ := r.p.definition(r.l.flat); text != nil || recordedSum(r.l.flat) == "" {
			return text, nil
		}
	}
	return r.d.Definition(ctx, r.p.id)
}

// KeptAside is reported, after the path, of a run with a file of damaged lines.
const KeptAside = "damaged lines of the journal are kept here"

// run is what a listing says about a loaded run.
func (p place) run(l *loaded) persistence.Run {
	r := persistence.Run{
		ID: p.id, RunID: l.runID, Loop: l.Loop, Status: l.status, State: l.Current, Step: l.Step, Passes: l.Passes,
		MaxSteps: persistence.MaxSteps(l.maxSteps, l.segment, &l.Snapshot), StartedAt: l.StartedAt,
		UpdatedAt: l.updated, Elapsed: l.Elapsed, Owner: l.owner,
		Archived: p.folder != "", Foreign: l.foreign, Earlier: l.instance, Reconciled: l.reconciled, Why: l.why,
		Continuation: l.Continuation,
		File:         l.file, SHA256: l.sha, Options: l.options, Origin: l.origin, Segment: l.segment, Log: p.state,
		Damage: l.damage, Unread: l.closed,
		Resumable: l.status.CanGoOn(l.outcome().Retriable()),
	}
	if p.aside != "" && disk.Exists(p.aside) {
		r.Damage = append(slices.Clip(r.Damage), p.aside+": "+KeptAside)
	}
	if r.RunID == "" {
		r.RunID = persistence.MakeRunID(l.StartedAt)
	}
	r.SetOutcome(l.Outcome)
	if !l.foreign {
		r.Marker = persistence.Marker(p.id, l.segment, &l.Snapshot)
	}
	if l.whole || l.opened || disk.Exists(p.events) {
		r.Events = p.events
	}
	return r
}
