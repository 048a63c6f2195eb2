package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/persistence"
)

// An emptied store says of every run that it took 100 bytes, and of removing it what it is told to.
type emptied struct {
	persistence.Store
	err error
}

func (s emptied) Size(context.Context, persistence.ID) (int64, error) { return 100, nil }
func (s emptied) Remove(context.Context, persistence.ID) error        { return s.err }

// The logs of a run count for its size and go with it, and with no other.
func TestLogsOfARun(t *testing.T) {
	mine := []string{"x-20260101T000000.log", "x-20260101T000000.log.1", "x-20260101T000000.log.3"}
	others := []string{
		"x-20260101T000000.log-20260101T000000.log", "x-20260101T0000001.log", "x-20260101T000001.log", "x-y-20260101T000000.log",
		"y-x-20260101T000000.log",
	}
	remains := &persistence.RemainsError{ID: "x-20260101T000000", Err: errors.New("a folder")}
	for _, c := range []struct {
		name  string
		err   error
		id    persistence.ID
		size  int64
		stays []string
		want  string
	}{
		{"removed", nil, "x-20260101T000000", 112, others, ""},
		{"held", &persistence.HeldError{ID: "x-20260101T000000"}, "x-20260101T000000", 112, slices.Concat(mine, others), "is owned by a live process"},
		{"its folder remains", remains, "x-20260101T000000", 112, others, "not all of its files: a folder"},
		{"no log", nil, "z-20260101T000000", 100, slices.Concat(mine, others), ""},
		{"not an id", nil, "../logs/x-20260101T000000", 100, slices.Concat(mine, others), ""},
	} {
		dir := filepath.Join(t.TempDir(), "logs")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Concat(mine, others) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r := records{Store: emptied{err: c.err}, logs: dir}
		if n, err := r.Size(t.Context(), c.id); n != c.size || err != nil {
			t.Errorf("%s: %d bytes, %v; want %d", c.name, n, err, c.size)
		}
		err := r.Remove(t.Context(), c.id)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		var left []string
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			left = append(left, e.Name())
		}
		slices.Sort(c.stays)
		if !slices.Equal(left, c.stays) {
			t.Errorf("%s: there are %v, want %v", c.name, left, c.stays)
		}
	}
}

// A log that cannot be removed is told.
func TestLogRemains(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "x.log", "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := records{Store: emptied{}, logs: dir}.Remove(t.Context(), "x")
	if _, is := errors.AsType[*persistence.RemainsError](err); !is || !strings.Contains(err.Error(), "x.log") {
		t.Error(err)
	}
}
