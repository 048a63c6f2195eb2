package action

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/fsm"
)

// Runs of two projects can have one id. Stopping an action of one leaves the other's alone.
func TestSameRunIDInTwoProjects(t *testing.T) {
	t.Parallel()
	act := fsm.Action{Kind: fsm.KindShell, State: "a", Step: 1, Attempt: 1}
	other := &Runner{Dir: t.TempDir(), RunID: "main-20261121T100000", Mark: "two/main-20261121T100000"}
	defer other.Close()
	ready, done := make(chan struct{}), make(chan fsm.Result, 1)
	go func() {
		a := act
		a.Text = "echo ready; until [ -e over ]; do sleep 0.01; done; echo survived"
		said := false
		res, err := other.Run(context.Background(), a, func(string) {
			if !said {
				said = true
				close(ready)
			}
		})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	<-ready
	one := &Runner{Dir: t.TempDir(), RunID: "main-20261121T100000", Mark: "one/main-20261121T100000"}
	defer one.Close()
	act.Text, act.Timeout = "sleep 60", 50*time.Millisecond
	if res, err := one.Run(context.Background(), act, nil); err != nil || res.ExitCode != 124 {
		t.Errorf("the action that should time out: %+v %v", res, err)
	}
	if err := os.WriteFile(filepath.Join(other.Dir, "over"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if res := <-done; res.ExitCode != 0 || res.Stdout != "ready\nsurvived\n" {
		t.Errorf("the other project's action: %+v", res)
	}
}
