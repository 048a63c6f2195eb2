package persistence

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

const (
	stampLayout = "20060102T150405"   // in an ID, UTC
	runIDLayout = "2006-01-02T150405" // in the name of an archive folder, UTC
	maxStem     = 200                 // bytes: leaves room for .events.jsonl in a file name of 255
)

// encodeLoop makes a loop's name fit for a file name, so that decodeLoop gives it back. Names of letters,
// digits, dots, dashes and the like stay as they are.
func encodeLoop(loop string) string {
	var b strings.Builder
	for i := range len(loop) {
		c := loop[i]
		if c == '/' || c == '%' || c == '\\' || c < ' ' || c == 0x7f || c == '.' && i == 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func decodeLoop(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			var c byte
			if n, err := fmt.Sscanf(name[i+1:i+3], "%02X", &c); n == 1 && err == nil {
				b.WriteByte(c)
				i += 2
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

func makeID(loop string, at time.Time) ID {
	return ID(encodeLoop(loop) + "-" + at.UTC().Format(stampLayout))
}

func makeRunID(at time.Time) string { return at.UTC().Format(runIDLayout) }

func parseRunID(s string) (time.Time, error) { return time.Parse(runIDLayout, s) }

// splitID takes an ID apart. ok is false for the bare names of old files, which are a loop's name alone.
func splitID(id ID) (loop string, at time.Time, ok bool) {
	s := string(id)
	i := len(s) - len(stampLayout) - 1
	if i < 1 || s[i] != '-' || !shaped(s[i+1:], "dddddddd-dddddd", 'T') {
		return decodeLoop(s), time.Time{}, false
	}
	at, err := time.Parse(stampLayout, s[i+1:])
	if err != nil {
		return decodeLoop(s), time.Time{}, false
	}
	return decodeLoop(s[:i]), at, true
}

// folderName is the name of a run's folder in the archive.
func folderName(runID, loop string) string { return runID + "-" + encodeLoop(loop) }

// splitFolder takes the name of an archive folder apart: 2026-11-21T103405-fix.
func splitFolder(name string) (runID, loop string, ok bool) {
	n := len(runIDLayout)
	if len(name) < n+2 || name[n] != '-' || !shaped(name[:n], "dddd-dd-dd-dddddd", 'T') {
		return "", "", false
	}
	return name[:n], decodeLoop(name[n+1:]), true
}

// shaped says whether s looks like shape: d is a digit, - is itself, and the last - before the time of day is sep.
func shaped(s, shape string, sep byte) bool {
	if len(s) != len(shape) {
		return false
	}
	last := strings.LastIndexByte(shape, '-')
	for i := range len(s) {
		switch {
		case shape[i] == 'd':
			if s[i] < '0' || s[i] > '9' {
				return false
			}
		case i == last:
			if s[i] != sep {
				return false
			}
		case s[i] != shape[i]:
			return false
		}
	}
	return true
}

// livePaths are the files of one run among the running ones.
type livePaths struct{ state, events, parts, aside, pid, lock, torn, meta, removed, commands string }

func (d *Dir) live(id ID) livePaths {
	p := filepath.Join(d.running, filepath.FromSlash(string(id)))
	return livePaths{
		p + ".state.json", p + ".events.jsonl", p + ".events", p + ".damaged", p + ".pid", p + ".lock", p + ".torn",
		p + ".meta-eval.jsonl", p + removedSuffix, p + commandsSuffix,
	}
}

// work is the working folder of a run.
func (d *Dir) work(id ID) string { return filepath.Join(d.runs, filepath.FromSlash(string(id))) }

// valid refuses IDs that would lead out of the directory.
func (id ID) valid() bool {
	s := string(id)
	return s != "" && s != "." && filepath.IsLocal(filepath.FromSlash(s)) && !strings.ContainsRune(s, 0)
}
