package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"loops/persistence"
)

// A slow is a store that does not answer for a while.
type slow struct {
	persistence.Placer
	until time.Time
	err   error
	beats int
}

func (s *slow) Beat(context.Context, persistence.WorkerState, time.Duration) error {
	if s.beats++; time.Now().Before(s.until) {
		return s.err
	}
	return nil
}

// TestWorkerBeginsBesideSlowDatabase: a worker that began while the database was busy ended with "context
// deadline exceeded".
func TestWorkerBeginsBesideSlowDatabase(t *testing.T) {
	t.Parallel()
	late, refused := errors.New("postgres:///x did not answer in time"), errors.New("permission denied")
	for _, c := range []struct {
		away time.Duration
		err  error
		want error
		most int // beats
	}{
		{0, nil, nil, 1},
		{5 * time.Second, late, nil, 30},
		{time.Hour, late, late, 100},
		{time.Second, refused, refused, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &slow{until: time.Now().Add(c.away), err: c.err}
			w := &worker{Options: Options{Say: func(string, ...any) {}}, store: s, lease: 1500 * time.Millisecond}
			err := w.announce(t.Context(), func(err error) bool { return errors.Is(err, late) })
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || s.beats > c.most {
				t.Errorf("away for %v: %v after %d beats, want %v", c.away, err, s.beats, c.want)
			}
		})
	}
}
