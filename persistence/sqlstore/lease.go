package sqlstore

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"loops/persistence"
)

// A heart renews the lease of a run until it is stopped.
type heart struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	lost   chan struct{}
	given  atomic.Pointer[time.Time] // when the lease was last asked for
}

// Lost implements [persistence.Journal].
func (h *heart) Lost() <-chan struct{} { return h.lost }

func (h *heart) stop() {
	h.cancel()
	h.wg.Wait()
}

// begin starts to renew the lease that was given.
func (j *journal) begin(given time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	j.cancel = cancel
	j.s.owned.Store(j.run.ID, j)
	j.given.Store(&given)
	run, epoch := j.next.run, j.next.epoch
	j.wg.Go(func() {
		if j.s.renew(ctx, run, epoch, &j.given) {
			close(j.lost)
		}
	})
}

// renew keeps a lease until ctx is done, or until it is lost. Where the database is elsewhere, a lease that
// could not be renewed in time counts as lost: another machine may take the run over. On this machine a run is
// taken over only after a wait for us (see SecondLook), so there only the run's new epoch counts.
func (s *Store) renew(ctx context.Context, run, epoch int64, since *atomic.Pointer[time.Time]) (lost bool) {
	tick := time.NewTicker(min(s.lease/12, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		given := *since.Load()
		// The clock on the wall advances while the machine sleeps, the other one when the one on the wall is set back.
		age := max(time.Since(given), time.Now().Round(0).Sub(given.Round(0)))
		if age < s.lease/3 {
			continue
		}
		now := time.Now()
		held, err := s.renewOnce(ctx, run, epoch)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil && !held:
			return true
		case err == nil:
			since.Store(&now)
		case s.d.remote() && time.Since(given) >= s.lease:
			return true
		}
	}
}

func (s *Store) renewOnce(ctx context.Context, run, epoch int64) (held bool, err error) {
	if err := s.d.there(); err != nil { // a new connection would make an empty one
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.lease/3)
	defer cancel()
	res, err := s.beat.ExecContext(ctx, s.q(`UPDATE leases SET until = {now} + ? WHERE run = ? AND epoch = ?`),
		s.lease.Milliseconds(), run, epoch)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// release ends the lease of a run that is left as it is. It does nothing if the run was taken over.
func (s *Store) release(ctx context.Context, run, epoch int64) error {
	if err := s.d.there(); err != nil {
		return err
	}
	_, err := s.beat.ExecContext(ctx, s.q(`DELETE FROM leases WHERE run = ? AND epoch = ?`), run, epoch)
	return s.explained(err)
}

// finish archives a run that ended, and ends its lease.
func (s *Store) finish(ctx context.Context, id persistence.ID, run, epoch int64) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, s.q(`UPDATE runs SET archived = 1 WHERE n = ? AND epoch = ?`), run, epoch)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			if err == nil {
				err = s.fenced(ctx, tx, id, run, epoch)
			}
			return err
		}
		_, err = tx.ExecContext(ctx, s.q(`DELETE FROM leases WHERE run = ? AND epoch = ?`), run, epoch)
		return err
	})
}

// forget removes a run if nothing of it is recorded, unless it was taken over.
func (s *Store) forget(ctx context.Context, run, epoch int64) (forgotten bool, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		if err := s.d.serialise(ctx, tx); err != nil {
			return err
		}
		var n int
		err := tx.QueryRowContext(ctx, s.q(`SELECT count(*) FROM runs WHERE n = ? AND epoch = ? AND status = ''`),
			run, epoch).Scan(&n)
		if forgotten = n > 0; err != nil || !forgotten {
			return err
		}
		return s.drop(ctx, tx, run)
	})
	return forgotten && err == nil, err
}
