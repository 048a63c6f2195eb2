package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loops/persistence"
)

// Issue 35 §1.13: an answer whose fdatasync failed once was refused as not recorded, and the run took it.
func TestSendWhoseSyncFails(t *testing.T) {
	t.Parallel()
	disk := error(syscall.EIO)
	for what, c := range map[string]struct {
		fail   string // what is synced, and which time, as it fails
		before int    // commands that were sent before
		unsure bool
	}{
		"the line of the first":   {"commands.jsonl 1", 0, false},
		"the name of the file":    {".running 1", 0, false},
		"the end of the first":    {"commands.jsonl 2", 0, true},
		"the line of another one": {"commands.jsonl 1", 2, false},
		"the end of another one":  {"commands.jsonl 2", 2, true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			j := begin(t, d, step(1))
			defer j.Close(t.Context()) //nolint:errcheck // the run is not looked at
			pause := persistence.Command{Kind: persistence.CommandPause, Segment: persistence.AnySegment}
			for range c.before {
				_, err := d.Send(t.Context(), j.id, pause)
				must(t, err)
			}
			seen := make(map[string]int)
			broken := true
			d.synced = func(path string) error {
				name := filepath.Base(path)
				if strings.HasSuffix(name, commandsSuffix) {
					name = commandsFile
				}
				seen[name]++
				if broken && c.fail == name+" "+string(rune('0'+seen[name])) {
					return disk
				}
				return nil
			}
			_, err := d.Send(t.Context(), j.id, pause)
			_, unsure := errors.AsType[*persistence.UncertainError](err)
			if !errors.Is(err, disk) || unsure != c.unsure {
				t.Fatalf("Send: %v, want the error of the disk, and that it is uncertain: %v", err, c.unsure)
			}
			want := c.before
			if c.unsure {
				want++
			}
			// one that knows the file, and one that does not
			for _, reader := range []*Store{d, {running: d.running, history: d.history, runs: d.runs}} {
				all, err := reader.Commands(t.Context(), j.id, 0)
				if err != nil || len(all) != want {
					t.Errorf("the run takes %d commands, %v; want %d", len(all), err, want)
				}
			}
			broken = false
			sent, err := d.Send(t.Context(), j.id, pause)
			must(t, err)
			all, err := d.Commands(t.Context(), j.id, 0)
			if err != nil || sent.N != uint64(want+1) || len(all) != want+1 {
				t.Errorf("after that Send gives number %d, and there are %d commands, %v; want %d", sent.N, len(all),
					err, want+1)
			}
		})
	}
}

// A command that was written is not refused as not recorded when the look for the run, after that, fails.
func TestSendWhoseLookFails(t *testing.T) {
	t.Parallel()
	d := open(t)
	j := begin(t, d, step(1))
	defer j.Close(t.Context()) //nolint:errcheck // the run is not looked at
	d.step = func(name string) error {
		if name == "sent" {
			return syscall.EIO
		}
		return nil
	}
	_, err := d.Send(t.Context(), j.id,
		persistence.Command{Kind: persistence.CommandPause, Segment: persistence.AnySegment})
	if _, unsure := errors.AsType[*persistence.UncertainError](err); !unsure {
		t.Errorf("Send: %v, want that the command may have been recorded", err)
	}
}

// Lines of the store's other files are taken back, too, when they cannot be made durable.
func TestLinesAreTakenBack(t *testing.T) {
	t.Parallel()
	for what, add := range map[string]func(d *Store, n int) (string, error){
		"marks": func(d *Store, n int) (string, error) {
			return d.marksPath(), d.addMarks([]byte(strings.Repeat("x\n", n)))
		},
		"removed ids": func(d *Store, n int) (string, error) {
			id := persistence.ID([]string{"", "2026-01-02T030405-fix", "2026-01-02T030406-fix"}[n])
			return d.retiredFile("fix"), d.retire(id)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			must(t, d.folder(d.running))
			path, err := add(d, 1)
			must(t, err)
			before, err := os.ReadFile(path)
			must(t, err)
			d.synced = func(string) error { return syscall.EIO }
			if _, err := add(d, 2); !errors.Is(err, syscall.EIO) {
				t.Fatalf("%v, want the error of the disk", err)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the file has %q, %v; want %q", after, err, before)
			}
		})
	}
}
