package sqlstore_test

import (
	"testing"
	"time"

	"loops/persistence"
	"loops/reconcile"
)

// TestUnsure: the lease of an owner that cannot be seen, on this machine, ran out. It keeps its run, and its action is not
// ended, if it renews the lease; the run is interrupted if it says nothing.
func TestUnsure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lease string // of the owner, which renews it after a third of that
		done  int
	}{"it goes on": {"lease=600ms", 0}, "it is silent": {"lease=1h", 1}} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, location func(testing.TB) string) {
				at := location(t)
				owner := opened(t, with(at, c.lease))
				create(t, owner, self(t))
				s := opened(t, with(at, "lease=12s"))
				s.Liveness = func(persistence.Owner, time.Time) bool { return true }
				s.Sight = func(persistence.Owner) persistence.Sight { return persistence.Hidden }
				var plan []reconcile.Change
				for range 50 { // the owner may be quicker than the look
					expire(t, owner)
					runs, err := s.Runs(t.Context(), persistence.Query{Live: true})
					must(t, err)
					if plan = reconcile.Plan(runs, reconcile.Alive, began); len(plan) == 1 {
						break
					}
				}
				if len(plan) != 1 || !plan[0].Unsure {
					t.Fatalf("plan = %+v", plan)
				}
				ended := 0
				done, err := reconcile.Apply(t.Context(), s, plan, func(string) (int, error) { ended++; return 0, nil })
				must(t, err)
				if len(done) != c.done || ended != c.done {
					t.Errorf("%d runs interrupted, %d actions ended, want %d", len(done), ended, c.done)
				}
			})
		})
	}
}
