package dirstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/disk"
	"loops/internal/testenv"
	"loops/persistence"
)

// Something that is not a file is where one should be. Nothing waits for it: what is known of the run is returned, and
// what cannot be done fails and names the file. The other run is not concerned.
func TestNoRegularFile(t *testing.T) {
	// Not parallel: the test changes the working directory.
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("of another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(".") // and back: a socket needs a short path
	put := map[string]func(path string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"symlink to a pipe": func(path string) error {
			return errors.Join(syscall.Mkfifo(path+".pipe", 0o644), os.Symlink(path+".pipe", path))
		},
		"symlink to a file": func(path string) error { return os.Symlink(outside, path) },
		"symlink to itself": func(path string) error { return os.Symlink(path, path) },
		"device":            func(path string) error { return os.Symlink("/dev/zero", path) },
		"socket": func(path string) error {
			return errors.Join(os.Chdir(filepath.Dir(path)), listenAt(filepath.Base(path)))
		},
	}
	for _, c := range []struct {
		name     string
		archived bool
		file     func(d *Store, j *journal) string
		listed   string // status and step; "" = the run is not listed
		damage   bool   // and the list names the file
		memory   bool   // can be read
		resume   bool   // works
	}{
		{"state", false, func(_ *Store, j *journal) string { return j.files.state }, "running 2", true, true, true},
		{"events", false, func(_ *Store, j *journal) string { return j.files.events }, "running 2", true, false, false},
		{"lock", false, func(_ *Store, j *journal) string { return j.files.lock }, "running 2", true, true, false},
		{"pid", false, func(_ *Store, j *journal) string { return j.files.pid }, "running 2", false, true, false},
		{"torn", false, func(_ *Store, j *journal) string { return j.files.torn }, "running 2", false, true, true},
		{
			"commands", false, func(_ *Store, j *journal) string { return j.files.commands }, "running 2", false, true,
			true,
		},
		{
			"acquire", false, func(d *Store, _ *journal) string { return filepath.Join(d.running, ".acquire.lock") },
			"running 2", false, true, false,
		},
		{"archived state", true, func(d *Store, _ *journal) string {
			return filepath.Join(d.history, "2026-11-21T083717-fix", "state.json")
		}, "interrupted 2", true, true, true},
		{"archived events", true, func(d *Store, _ *journal) string {
			return filepath.Join(d.history, "2026-11-21T083717-fix", "events.jsonl")
		}, "interrupted 2", true, false, false},
		{"archived commands", true, func(d *Store, _ *journal) string {
			return filepath.Join(d.history, "2026-11-21T083717-fix", "commands.jsonl")
		}, "interrupted 2", false, true, true},
	} {
		for kind, make := range put {
			t.Run(c.name+", "+kind, func(t *testing.T) {
				d := open(t)
				last := step(2)
				if c.archived {
					last = end(2, fsm.EndInterrupted)
				}
				j := begin(t, d, step(1), last)
				if c.archived {
					if err := j.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
				} else {
					j.die()
				}
				other := begin(t, d, step(1))
				defer other.die()
				path := c.file(d, j)
				if err := errors.Join(os.RemoveAll(path), make(path)); err != nil {
					t.Fatal(err)
				}
				soon(t, func() {
					runs, err := d.Runs(t.Context(), persistence.Query{})
					if err != nil || len(runs) != 2 {
						t.Errorf("list: %v, %+v", err, runs)
					}
					for _, r := range runs {
						if r.ID == other.id {
							if len(r.Damage) > 0 || !r.Held {
								t.Errorf("the other run: %+v", r)
							}
							continue
						}
						if got := fmt.Sprint(r.Status, " ", r.Step); got != c.listed {
							t.Errorf("listed as %s, want %s", got, c.listed)
						}
						if told := strings.Contains(fmt.Sprint(r.Damage), path+": not a regular file"); told !=
							c.damage {
							t.Errorf("damage %q", r.Damage)
						}
					}
					s, err := d.Snapshot(t.Context(), j.id)
					if c.memory && (err != nil || s.Step != 2) || !c.memory && !errors.Is(err, disk.ErrNotRegular) {
						t.Errorf("snapshot: %v, %+v", err, s)
					}
					for _, err := range d.Events(t.Context(), j.id, 0) {
						if err != nil && !strings.Contains(err.Error(), path) {
							t.Errorf("events: %v", err)
						}
					}
					asked := strings.HasSuffix(c.name, "commands")
					if _, err := d.Commands(t.Context(), j.id, 0); (err != nil) != asked ||
						asked && !strings.Contains(err.Error(), path) {
						t.Errorf("commands: %v", err)
					}
					if _, err := d.Send(t.Context(), j.id,
						persistence.Command{
							Kind:    persistence.CommandPause,
							Segment: persistence.AnySegment,
						}); (asked || c.name == "acquire") == (err == nil) ||
						err != nil && !strings.Contains(err.Error(), path) {
						t.Errorf("send: %v", err)
					}
					k, _, err := d.Resume(t.Context(), j.id, persistence.Spec{Loop: "fix"})
					if (err == nil) != c.resume || err != nil && !strings.Contains(err.Error(), path) {
						t.Errorf("resume: %v", err)
					}
					if err == nil {
						for n := 3; n < 6; n++ {
							if err := k.Record(t.Context(), step(n)); err != nil {
								t.Errorf("step %d: %v", n, err)
							}
						}
						k.(*journal).die()
						if s, err := d.Snapshot(t.Context(), j.id); err != nil || s.Step != 5 {
							t.Errorf("after it went on: %v, %+v", err, s)
						}
					}
					if err := d.Interrupt(t.Context(), j.id, at, "test"); err != nil &&
						!errors.Is(err, persistence.ErrNotFound) && !strings.Contains(err.Error(), path) {
						t.Errorf("interrupt: %v", err)
					}
					if err := d.Archive(t.Context(), j.id); err != nil && !strings.Contains(err.Error(), path) &&
						!strings.Contains(err.Error(), "has not ended") {
						t.Errorf("archive: %v", err)
					}
				})
				if b, err := os.ReadFile(outside); err != nil || string(b) != "of another\n" {
					t.Errorf("what a link leads to: %v, %q", err, b)
				}
			})
		}
	}
}

// listenAt leaves a socket that nothing listens at.
func listenAt(path string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Close(fd))
}

// soon fails the test if f takes long.
func soon(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(testenv.Patience):
		t.Fatal("it waits for a user at the other end")
	}
}
