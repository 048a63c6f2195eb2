package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/engine/project"
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
			project: openIn(t, dir), store: &project.Records{Store: m}, spec: spec,
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

// A process that hangs with the lock of the queue does not keep others for longer than they want to wait.
func TestQueueTimeoutWhileItsLockIsHeld(t *testing.T) {
	owner, err := self()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := openIn(t, dir)
	if err := os.MkdirAll(filepath.Join(p.Loops, ".queue"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(p.Loops, ".queue", ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	a := &app{IO: IO{Err: &bytes.Buffer{}}, args: []string{"run", "fix"}}
	turn := turn{
		project: p, spec: persistence.Spec{Loop: "fix", Scope: []string{dir}, Owner: owner},
		flags: lockFlags{queue: true, limit: 50 * time.Millisecond},
	}
	_, err = a.whenFree(t.Context(), turn, func() (persistence.Journal, error) {
		return nil, &persistence.ConflictError{Holder: "other-1", Loop: "other", Owner: owner, Path: dir, Since: time.Now()}
	})
	if code, text := explain(err); code != exitConflict || !strings.HasPrefix(text, "waited 50ms in the queue, in vain") {
		t.Errorf("%d %s", code, text)
	}
}

// openIn opens the project of a folder, of which nothing is said but by its files.
func openIn(t *testing.T, dir string) *project.Project {
	t.Helper()
	p, err := project.Open(dir, project.Options{Cwd: dir, Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
