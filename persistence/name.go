package persistence

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

const (
	stampLayout = "20060102T150405" // in an ID, UTC
	maxStem     = 200               // bytes: leaves room for .commands.jsonl in a file name of 255
)

// RunIDLayout is how the run id of a run says when it began, in UTC.
const RunIDLayout = "2006-01-02T150405"

// EncodeLoop makes a loop's name fit for a file name, so that DecodeLoop gives it back. Names of letters,
// digits, dots, dashes and the like stay as they are.
func EncodeLoop(loop string) string {
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

// DecodeLoop returns the name of a loop that EncodeLoop made a file name of.
func DecodeLoop(name string) string {
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

// MakeID returns the ID of a run of a loop that begins in a second, if no one else has it.
func MakeID(loop string, at time.Time) ID {
	return ID(EncodeLoop(loop) + "-" + at.UTC().Format(stampLayout))
}

// MakeRunID returns the run id of a run that begins in a second.
func MakeRunID(at time.Time) string { return at.UTC().Format(RunIDLayout) }

// ParseRunID returns the second that a run id names.
func ParseRunID(s string) (time.Time, error) { return time.Parse(RunIDLayout, s) }

// IsRunID reports whether [ParseRunID] takes s, in a tenth of the time: the names of an archive may be a
// hundred thousand.
func IsRunID(s string) bool {
	if !shaped(s, "dddd-dd-dd-dddddd", 'T') {
		return false
	}
	n := func(at int) byte { return 10*(s[at]-'0') + s[at+1] - '0' }
	month, day := n(5), n(8)
	if month < 1 || month > 12 || day < 1 || n(11) > 23 || n(13) > 59 || n(15) > 59 {
		return false
	}
	if day <= 28 {
		return true
	}
	_, err := ParseRunID(s)
	return err == nil
}

// SplitID takes an ID apart. ok is false for the bare names of old files, which are a loop's name alone.
func SplitID(id ID) (loop string, at time.Time, ok bool) {
	s := string(id)
	i := len(s) - len(stampLayout) - 1
	if i < 1 || s[i] != '-' || !shaped(s[i+1:], "dddddddd-dddddd", 'T') {
		return DecodeLoop(s), time.Time{}, false
	}
	at, err := time.Parse(stampLayout, s[i+1:])
	if err != nil {
		return DecodeLoop(s), time.Time{}, false
	}
	return DecodeLoop(s[:i]), at, true
}

// shaped reports whether s looks like shape: d is a digit, - is itself, and the last - before the time of day is sep.
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

// Valid reports whether an ID can be the name of a folder that does not lead out of another.
func (id ID) Valid() bool {
	s := string(id)
	return s != "" && s != "." && filepath.IsLocal(filepath.FromSlash(s)) && !strings.ContainsRune(s, 0)
}
