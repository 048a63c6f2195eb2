package cli

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/persistence"
)

// Who waits does not give up because the store cannot be asked for a moment, and says so once.
func TestQueueOutlivesTroubleOfTheStore(t *testing.T) {
	m := persistence.NewMemory()
	defer m.Close()
	var said bytes.Buffer
	a := &app{IO: IO{Out: &bytes.Buffer{}, Err: &said}, args: []string{"run", "fix"}}
	a.out = &sink{w: a.Out}
	owner, err := self()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	spec := persistence.Spec{Loop: "fix", Scope: []string{dir}, Owner: owner}
	locked := &persistence.ConflictError{Holder: "other-1", Loop: "other", Owner: owner, Path: dir, Since: time.Now()}
	for _, c := range []struct {
		limit   time.Duration
		answers []error // of the store, one after the other; the last for ever
		want    string
		notes   int
	}{
		{time.Minute, []error{locked, persistence.ErrBusy, persistence.ErrBusy, nil}, "", 1},
		{time.Minute, []error{locked, persistence.ErrBusy, locked, persistence.ErrBusy, nil}, "", 2},
		{50 * time.Millisecond, []error{locked, persistence.ErrBusy}, persistence.ErrBusy.Error(), 1},
		{time.Minute, []error{locked, errors.New("broken")}, "broken", 0},
	} {
		said.Reset()
		n := 0
		turn := turn{
			project: project{Dir: dir, Loops: filepath.Join(dir, ".loops"), Cwd: dir}, store: records{Store: m}, spec: spec,
			flags: lockFlags{queue: true, limit: c.limit}, printer: a.newPrinter(viewFlags{}),
		}
		j, err := a.whenFree(t.Context(), turn, func() (persistence.Journal, error) {
			err := c.answers[min(n, len(c.answers)-1)]
			if n++; err != nil {
				return nil, err
			}
			return m.Create(t.Context(), spec)
		})
		got := ""
		if err != nil {
			_, got = explain(err)
		} else if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Count(said.String(), "The run waits on") != c.notes {
			t.Errorf("%v: %q, and told\n%s", c.answers, got, &said)
		}
	}
}
