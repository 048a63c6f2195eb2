package project_test

import (
	"context"
	"errors"
	"testing"

	"loops/engine/project"
	"loops/persistence"
	"loops/persistence/storetest"
)

// A broken store cannot look up an id.
type broken struct {
	*storetest.Memory
	err error
}

func (b broken) Runs(ctx context.Context, q persistence.Query) ([]persistence.Run, error) {
	if q.ID != "" {
		return nil, b.err
	}
	return b.Memory.Runs(ctx, q)
}

// TestIDThatCannotBeLookedUp: status of a run whose record could not be read said that there is no such run.
func TestIDThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	p, err := project.Open(t.TempDir(), project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	disk := errors.New("input/output error")
	f := project.Finder{Project: p, Store: &project.Records{Store: broken{storetest.NewMemory(), disk}, Name: "memory"}}
	if _, _, err := f.Live(context.Background(), "fix-20261121T103405"); !errors.Is(err, disk) {
		t.Errorf("Live: %v", err)
	}
	if _, err := f.Runs(context.Background(), "fix-20261121T103405", 1); !errors.Is(err, disk) {
		t.Errorf("Runs: %v", err)
	}
}
