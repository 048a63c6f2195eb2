package persistence_test

import (
	"errors"
	"fmt"
	"testing"

	"loops/persistence"
)

func TestFencedError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  persistence.FencedError
		want string
	}{
		{
			persistence.FencedError{ID: "fix-1", Owner: persistence.Owner{PID: 7}},
			"another process (pid 7) took over run fix-1",
		},
		{
			persistence.FencedError{ID: "fix-1", Owner: persistence.Owner{PID: 7, Host: "box"}},
			"another process (pid 7 on box) took over run fix-1",
		},
		{persistence.FencedError{ID: "fix-1"}, "run fix-1 was taken from this process, which had not been heard " +
			"of for too long"},
		{
			persistence.FencedError{ID: "fix-1", Why: "gone"},
			"run fix-1 was taken from this process, which had not been heard of for too long (recorded as: gone)",
		},
	} {
		err := fmt.Errorf("stop: %w", &c.err)
		if !errors.Is(err, persistence.ErrFenced) || c.err.Error() != c.want {
			t.Errorf("got %q, want %q", c.err.Error(), c.want)
		}
	}
}
