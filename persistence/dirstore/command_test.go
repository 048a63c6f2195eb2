package dirstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
	"loops/internal/disk"
	"loops/persistence"
)

var (
	holdOn  = persistence.Command{Kind: persistence.CommandPause, Segment: persistence.AnySegment}
	carryOn = persistence.Command{Kind: persistence.CommandUnpause, Segment: persistence.AnySegment}
)

func kinds(t *testing.T, d *Store, id persistence.ID) string {
	t.Helper()
	all, err := d.Commands(t.Context(), id, 0)
	must(t, err)
	var text []string
	for _, c := range all {
		text = append(text, fmt.Sprint(c.N, " ", c.Kind))
	}
	return strings.Join(text, ", ")
}

func send(t *testing.T, d *Store, id persistence.ID, c persistence.Command) persistence.Command {
	t.Helper()
	sent, err := d.Send(t.Context(), id, c)
	must(t, err)
	return sent
}

// The sender of a command died while it was written: it was not sent, and the next one is.
func TestCommandTornAtEveryByte(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	defer j.die()
	send(t, d, j.id, holdOn)
	first, err := os.ReadFile(j.files.commands)
	must(t, err)
	send(t, d, j.id, carryOn)
	whole, err := os.ReadFile(j.files.commands)
	must(t, err)
	for n := len(first); n < len(whole); n++ {
		must(t, os.WriteFile(j.files.commands, whole[:n], 0o600))
		// which read it before, or did not
		for _, d := range []*Store{d, {root: d.root, running: d.running, history: d.history, runs: d.runs}} {
			if got := kinds(t, d, j.id); got != "1 pause" {
				t.Fatalf("cut at byte %d the commands are %q", n, got)
			}
		}
		send(t, d, j.id, holdOn)
		if got := kinds(t, d, j.id); got != "1 pause, 2 pause" {
			t.Fatalf("cut at byte %d, and sent again: %q", n, got)
		}
		must(t, os.Remove(j.files.commands))
	}
	must(t, os.WriteFile(j.files.commands, append(first, make([]byte, 5000)...), 0o600)) // as a loss of power leaves it
	send(t, d, j.id, carryOn)
	if got := kinds(t, d, j.id); got != "1 pause, 2 unpause" {
		t.Errorf("behind zero bytes: %q", got)
	}
}

// A command that is sent while its run goes to the archive is there afterwards, once, whatever the moment.
func TestSendWhileArchiving(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} { // there is a file of commands already
		for n := 1; ; n++ {
			d := open(t)
			j := begin(t, d, step(1), end(1, fsm.EndInterrupted))
			if before {
				send(t, d, j.id, carryOn)
			}
			other, err := Open(d.root)
			must(t, err)
			count, name := 0, ""
			d.step = func(s string) error {
				if count++; count == n {
					name = s
					send(t, other, j.id, holdOn)
				}
				return nil
			}
			must(t, j.Close(t.Context()))
			if count < n {
				if n < 5 {
					t.Fatalf("archiving has %d steps", count)
				}
				break
			}
			checkSent(t, d, j.id, name, before)
		}
	}
}

// The same, where the run is archived while a command is being sent.
func TestArchivedWhileSending(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"send", "sent"} {
		for _, before := range []bool{false, true} {
			for _, copied := range []bool{false, true} { // where files have no second names
				d := open(t)
				j := begin(t, d, step(1), end(1, fsm.EndInterrupted))
				if before {
					send(t, d, j.id, carryOn)
				}
				other, err := Open(d.root)
				must(t, err)
				other.step = func(s string) error {
					if s == moment {
						other.step = nil
						must(t, j.Close(t.Context()))
						if copied && moment == "sent" {
							uncopied(t, d, j.id, before)
						}
					}
					return nil
				}
				send(t, other, j.id, holdOn)
				checkSent(t, d, j.id, fmt.Sprintf("%s, copied %v", moment, copied), before)
			}
		}
	}
}

// uncopied takes the newest command out of the archive, as if that had been copied before it was sent.
func uncopied(t *testing.T, d *Store, id persistence.ID, before bool) {
	t.Helper()
	p, err := d.find(id)
	must(t, err)
	b, err := os.ReadFile(p.commands)
	must(t, err)
	if !before {
		must(t, os.Remove(p.commands))
		return
	}
	must(t, os.WriteFile(p.commands, b[:strings.Index(string(b), "\n")+1], 0o600)) //nolint:gosec // a path of the test
}

func checkSent(t *testing.T, d *Store, id persistence.ID, when string, before bool) {
	t.Helper()
	want := "1 pause"
	if before {
		want = "1 unpause, 2 pause"
	}
	for _, s := range []string{"as it is", "tidied", "resumed"} {
		switch s {
		case "tidied":
			must(t, d.Archive(t.Context(), id))
		case "resumed":
			k, _, err := d.Resume(t.Context(), id, persistence.Spec{Loop: "fix"})
			must(t, err)
			defer k.(*journal).die()
		}
		if got := kinds(t, d, id); got != want {
			t.Errorf("sent at %q, %s: %q, want %q", when, s, got, want)
		}
	}
	left, _ := filepath.Glob(filepath.Join(d.running, "*.commands.jsonl"))
	if len(left) != 1 {
		t.Errorf("sent at %q: %q", when, left)
	}
}

// The sender of a command died just as the run was archived. What it left blocks no process: the next sweep removes it.
func TestKilledSender(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		d := open(t)
		j := begin(t, d, step(1), end(1, fsm.EndInterrupted))
		other, err := Open(d.root)
		must(t, err)
		other.step = func(s string) error {
			if s == "sent" {
				return errCrash
			}
			if s == "send" {
				must(t, j.Close(t.Context()))
			}
			return nil
		}
		if _, err := other.Send(t.Context(), j.id, holdOn); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		if removed {
			p, err := d.find(j.id)
			must(t, err)
			must(t, os.RemoveAll(filepath.Dir(p.state)))
		}
		if !disk.Exists(j.files.commands) {
			t.Fatal("nothing is left")
		}
		_, err = d.FinishRemovals(t.Context())
		must(t, err)
		if disk.Exists(j.files.commands) {
			t.Error("it is there still")
		}
		if !removed && kinds(t, d, j.id) != "1 pause" {
			t.Errorf("the archive has %q", kinds(t, d, j.id))
		}
	}
}

// Lines of others in the file of commands, also endless ones, hide no command.
func TestGarbageCommands(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	defer j.die()
	send(t, d, j.id, holdOn)
	f, err := os.OpenFile(j.files.commands, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	for _, line := range []string{
		"\n", "garbage\n", "\x00\xff\n", "{}\n", `{"n": 9, "command": "stop"}` + "\n",
		strings.Repeat("x", 3*persistence.MaxCommand) + "\n",
	} {
		_, err := f.WriteString(line)
		must(t, err)
	}
	must(t, f.Close())
	sent := send(t, d, j.id, carryOn)
	all, err := d.Commands(t.Context(), j.id, 0)
	damage, ok := errors.AsType[*persistence.DamageError](err)
	if len(all) != 2 || all[0].Kind != persistence.CommandPause || all[1].N != sent.N || sent.N != 7 || !ok ||
		damage.File != j.files.commands {
		t.Errorf("%+v, %v", all, err)
	}
	must(t, os.Truncate(j.files.commands, 2<<30))
	if _, err := d.Commands(t.Context(), j.id, 7); err == nil || !strings.Contains(err.Error(), j.files.commands) {
		t.Errorf("of a file without end: %v", err)
	}
}

// An owner that looks again and again does not read what it has read.
func TestCommandsAreReadOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	defer j.die()
	for range 3 {
		send(t, d, j.id, holdOn)
	}
	if n := len(asked(t, d, j.id, 0)); n != 3 {
		t.Fatalf("%d commands", n)
	}
	b, err := os.ReadFile(j.files.commands)
	must(t, err)
	st, err := os.Stat(j.files.commands)
	must(t, err)
	must(t, os.WriteFile(j.files.commands, append([]byte("x"), b[1:]...), 0o600)) // the same file, of the same length
	must(t, os.Chtimes(j.files.commands, st.ModTime(), st.ModTime()))
	if n := len(asked(t, d, j.id, 3)); n != 0 {
		t.Errorf("%d commands", n)
	}
	other, err := Open(d.root)
	must(t, err)
	c := send(t, other, j.id, carryOn)
	if got := asked(t, d, j.id, 3); len(got) != 1 || got[0].N != c.N || c.N != 4 {
		t.Errorf("%+v, want %+v", got, c)
	}
	if _, err := d.Commands(t.Context(), j.id, 0); err == nil {
		t.Error("from the first on it reads all of it, and that is damaged")
	}
}

func asked(t *testing.T, d *Store, id persistence.ID, after uint64) []persistence.Command {
	t.Helper()
	all, err := d.Commands(t.Context(), id, after)
	must(t, err)
	return all
}

func BenchmarkIdleCommands(b *testing.B) {
	for _, n := range []int{0, 3} {
		b.Run(fmt.Sprint("after ", n), func(b *testing.B) {
			d, err := Open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			j, err := d.Create(b.Context(), persistence.Spec{Loop: "fix"})
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close(b.Context()) //nolint:errcheck // it is over
			if err := j.Record(b.Context(), step(1)); err != nil {
				b.Fatal(err)
			}
			for range n {
				if _, err := d.Send(b.Context(), j.Run().ID, holdOn); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, err := d.Commands(b.Context(), j.Run().ID, uint64(n)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
