package engine

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/process"
	"loops/persistence"
	"loops/reconcile"
)

// A strangerError means that the process with a recorded pid is not known to be the one that was recorded.
type strangerError struct {
	pid int
	why string
}

func (e *strangerError) Error() string {
	return fmt.Sprintf("pid %d, which is recorded as its process, %s; nothing was signalled", e.pid, e.why)
}

// A locker is a store whose runs are owned by the process that holds a file locked.
type locker interface {
	LockInfo(id persistence.ID) (fs.FileInfo, error)
}

// tellRun sends signals to the process that owns a run, and to no other: one that holds its lock, or that
// started when it is recorded to have, or that is little-loops and no younger than its record. verb is what
// they are for.
func tellRun(store *project.Records, r persistence.Run, verb string, signals ...syscall.Signal) error {
	owner, err := owner(store, r)
	if err != nil {
		return refuse(Failed, "cannot %s run %s: %v. See what it is: ps -fp %d", verb, r.ID, err, r.Owner.PID)
	}
	for _, s := range signals {
		if err := owner.Signal(s); err != nil {
			return refuse(Failed, "cannot %s run %s: signal to pid %d: %v", verb, r.ID, owner.PID, err)
		}
	}
	return nil
}

// owner returns the process that owns a run, once it is known to be the one that was recorded.
func owner(store *project.Records, r persistence.Run) (process.Identity, error) {
	id := reconcile.Identity(r.Owner)
	if r.Foreign {
		return id, LittleLoops(r.Owner.PID, r.UpdatedAt)
	}
	if files, ok := store.Store.(locker); ok && r.Held {
		lock, err := files.LockInfo(r.ID)
		return HolderOf(id, lock, err, "does not hold its lock")
	}
	if id.StartMS == 0 {
		return id, &strangerError{id.PID, "cannot be told apart from others, because its start time is not recorded"}
	}
	return id, nil
}

// HolderOf returns a process that is recorded in a file which it holds locked.
func HolderOf(id process.Identity, file fs.FileInfo, err error, otherwise string) (process.Identity, error) {
	if err != nil {
		return id, &strangerError{id.PID, otherwise}
	}
	switch open, known := process.Opened(id.PID, file); {
	case known && !open:
		return id, &strangerError{id.PID, otherwise}
	case known || !id.Exact():
		id.StartMS = 0 // the lock is more reliable than the start, which may move when the clock is set
	}
	return id, nil
}

// LittleLoops is nil for a process that runs little-loops and did not start after it was recorded.
func LittleLoops(pid int, recorded time.Time) error {
	words := process.CommandLine(pid)
	switch {
	case len(words) == 0:
		return &strangerError{pid, "is of little-loops, and its command line cannot be read"}
	case !runsLittleLoops(words):
		return &strangerError{
			pid,
			fmt.Sprintf("is not little-loops, but %s", humanize.PlainLine(filepath.Base(words[0]))),
		}
	case recorded.IsZero() || process.StartedAfter(pid, recorded):
		return &strangerError{pid, "started after it was recorded"}
	}
	return nil
}

// runsLittleLoops reports whether a command line is one of little-loops: ll-loop by itself, or as the script or
// the module that Python runs.
func runsLittleLoops(words []string) bool {
	program := filepath.Base(words[0])
	if program == "ll-loop" {
		return true
	}
	if !strings.HasPrefix(program, "python") && !strings.HasPrefix(program, "pypy") {
		return false
	}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-m":
			return i+1 < len(words) && littleLoopsModule(words[i+1])
		case word == "-X" || word == "-W":
			i++
		case strings.HasPrefix(word, "-"):
			if word == "-c" {
				return false
			}
		default:
			module := strings.ReplaceAll(strings.TrimSuffix(word, ".py"), "/", ".")
			return filepath.Base(word) == "ll-loop" || littleLoopsModule(module)
		}
	}
	return false
}

func littleLoopsModule(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".__main__"), ".__init__")
	return name == "little_loops.cli.loop" || strings.HasSuffix(name, ".little_loops.cli.loop")
}
