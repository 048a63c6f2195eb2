package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
)

// A run whose process was still tidying up after its end as suspended stayed suspended after unblock, which
// said nothing of it.
func TestUnblockWhileTheProcessEnds(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"dir", "sqlite:.loops/runs.db"} {
		t.Run(strings.Split(store, ":")[0], func(t *testing.T) {
			t.Parallel()
			r, err := commanded(t, store).Records(t.Context(), true)
			testenv.Must(t, err)
			t.Cleanup(func() { testenv.Must(t, r.Close()) })
			owner, err := Self()
			testenv.Must(t, err)
			j, err := r.Create(t.Context(),
				persistence.Spec{
					Loop: "commanded", StartedAt: time.Now(), Definition: []byte(commandedLoop),
					Owner: owner,
				})
			testenv.Must(t, err)
			t.Cleanup(func() { testenv.Must(t, j.Close(context.WithoutCancel(t.Context()))) })
			testenv.Must(t, j.Record(t.Context(), &fsm.Batch{Checkpoint: true, Snapshot: &fsm.Snapshot{
				Loop: "commanded", Current: "a", StartedAt: time.Now(),
				Outcome: &fsm.Outcome{
					TerminatedBy: fsm.EndSuspended, Cause: fsm.FailAuth, SuspendedBy: "claude",
					Reason: "log in",
				},
			}}))
			var begun []string
			done, err := Unblock(t.Context(), r, "claude", func(_ context.Context, q Request) error {
				begun = append(begun, q.Resume.Run)
				return nil
			})
			if err != nil || len(done.Runs) != 1 || len(begun) != 1 || begun[0] != string(j.Run().ID) {
				t.Errorf("%+v continue, begun were %v: %v", done.Runs, begun, err)
			}
		})
	}
}
