package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// Create implements [persistence.Store].
func (s *Store) Create(ctx context.Context, spec persistence.Spec) (persistence.Journal, error) {
	if err := persistence.CheckLoop(spec.Loop); err != nil {
		return nil, err
	}
	if !legible(spec.Loop) {
		return nil, fmt.Errorf("loop %q: its name is not valid text", spec.Loop)
	}
	if spec.StartedAt.IsZero() {
		spec.StartedAt = time.Now()
	}
	scope := persistence.ResolveScope(spec.Scope)
	place, err := s.place(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.names(ctx); err != nil { // within a transaction it would take a second connection
		return nil, err
	}
	lock, err := s.lockPaths(ctx, "", spec)
	if err != nil {
		return nil, err
	}
	j, err := s.create(ctx, spec, scope, place, lock)
	if err != nil {
		_ = lock.Unlock() // a file that is left says nothing, as no process holds it
		return nil, err
	}
	return j, nil
}

// create makes a run whose paths are locked on this machine.
func (s *Store) create(ctx context.Context, spec persistence.Spec, scope []string, place string,
	lock persistence.PathLock,
) (persistence.Journal, error) {
	for {
		r, err := s.begin(ctx, spec, scope, place)
		if err != nil {
			return nil, err
		}
		err = disk.Mkdir(s.work(r.ID), 0o700)
		if err != nil {
			_, e := s.forget(ctx, r.n, r.epoch)
			err = errors.Join(err, e)
		}
		if errors.Is(err, fs.ErrExist) && spec.ID != "" {
			return nil, fmt.Errorf("%s: %w", spec.ID, persistence.ErrTaken)
		}
		if errors.Is(err, fs.ErrExist) {
			continue // a run in another store was quicker
		}
		if err != nil {
			return nil, err
		}
		j := s.newJournal(r, "")
		j.paths = lock
		j.begin(r.given)
		var more []string
		if spec.ScopeOf != nil {
			more = spec.ScopeOf(r.ID)
		}
		if err := lock.Assign(r.ID, more); err != nil {
			return nil, errors.Join(err, j.Close(ctx))
		}
		return j, nil
	}
}

// lockPaths locks what a run works on in the files of this machine.
func (s *Store) lockPaths(ctx context.Context, id persistence.ID, spec persistence.Spec) (persistence.PathLock, error) {
	if s.Paths == nil {
		return unlocked{}, nil
	}
	return s.Paths.LockPaths(ctx, id, spec)
}

// unlocked is the lock of a run that locks nothing outside the database.
type unlocked struct{}

func (unlocked) Assign(persistence.ID, []string) error { return nil }
func (unlocked) Unlock() error                         { return nil }

// begin makes the row of a new run and gives it to the caller. Its working folder is made after that: if the
// process dies between the two, the row shows that it may be there.
func (s *Store) begin(ctx context.Context, spec persistence.Spec, scope []string, place string) (r *row, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		if err := s.d.serialise(ctx, tx); err != nil {
			return err
		}
		if err := s.conflict(ctx, tx, "", spec, scope, place); err != nil {
			return err
		}
		r = &row{epoch: 1, Run: persistence.Run{
			Loop: spec.Loop, Status: persistence.Running, MaxSteps: spec.MaxSteps, StartedAt: spec.StartedAt,
			UpdatedAt: spec.StartedAt,
			Owner:     spec.Owner, Held: true, Resumable: true, File: spec.File, SHA256: spec.SHA256,
			Options: spec.Options, Origin: spec.Origin, Log: s.name,
		}, project: s.project()}
		reserve := s.reserve
		if r.ID = spec.ID; r.ID != "" {
			reserve = s.reserveNamed
		}
		if err := reserve(ctx, tx, r); err != nil {
			return err
		}
		held := scope // this function may be called again
		if spec.ScopeOf != nil {
			held = slices.Concat(scope, persistence.ResolveScope(spec.ScopeOf(r.ID)))
		}
		var err error
		if r.definition, err = s.keepDefinition(ctx, tx, spec.Definition); err == nil {
			err = s.insert(ctx, tx, r, "")
		}
		if err == nil {
			err = s.own(ctx, tx, r, 0, spec, held, place)
		}
		if err == nil {
			err = s.stay(ctx, tx, r, place)
		}
		if err == nil {
			err = s.recordProject(ctx, tx, r, place)
		}
		return err
	})
	return r, err
}

// reserve finds a second that no run of the loop has, and no working folder. Called serialised.
func (s *Store) reserve(ctx context.Context, tx *sql.Tx, r *row) error {
	newest, err := s.newestAfter(ctx, tx, r.StartedAt)
	if err != nil {
		return err
	}
	at := persistence.FirstSecond(r.StartedAt, newest)
	_, from := persistence.NewID(r.Loop, at)
	taken, err := s.takenSince(ctx, tx, r.Loop, from)
	if err != nil {
		return err
	}
	if err := disk.MakeFolder(filepath.Dir(s.Folder), s.Folder); err != nil {
		return err
	}
	for ; ; at = at.Add(time.Second) {
		r.ID, r.RunID = persistence.NewID(r.Loop, at)
		if len(taken) > 0 && taken[0] == r.RunID {
			taken = taken[1:]
			continue
		}
		if _, err := os.Lstat(s.work(r.ID)); err != nil {
			return nil // making it reports what is wrong with it
		}
	}
}

// newestAfter returns the greatest run id of this project that names a second after a time; "" = none does.
func (s *Store) newestAfter(ctx context.Context, tx *sql.Tx, at time.Time) (string, error) {
	ours, args, err := s.ours(ctx, `runs.`)
	if err != nil {
		return "", err
	}
	rs, err := tx.QueryContext(ctx,
		s.q(`SELECT run_id FROM runs WHERE run_id > ?`+ours+` ORDER BY run_id DESC LIMIT 1`),
		append([]any{persistence.MakeRunID(at)}, args...)...)
	ids, err := collect(rs, err, scanText)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// reserveNamed makes sure that no run of the loop has the id that is given, and no working folder. The row and
// the empty folder of a process that died before it recorded anything go. Called serialised.
func (s *Store) reserveNamed(ctx context.Context, tx *sql.Tx, r *row) error {
	at, err := persistence.Spec{ID: r.ID, Loop: r.Loop}.Second()
	if err != nil {
		return err
	}
	r.RunID = persistence.MakeRunID(at)
	begun, err := s.rows(ctx, tx, `WHERE r.id = ?`, string(r.ID))
	if err != nil {
		return err
	}
	for _, other := range begun {
		if other.Status != "" || other.Held || other.Unsure {
			return fmt.Errorf("%s: %w", r.ID, persistence.ErrTaken)
		}
		if err := s.forgetRow(ctx, tx, other); err != nil {
			return err
		}
	}
	taken, err := s.takenSince(ctx, tx, r.Loop, r.RunID)
	if err != nil {
		return err
	}
	if err := disk.MakeFolder(filepath.Dir(s.Folder), s.Folder); err != nil {
		return err
	}
	_ = os.Remove(s.work(r.ID)) // only if it is empty, as that of a process is that died
	if len(taken) > 0 && taken[0] == r.RunID || disk.Exists(s.work(r.ID)) {
		return fmt.Errorf("%s: %w", r.ID, persistence.ErrTaken)
	}
	return nil
}

// insert makes the row of a run.
func (s *Store) insert(ctx context.Context, tx *sql.Tx, r *row, status persistence.Status) error {
	return tx.QueryRowContext(ctx, s.q(`INSERT INTO runs
		(id, loop, run_id, started_at, updated_at, status, archived, seq, whole, epoch, definition, about, project)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n`),
		string(r.ID), r.Loop, r.RunID, r.StartedAt.UnixMicro(), r.UpdatedAt.UnixMilli(), string(status),
		flag(r.Archived),
		int64(r.seq), int64(r.whole), r.epoch, r.definition, string(appendAbout(nil, &r.Run)), r.project).Scan(&r.n)
}

// own gives the lease of a run to its new owner.
func (s *Store) own(ctx context.Context, tx *sql.Tx, r *row, segment int, spec persistence.Spec, scope []string,
	place string,
) error {
	r.given = time.Now()
	_, err := tx.ExecContext(ctx, s.q(`INSERT INTO leases (run, epoch, until, owner, scope, singleton, since, segment)
		VALUES (?, ?, {now} + ?, ?, ?, ?, ?, ?)
		ON CONFLICT (run) DO UPDATE SET epoch = excluded.epoch, until = excluded.until, owner = excluded.owner,
			scope = excluded.scope, singleton = excluded.singleton, since = excluded.since,
				segment = excluded.segment`),
		r.n, r.epoch, s.lease.Milliseconds(), formatOwner(recordedOwner{spec.Owner, place, s.shared(scope)}),
		formatScope(scope), flag(spec.Singleton), spec.StartedAt.UnixMicro(), segment)
	return err
}

// conflict looks for a live run whose scope overlaps. What dead processes reserved without recording anything is
// removed. Called serialised.
func (s *Store) conflict(ctx context.Context, tx *sql.Tx, self persistence.ID, spec persistence.Spec, scope []string,
	place string,
) error {
	owned, err := s.rows(ctx, tx, `WHERE l.run IS NOT NULL`)
	if err != nil {
		return err
	}
	for _, r := range owned {
		if r.ID == self {
			continue
		}
		if !r.Held {
			if r.Status == "" && !r.Unsure {
				if err := s.forgetRow(ctx, tx, r); err != nil {
					return err
				}
			}
			continue
		}
		if slices.Contains(spec.Ancestors, r.ID) {
			continue
		}
		theirs, ours := r.scope, scope
		if r.Owner.Host != spec.Owner.Host {
			if r.place == "" || r.place != place {
				continue // a path is another one on another machine
			}
			theirs, ours = nil, scope // the folder of the project is one that both machines have
			for _, p := range r.shared {
				theirs = append(theirs, filepath.Join(s.root(), p))
			}
		}
		path, ok := persistence.Overlap(theirs, ours)
		if !ok && !(spec.Singleton && r.singleton && spec.Loop == r.Loop) {
			continue
		}
		if !ok && len(r.scope) > 0 {
			path = r.scope[0]
		}
		return &persistence.ConflictError{Holder: r.ID, Loop: r.Loop, Owner: r.Owner, Path: path, Since: r.since}
	}
	return nil
}

// keepDefinition stores the text of a loop file once, and returns its hash, "" for no text.
func (s *Store) keepDefinition(ctx context.Context, tx *sql.Tx, text []byte) (string, error) {
	if text == nil {
		return "", nil
	}
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	if _, err := tx.ExecContext(ctx, s.q(`INSERT INTO definitions (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING`),
		hash, text); err != nil {
		return "", err
	}
	return hash, nil
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// takenSince returns the run ids of a loop from one on, in their order, those of removed runs among them.
func (s *Store) takenSince(ctx context.Context, tx *sql.Tx, loop, from string) ([]string, error) {
	rs, err := tx.QueryContext(ctx, s.q(`SELECT run_id FROM runs WHERE loop = ? AND run_id >= ?
		UNION SELECT run_id FROM removals WHERE loop = ? AND run_id >= ? ORDER BY 1`), loop, from, loop, from)
	return collect(rs, err, scanText)
}
