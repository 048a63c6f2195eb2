package sqlstore_test

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loops/internal/testenv"
	"loops/persistence"
)

// TestFailover kills the primary with SIGKILL while runs are recorded, promotes its synchronous standby, and continues
// there. No step that was acknowledged is missing, and none is there twice.
func TestFailover(t *testing.T) {
	t.Parallel()
	theServer(t)
	const runs = 4
	steps := 6 * max(*rounds, 25)
	primary, err := testenv.StartPostgres(t.Context())
	must(t, err)
	remove(t, primary)
	standby, err := primary.Standby(t.Context(), "second")
	must(t, err)
	remove(t, standby)
	// Only now does a commit wait for the standby.
	must(t, primary.Configure("synchronous_standby_names = 'second'"))
	must(t, primary.Stop())
	must(t, primary.Launch(t.Context()))

	at := "postgres://loops@/postgres?" + url.Values{
		"host": {primary.Dir + "," + standby.Dir}, "port": {fmt.Sprintf("%d,%d", primary.Port, standby.Port)},
		"lease": {"10m"},
	}.Encode()
	s := opened(t, at)
	journals := make([]persistence.Journal, runs)
	for i := range journals {
		journals[i] = create(t, s, elsewhere)
	}
	var acked atomic.Int64
	half := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	errs := make([]error, runs)
	for i, j := range journals {
		wg.Go(func() {
			for n := 2; n <= steps && errs[i] == nil; n++ {
				b := step(n)
				b.Checkpoint = n%4 != 0
				if errs[i] = j.Record(t.Context(), b); acked.Add(1) == int64(runs*steps/2) {
					once.Do(func() { close(half) })
				}
			}
		})
	}
	select {
	case <-half:
	case <-time.After(4 * time.Minute):
		t.Errorf("%d steps in 4 minutes", acked.Load())
	}
	must(t, primary.Kill())
	must(t, standby.Configure("synchronous_standby_names = ''"))
	must(t, standby.Promote(t.Context()))
	wg.Wait()
	for i, j := range journals {
		must(t, errs[i])
		must(t, j.Close(t.Context()))
		m, err := s.Snapshot(t.Context(), j.Run().ID)
		must(t, err)
		if n := whole(t, s, j.Run().ID); m.Step != steps || n != 2*steps {
			t.Errorf("run %s has %d events and stands at step %d, want %d", j.Run().ID, n, m.Step, steps)
		}
		n := 0
		for _, e := range events(t, s, j.Run().ID) {
			if e.Kind != "state_enter" {
				continue
			}
			if n++; fmt.Sprint(e.Fields[0].Value) != strconv.Itoa(n) {
				t.Fatalf("step %v stands where step %d should", e.Fields[0].Value, n)
			}
		}
	}
	t.Logf("%d steps were acknowledged, half of them before the primary was killed", acked.Load()+runs)
}

func remove(t *testing.T, s *testenv.PostgresServer) {
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.Dir); err == nil {
			t.Errorf("%s is still there", s.Dir)
		}
	})
}
