package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// Submit implements [persistence.Placer]. The row of the run has what it remembers as event 0, which its first
// event replaces.
func (s *Store) Submit(ctx context.Context, spec persistence.Spec, memory *fsm.Snapshot,
	j persistence.Job,
) (persistence.Run, error) {
	if !s.d.remote() {
		return persistence.Run{}, persistence.ErrNoWorkers
	}
	if err := persistence.CheckLoop(spec.Loop); err != nil {
		return persistence.Run{}, err
	}
	for _, text := range []string{spec.Loop, j.Queue, j.Key, strings.Join(j.Labels, ""), string(j.Request)} {
		if !legible(text) {
			return persistence.Run{}, fmt.Errorf("%q is not valid text", text)
		}
	}
	if spec.StartedAt.IsZero() {
		spec.StartedAt = time.Now()
	}
	texts := &importer{}
	whole, err := snapshot.NewEncoder(texts).Whole(memory)
	if err != nil {
		return persistence.Run{}, err
	}
	body := string(snapshot.AppendSum(whole, 0))
	labels, err := json.Marshal(j.Labels)
	if err != nil {
		return persistence.Run{}, err
	}
	at := int64(0)
	if !j.At.IsZero() {
		at = j.At.UnixMilli()
	}
	begins := func() *row {
		return &row{Run: persistence.Run{
			Loop: spec.Loop, Status: persistence.Queued, State: memory.Current, MaxSteps: spec.MaxSteps,
			StartedAt: spec.StartedAt, UpdatedAt: spec.StartedAt,
			File: spec.File, SHA256: spec.SHA256, Options: spec.Options, Origin: spec.Origin, Log: s.name,
		}, project: s.project()}
	}
	if only, err := s.ownsNothing(ctx); err != nil {
		return persistence.Run{}, s.explained(err)
	} else if only && spec.ID != "" {
		return persistence.Run{}, fmt.Errorf("run %s: a user who may only submit names no run", spec.ID)
	} else if only {
		r := begins()
		err := s.submitByFunction(ctx, r, spec.Definition, body, texts.rows, j, string(labels), at)
		return r.Run, err
	}
	place, err := s.place(ctx)
	if err != nil {
		return persistence.Run{}, err
	}
	var r *row
	err = s.changeDurably(ctx, func(tx *sql.Tx) error {
		if err := s.d.serialise(ctx, tx); err != nil {
			return err
		}
		r = begins()
		reserve := s.reserve
		if r.ID = spec.ID; spec.ID != "" {
			reserve = s.reserveNamed
		}
		if err := reserve(ctx, tx, r); err != nil {
			return err
		}
		var err error
		if r.definition, err = s.keepDefinition(ctx, tx, spec.Definition); err != nil {
			return err
		}
		if err := s.insert(ctx, tx, r, persistence.Queued); err != nil {
			return err
		}
		if err := s.recordProject(ctx, tx, r, place); err != nil {
			return err
		}
		for _, t := range texts.rows {
			if _, err := tx.ExecContext(ctx, s.q(saveText), r.n, t.name, []byte(t.body)); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, s.q(saveMemory), r.n, 0, nil, body); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx,
			s.q(
				`INSERT INTO placements (run, queue, key, priority, at, labels, files, hash, request, submitted_at,
					open, tries, note)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, {now}, 1, 0, '')`),
			r.n, j.Queue, j.Key, int64(j.Priority), at, string(labels), j.Files, j.Hash, string(j.Request))
		return err
	})
	if err != nil {
		return persistence.Run{}, err
	}
	return r.Run, nil
}

// Begin implements [persistence.Placer]. The run says that it is queued until its new owner has recorded
// something: if that dies before, another one begins it.
func (s *Store) Begin(ctx context.Context, id persistence.ID, spec persistence.Spec) (persistence.Journal, error) {
	if spec.StartedAt.IsZero() {
		spec.StartedAt = time.Now()
	}
	if err := s.secondLook(ctx, id); err != nil {
		return nil, err
	}
	scope := persistence.ResolveScope(spec.Scope)
	place, err := s.place(ctx)
	if err != nil {
		return nil, err
	}
	lock, err := s.lockPaths(ctx, id, spec)
	if err != nil {
		return nil, err
	}
	j, err := s.beginQueued(ctx, id, spec, scope, place, lock)
	if err != nil {
		_ = lock.Unlock() // a file that is left says nothing, as no process holds it
		return nil, err
	}
	return j, nil
}

func (s *Store) beginQueued(ctx context.Context, id persistence.ID, spec persistence.Spec, scope []string,
	place string, lock persistence.PathLock,
) (*journal, error) {
	var r *row
	err := s.change(ctx, func(tx *sql.Tx) error {
		err := s.d.serialise(ctx, tx)
		if err != nil {
			return err
		}
		if r, err = s.find(ctx, tx, id, s.d.lockRow()); err != nil {
			return err
		}
		switch {
		case r.Held && !r.Lapsed:
			return &persistence.HeldError{ID: id, Owner: r.Owner}
		case r.Status != persistence.Queued:
			return &persistence.NotResumableError{ID: id, Status: r.Status}
		}
		if err := s.conflict(ctx, tx, id, spec, scope, place); err != nil {
			return err
		}
		r.epoch++
		if r.definition, err = s.keepDefinition(ctx, tx, spec.Definition); err != nil {
			return err
		}
		r.Archived = false // earlier versions archived queued runs
		r.project = s.carriedBy(r)
		r.StartedAt, r.File, r.SHA256, r.Options, r.MaxSteps, r.Origin = spec.StartedAt, spec.File, spec.SHA256,
			spec.Options, spec.MaxSteps, spec.Origin
		if _, err := tx.ExecContext(ctx,
			s.q(`UPDATE runs SET epoch = ?, definition = ?, started_at = ?, archived = 0, project = ? WHERE n = ?`),
			r.epoch, r.definition, r.StartedAt.UnixMicro(), r.project, r.n); err != nil {
			return err
		}
		if err := s.stay(ctx, tx, r, place); err != nil {
			return err
		}
		return errors.Join(s.hear(ctx, tx, r.n), s.own(ctx, tx, r, 0, spec, scope, place))
	})
	if err != nil {
		return nil, err
	}
	r.Owner, r.Held, r.Segment = spec.Owner, true, 0
	j := s.newJournal(r, persistence.Queued)
	if err := disk.MakeWork(s.Folder, j.dir); err != nil {
		return nil, errors.Join(err, s.release(ctx, r.n, r.epoch))
	}
	j.paths = lock
	j.begin(r.given)
	if spec.ScopeOf != nil {
		if err := lock.Assign(r.ID, spec.ScopeOf(r.ID)); err != nil {
			return nil, errors.Join(err, j.Close(ctx))
		}
	}
	return j, nil
}

// hear records what commands a submitted run has as it is taken: what comes later is not known to have been
// read, and so ends a wait in which the run is parked. When it was to continue holds no longer: if it is parked
// again, and no worker notes until when, it is due.
func (s *Store) hear(ctx context.Context, tx *sql.Tx, run int64) error {
	_, err := tx.ExecContext(ctx,
		s.q(
			`UPDATE placements SET at = 0, heard = (SELECT coalesce(max(c.n), 0) FROM commands c
				WHERE c.run = placements.run) WHERE run = ?`),
		run)
	return err
}

// Withdraw implements [persistence.Placer].
func (s *Store) Withdraw(ctx context.Context, id persistence.ID) error {
	return s.changeDurably(ctx, func(tx *sql.Tx) error {
		err := s.d.serialise(ctx, tx)
		if err != nil {
			return err
		}
		r, err := s.find(ctx, tx, id, s.d.lockRow())
		if err != nil {
			return err
		}
		switch {
		case r.Held && !r.Lapsed:
			return &persistence.HeldError{ID: id, Owner: r.Owner}
		case r.Status != persistence.Queued:
			return &persistence.NotResumableError{ID: id, Status: r.Status}
		}
		r.Ended = fsm.EndUserStopped
		if _, err := tx.ExecContext(ctx,
			s.q(
				`UPDATE runs SET status = ?, archived = 1, about = ?, epoch = epoch + 1, updated_at = {now}
					WHERE n = ?`),
			string(persistence.UserStopped), string(appendAbout(nil, &r.Run)), r.n); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, s.q(`DELETE FROM leases WHERE run = ?`), r.n); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, s.q(`UPDATE placements SET open = 0 WHERE run = ?`), r.n)
		return err
	})
}

// Recall implements [persistence.Placer].
func (s *Store) Recall(ctx context.Context, id persistence.ID) (done bool, err error) {
	err = s.changeDurably(ctx, func(tx *sql.Tx) error {
		done = false
		if err := s.d.serialise(ctx, tx); err != nil {
			return err
		}
		r, err := s.find(ctx, tx, id, s.d.lockRow())
		if err != nil {
			return err
		}
		closed, err := tx.ExecContext(ctx,
			s.q(`UPDATE placements SET open = 0, note = '' WHERE run = ? AND open = 1`), r.n)
		if err != nil {
			return err
		}
		n, err := closed.RowsAffected()
		if done = n > 0; err != nil || !done || r.Status != persistence.Running || r.Held && !r.Lapsed {
			return err
		}
		r.Status, r.Reconciled, r.Why = persistence.Interrupted, time.Now(),
			"its owner was not heard of when it was stopped"
		if _, err := tx.ExecContext(ctx,
			s.q(`UPDATE runs SET status = ?, about = ?, epoch = epoch + 1, updated_at = {now} WHERE n = ?`),
			string(r.Status), string(appendAbout(nil, &r.Run)), r.n); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, s.q(`DELETE FROM leases WHERE run = ?`), r.n)
		return err
	})
	return done, err
}

// Placed implements [persistence.Placer].
func (s *Store) Placed(ctx context.Context, id persistence.ID, most int) ([]persistence.Placed, error) {
	if !legible(string(id)) {
		return nil, nil
	}
	where, args := `p.open = 1`, []any{}
	if id != "" {
		where, args = `r.id = ?`, []any{string(id)}
	}
	if most > 0 && id == "" {
		where, args = `(l.run IS NOT NULL OR p.turn <= ?)`, []any{most}
	}
	ours, own, err := s.ours(ctx, `r.`)
	if err != nil {
		return nil, s.explained(err)
	}
	where, args = where+ours, append(args, own...)
	// A run that has an owner, dead or alive, is not one of those that wait for their turn. One whose time has
	// not come, and of which nothing was asked meanwhile, comes behind those that are due.
	rs, err := s.read.QueryContext(ctx,
		s.q(`SELECT `+columns+
			`, p.queue, p.key, p.priority, p.at, p.labels, p.files, p.hash, p.request, p.submitted_at, p.open,
				p.tries, p.note,
		r.status = 'awaiting_continuation' AND p.at > {now} AND NOT EXISTS (SELECT 1 FROM commands c WHERE c.run = r.n
			AND c.n > p.heard)
		FROM (SELECT q.*, row_number() OVER (PARTITION BY queue, key, EXISTS (SELECT 1 FROM leases o
			WHERE o.run = q.run)
			ORDER BY at > {now} AND (note <> '' OR NOT EXISTS (SELECT 1 FROM commands c WHERE c.run = q.run
				AND c.n > q.heard)), priority, submitted_at, run) AS turn FROM placements q
				WHERE `+map[bool]string{true: `open = 1`, false: `true`}[id == ""]+`) p
		JOIN runs r ON r.n = p.run LEFT JOIN leases l ON l.run = r.n
			WHERE `+where+` ORDER BY p.priority, p.submitted_at, p.run`), args...)
	all, err := collect(rs, err, func(scan func(...any) error) (p persistence.Placed, err error) {
		var labels, request string
		var at, submitted, open, priority, tries int64
		r, err := s.scan(func(dest ...any) error {
			return scan(append(dest, &p.Queue, &p.Key, &priority, &at, &labels, &p.Files, &p.Hash, &request,
				&submitted, &open, &tries, &p.Note, &p.Waits)...)
		})
		if err != nil {
			return p, err
		}
		p.Run, p.State, p.Priority, p.Tries, p.Open, p.Request = r.ID, r.Run, int(priority), int(tries), open != 0,
			[]byte(request)
		p.Claimed = r.Held && !r.Lapsed
		p.Age = time.Duration(r.now-submitted) * time.Millisecond
		if at != 0 {
			p.At = time.Now().Add(time.Duration(at-r.now) * time.Millisecond) // by our clock
		}
		return p, json.Unmarshal([]byte(labels), &p.Labels)
	})
	return all, s.explained(err)
}

// Waiting implements [persistence.Placer].
func (s *Store) Waiting(ctx context.Context) (map[string]int, error) {
	ours, own, err := s.ours(ctx, `r.`)
	if err != nil {
		return nil, s.explained(err)
	}
	// A run that is parked until a time waits for no worker, unless something was asked of it.
	rs, err := s.read.QueryContext(ctx, s.q(`SELECT p.queue, count(*) FROM placements p JOIN runs r ON r.n = p.run
		WHERE p.open = 1 AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.run = r.n)
		AND (r.status <> 'awaiting_continuation' OR p.at <= {now} OR EXISTS (SELECT 1 FROM commands c
			WHERE c.run = r.n AND c.n > p.heard))`+ours+` GROUP BY p.queue`), own...)
	waiting := map[string]int{}
	_, err = collect(rs, err, func(scan func(...any) error) (none struct{}, err error) {
		var queue string
		var n int
		err = scan(&queue, &n)
		waiting[queue] = n
		return none, err
	})
	return waiting, s.explained(err)
}

// Found implements [persistence.Placer].
func (s *Store) Found(ctx context.Context, id persistence.ID, f persistence.Finding) error {
	again := int64(0)
	if f.Again {
		again = 1
	}
	after := f.After.Milliseconds()
	_, err := s.beat.ExecContext(ctx,
		s.q(
			`UPDATE placements SET open = open * ?, tries = (tries + ?) * ?, note = ?, at = CASE
				WHEN CAST(? AS {bigint}) > 0 THEN {now} + ? ELSE 0 END
		WHERE run = (SELECT n FROM runs WHERE id = ?)`),
		flag(f.Open), again, again, shortened(f.Note), after, after, string(id))
	return s.explained(err)
}

// shortened bounds a text that is kept, and makes it one that can be.
func shortened(text string) string {
	const most = 2000
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
}

// LeaseTime implements [persistence.Placer].
func (s *Store) LeaseTime() time.Duration { return s.lease }

// Remote reports whether processes on other machines can use the database: it is of PostgreSQL.
func (s *Store) Remote() bool { return s.d.remote() }

var _ persistence.Placer = (*Store)(nil)
