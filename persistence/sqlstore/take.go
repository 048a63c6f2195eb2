package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
)

// Resume implements [persistence.Store].
func (s *Store) Resume(ctx context.Context, id persistence.ID, spec persistence.Spec) (persistence.Journal,
	*fsm.Snapshot, error,
) {
	if spec.StartedAt.IsZero() {
		spec.StartedAt = time.Now()
	}
	if err := s.secondLook(ctx, id); err != nil {
		return nil, nil, err
	}
	scope := persistence.ResolveScope(spec.Scope)
	place, err := s.place(ctx)
	if err == nil {
		err = s.finishRemoval(ctx, id)
	}
	if err != nil {
		return nil, nil, err
	}
	lock, err := s.lockPaths(ctx, id, spec)
	if err != nil {
		return nil, nil, err
	}
	j, memory, err := s.takeOver(ctx, id, spec, scope, place)
	if err != nil {
		_ = lock.Unlock() // a file that is left says nothing, as no process holds it
		return nil, nil, err
	}
	j.paths = lock
	return j, memory, nil
}

// takeOver gives a run whose paths are locked on this machine to the caller.
func (s *Store) takeOver(ctx context.Context, id persistence.ID, spec persistence.Spec, scope []string,
	place string,
) (*journal, *fsm.Snapshot, error) {
	var r *row
	err := s.change(ctx, func(tx *sql.Tx) error {
		err := s.d.serialise(ctx, tx)
		if err != nil {
			return err
		}
		if r, err = s.find(ctx, tx, id, s.d.lockRow()); err != nil {
			return err
		}
		if r.Held && !r.Lapsed {
			return &persistence.HeldError{ID: id, Owner: r.Owner}
		}
		if err := s.conflict(ctx, tx, id, spec, scope, place); err != nil {
			return err
		}
		if !r.Resumable {
			return &persistence.NotResumableError{ID: id, Status: r.Status}
		}
		r.epoch++
		if spec.Definition != nil {
			if r.definition, err = s.keepDefinition(ctx, tx, spec.Definition); err != nil {
				return err
			}
		}
		r.project = s.carriedBy(r)
		if _, err := tx.ExecContext(ctx,
			s.q(`UPDATE runs SET epoch = ?, definition = ?, archived = 0, project = ? WHERE n = ?`), r.epoch,
			r.definition, r.project, r.n); err != nil {
			return err
		}
		if err := s.stay(ctx, tx, r, place); err != nil {
			return err
		}
		return errors.Join(s.recordProject(ctx, tx, r, place), s.hear(ctx, tx, r.n),
			s.own(ctx, tx, r, r.Segment+1, spec, scope, place))
	})
	if err != nil {
		return nil, nil, err
	}
	j, memory, err := s.goOn(ctx, r, spec)
	if err != nil {
		_ = s.release(ctx, r.n, r.epoch)
		return nil, nil, err
	}
	return j, memory, nil
}

// goOn makes a journal of a run that was taken over.
func (s *Store) goOn(ctx context.Context, r *row, spec persistence.Spec) (*journal, *fsm.Snapshot, error) {
	memory, err := s.remembered(ctx, r)
	if err != nil {
		return nil, nil, s.d.explain(err)
	}
	r.Owner, r.Held, r.Archived, r.Reconciled, r.Why = spec.Owner, true, false, time.Time{}, ""
	r.Segment++
	if spec.Options != nil {
		r.Options = spec.Options
	}
	if spec.MaxSteps != 0 {
		r.MaxSteps = spec.MaxSteps
	}
	if r.SHA256 == "" {
		r.SHA256 = spec.SHA256
	}
	if spec.File != "" { // its folder may have been moved
		r.File = spec.File
	}
	learn(&r.Run, memory)
	j := s.newJournal(r, r.Status)
	if err := disk.MakeWork(s.Folder, j.dir); err != nil {
		return nil, nil, err
	}
	j.enc.Begin(memory)
	j.begin(r.given)
	return j, memory, nil
}

// secondLook waits where the lease of a run ran out although its owner may be alive on this machine: the clock may have
// jumped, or the machine slept.
func (s *Store) secondLook(ctx context.Context, id persistence.ID) error {
	first, err := s.find(ctx, s.read, id, "")
	if err != nil || !first.Lapsed || !first.Held && !first.Unsure {
		return s.d.explain(err)
	}
	_, err = s.SecondLook(ctx, []persistence.ID{id})
	return err
}

// looks is how often SecondLook looks, each a twentieth of a lease after the one before. Looks are counted rather than
// time: an owner that was stopped together with this process then still has its time.
const looks = 11

// SecondLook implements [persistence.Store]. An owner that lives renews its lease within a third of its length.
func (s *Store) SecondLook(ctx context.Context, ids []persistence.ID) ([]persistence.ID, error) {
	until := make(map[persistence.ID]int64, len(ids))
	for look := 1; ; look++ {
		var silent []persistence.ID
		for _, id := range ids {
			r, err := s.find(ctx, s.read, id, "")
			switch {
			case errors.Is(err, persistence.ErrNotFound):
				continue
			case err != nil:
				return nil, s.d.explain(err)
			}
			if before, again := until[id]; again && before != r.until || !r.Lapsed {
				continue
			}
			until[id] = r.until
			silent = append(silent, id)
		}
		if ids = silent; len(ids) == 0 || look == looks {
			return ids, nil
		}
		select {
		case <-time.After(s.lease / 20):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
