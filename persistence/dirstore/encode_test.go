package dirstore

import (
	"fmt"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
)

// What a run writes once is not kept permanently: its memory does not grow with its length.
func TestEncodersForget(t *testing.T) {
	t.Parallel()
	j := begin(t, open(t))
	s := step(1).Snapshot
	for n := range 300 {
		s.Captured.Set("c", value.NewMap("output", strings.Repeat(fmt.Sprint(n), 512)))
		if err := j.Record(t.Context(),
			&fsm.Batch{Snapshot: s, Checkpoint: n%10 == 0, Events: []fsm.Event{{Kind: "route", Time: at}}}); err !=
			nil {
			t.Fatal(err)
		}
	}
	if n, m := j.enc.Kept(), j.state.Kept(); n > 5 || m > 5 {
		t.Errorf("the encoders keep %d and %d records", n, m)
	}
	j.die()
}
