package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"loops/engine"
	"loops/engine/project"
	"loops/persistence"
	"loops/persistence/sqlstore"
)

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		has  string
	}{
		{nil, 0, ""},
		{usageError{"bad flag", "loops run --help"}, 2, "bad flag\nTry: loops run --help"},
		{exitError{code: 5}, 5, ""},
		{failure(engine.Invalid, "no %s", "way"), 3, "no way"},
		{fmt.Errorf("x: %w", persistence.ErrNotFound), 4, "no such run"},
		{&persistence.HeldError{ID: "a-1", Owner: persistence.Owner{PID: 7}}, 9, "pid 7"},
		{&persistence.ConflictError{Holder: "a-1", Path: "/p", Owner: persistence.Owner{PID: 7}}, 9, "loops stop a-1"},
		{fmt.Errorf("x: %w", persistence.ErrBusy), 9, "then try again"},
		{&persistence.NotResumableError{ID: "a-1", Status: persistence.Completed}, 4, "completed"},
		{&persistence.DamageError{File: "f", What: "w"}, 74, "left as it is"},
		{
			&persistence.UnreadableError{Store: "runs.db", Err: errors.New("malformed")}, 74,
			"runs.db: damaged: malformed; the file was left as it is",
		},
		{
			&persistence.DamageError{File: "f", Offset: 7, What: "w"}, 74,
			"f: damaged at byte 7: w; the file was left as it is",
		},
		{&persistence.DamageError{File: "f", Offset: -1, What: "w"}, 74, "f: damaged: w; the file was left as it is"},
		{
			project.DatabaseError{Err: &sqlstore.VersionError{Database: "x.db", Has: 2, Knows: 1}},
			74,
			"the database of runs cannot be used: x.db has version 2, and this program knows versions up to 1: it " +
				"was made by a newer one, use that",
		},
		{&fs.PathError{Op: "open", Path: "f", Err: syscall.ENOSPC}, 74, "free space"},
		{&fs.PathError{Op: "open", Path: "f", Err: syscall.EROFS}, 74, "make it writable"},
		{
			&fs.PathError{Op: "open", Path: "f", Err: syscall.EACCES}, 74,
			"give this user the right to read and write there",
		},
		{&fs.PathError{Op: "open", Path: "f", Err: syscall.ENOTDIR}, 74, "not a directory"},
		{errors.New("odd"), 1, "odd"},
	} {
		code, text := explain(c.err)
		if code != c.code || !strings.Contains(text, c.has) || c.has == "" && text != "" {
			t.Errorf("%v: %d %q, want %d %q", c.err, code, text, c.code, c.has)
		}
	}
}
