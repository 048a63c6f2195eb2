package engine

import (
	"context"
	"strings"
	"testing"

	"loops/engine/project"
	"loops/persistence"
)

// A busyStore takes its time to say how large runs are.
type busyStore struct {
	persistence.Store
	sized, left int
	stop        func()
	removed     []string
}

func (s *busyStore) Sizes(_ context.Context, ids []persistence.ID, _ []int64) (sizes []int64, _ error) {
	for range ids {
		if s.sized++; s.sized == s.left {
			s.stop()
		}
		sizes = append(sizes, 10)
	}
	return sizes, nil
}

func (s *busyStore) Remove(_ context.Context, id persistence.ID) error {
	s.removed = append(s.removed, string(id))
	return nil
}

// Short runs in a project with very many: what there was time for is gone, however much is left. All were
// measured before the first was removed, so none ever went.
func TestRetentionThatIsCutShortGetsSomewhere(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	s := &busyStore{left: 3, stop: stop}
	var todo []Removed
	for _, id := range []string{"a", "b", "c", "d"} {
		todo = append(todo, Removed{RunEntry: RunEntry{ID: persistence.ID(id)}})
	}
	e := New(openIn(t, t.TempDir()), Options{})
	gone, _ := e.removeInTurn(ctx, &project.Records{Store: s}, todo, true)
	if got := strings.Join(s.removed, " "); got != "a b" || len(gone) != 2 || gone[0].Bytes+gone[1].Bytes != 20 {
		t.Errorf("%q went, %d are told", got, len(gone))
	}
	if gone, err := e.removeInTurn(t.Context(), &project.Records{Store: s}, todo, false); err != nil ||
		len(gone) != 4 || s.sized != 3 {
		t.Errorf("where sizes are known: %d went, %d were measured, %v", len(gone), s.sized, err)
	}
}
