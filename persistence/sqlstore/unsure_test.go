package sqlstore_test

import (
	"testing"
	"time"

	"loops/persistence"
	"loops/persistence/sqlstore"
	"loops/reconcile"
)

// TestUnsure: the lease of an owner that cannot be seen, on this machine, ran out. It keeps its run, and its
// action is not ended, if it renews the lease; the run is interrupted if it says nothing.
func TestUnsure(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"it goes on": 0, "it is silent": 1} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, location func(testing.TB) string) {
				at := location(t)
				owner := opened(t, with(at, "lease=1h"))
				j := create(t, owner, self(t))
				s := opened(t, with(at, "lease=12s"))
				s.Liveness = func(persistence.Owner, time.Time) bool { return true }
				s.Sight = func(persistence.Owner) persistence.Sight { return persistence.Hidden }
				expire(t, owner)
				runs, err := s.Runs(t.Context(), persistence.Query{Live: true})
				must(t, err)
				plan := reconcile.Plan(runs, reconcile.Alive, began)
				if len(plan) != 1 || !plan[0].Unsure {
					t.Fatalf("plan = %+v", plan)
				}
				if want == 0 {
					sqlstore.RenewSoon(j)
				}
				ended := 0
				done, err := reconcile.Apply(t.Context(), s, plan, func(string) (int, error) { ended++; return 0, nil })
				must(t, err)
				if len(done) != want || ended != want {
					t.Errorf("%d runs interrupted, %d actions ended, want %d", len(done), ended, want)
				}
			})
		})
	}
}
