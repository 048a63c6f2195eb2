package project

import (
	"context"
	"testing"

	"loops/persistence"
)

// endsBetween is a store in which the owner of a run records its end, and dies, while its record is read.
type endsBetween struct {
	persistence.Store
	reads int
}

func (s *endsBetween) Runs(context.Context, persistence.Query) ([]persistence.Run, error) {
	s.reads++
	r := persistence.Run{ID: "fix-1", Loop: "fix", Status: persistence.Running, Owner: persistence.Owner{PID: -1}}
	if s.reads > 1 {
		r.Status, r.Resumable = persistence.UserStopped, true
	}
	return []persistence.Run{r}, nil
}

// A run that was stopped was shown as interrupted when its end was recorded just as it was looked at.
func TestEndedWhileItWasRead(t *testing.T) {
	t.Parallel()
	r := &Records{Store: &endsBetween{}, Project: &Project{}}
	runs, err := r.Runs(t.Context(), persistence.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if runs = Current(runs); len(runs) != 1 || runs[0].Status != persistence.UserStopped {
		t.Errorf("runs are %+v", runs)
	}
}
