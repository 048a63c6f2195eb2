package dirstore

import (
	"fmt"
	"strings"
	"testing"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
)

// An event that no reader would take back was written all the same, and the history was damaged from there on.
// It is refused, and the run is as it was before.
func TestEventThatIsTooLongToBeRead(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	long := step(2)
	long.Events[0].Fields = []fsm.Field{{Key: "text", Value: strings.Repeat("x", segment.MostLine)}}
	if err := j.Record(t.Context(), long); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprint(segment.MostLine, " can be read again")) {
		t.Errorf("error is %v", err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Error(err)
	}
	k, s, err := d.Resume(t.Context(), j.id, persistence.Spec{Loop: "fix"})
	if err != nil || s.Step != 1 {
		t.Fatalf("it is at %+v, %v", s, err)
	}
	must(t, k.Record(t.Context(), step(2)))
	must(t, k.Close(t.Context()))
	for _, err := range d.Events(t.Context(), j.id, 0) {
		if err != nil {
			t.Error(err)
		}
	}
}
