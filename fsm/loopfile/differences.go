package loopfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// MostChanges is how many lines differences has at most.
const MostChanges = 12

// shownText is how many columns of a value are shown.
const shownText = 60

// Differences says in a few lines how a definition differs from what it was: which keys and states were added, removed
// or changed. None means that both mean the same.
func Differences(was, now *fsm.Loop) []string {
	d := &Changes{}
	a, b := ObjectOf(was), ObjectOf(now)
	d.keys("", a, b, "states")
	d.states(states(a), states(b))
	if len(d.Lines) > MostChanges {
		n := len(d.Lines) - MostChanges + 1
		d.Lines = append(d.Lines[:MostChanges-1], fmt.Sprintf("and %d more changes", n))
	}
	return d.Lines
}

func states(m *value.Map) *value.Map {
	v, _ := m.Get("states")
	s, _ := v.(*value.Map)
	return s
}

// Changes collects the lines of differences.
type Changes struct{ Lines []string }

// Add adds a line.
func (d *Changes) Add(format string, args ...any) {
	d.Lines = append(d.Lines, fmt.Sprintf(format, args...))
}

// keys compares two mappings key by key, without one of them.
func (d *Changes) keys(in string, was, now *value.Map, except string) {
	for _, k := range KeysOfBoth(was, now) {
		if k == except {
			continue
		}
		a, old := was.Get(k)
		b, new := now.Get(k)
		switch {
		case !old:
			d.Add("%s%s was added: %s", in, k, Brief(b))
		case !new:
			d.Add("%s%s was removed: %s", in, k, Brief(a))
		case !SameValue(a, b):
			d.Value(in+k, a, b)
		}
	}
}

// Value says how a value changed.
func (d *Changes) Value(key string, was, now any) {
	if a, ok := was.(*value.Map); ok {
		if b, ok := now.(*value.Map); ok {
			d.keys(key+".", a, b, "")
			return
		}
	}
	a, aText := was.(string)
	b, bText := now.(string)
	if aText && bText && (strings.Contains(a, "\n") || strings.Contains(b, "\n")) {
		n, x, y := firstDifference(a, b)
		d.Add("%s, line %d: %s -> %s", key, n, x, y)
		return
	}
	if aText && bText {
		n := commonStart(a, b)
		was, now = a[n:], b[n:]
		if n > 0 {
			was, now = "…"+a[n:], "…"+b[n:]
		}
	}
	d.Add("%s: %s -> %s", key, Brief(was), Brief(now))
}

// commonStart returns how much of two texts need not be shown because both begin with it, and are too long to be shown
// whole. Some of what they share is left, up to the beginning of a word.
func commonStart(a, b string) int {
	if max(len(a), len(b)) <= shownText {
		return 0
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	start := strings.LastIndexByte(a[:max(0, n-10)], ' ') + 1
	if n-start > shownText/2 {
		for start = n - 10; !utf8.RuneStart(a[start]); {
			start--
		}
	}
	return start
}

// states compares the states.
func (d *Changes) states(was, now *value.Map) {
	for _, name := range KeysOfBoth(was, now) {
		a, old := was.Get(name)
		b, new := now.Get(name)
		switch {
		case !old:
			d.Add("state %s was added", name)
		case !new:
			d.Add("state %s was removed", name)
		default:
			x, _ := a.(*value.Map)
			y, _ := b.(*value.Map)
			d.keys("state "+name+", ", x, y, "")
		}
	}
}

// KeysOfBoth returns the keys of both, in the order of the first.
func KeysOfBoth(a, b *value.Map) []string {
	keys := slices.Clone(a.Keys())
	for _, k := range b.Keys() {
		if _, ok := a.Get(k); !ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// SameValue reports whether two values mean the same.
func SameValue(a, b any) bool {
	return string(value.AppendJSON(nil, a)) == string(value.AppendJSON(nil, b))
}

// Brief writes a value in one short line.
func Brief(v any) string {
	if s, ok := v.(string); ok {
		return humanize.Cut(strconv.Quote(s), shownText)
	}
	return humanize.Cut(string(value.AppendJSON(nil, v)), shownText)
}

// firstDifference finds the first line that is another one.
func firstDifference(was, now string) (n int, a, b string) {
	x, y := strings.Split(was, "\n"), strings.Split(now, "\n")
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	line := func(lines []string) string {
		if n < len(lines) {
			return Brief(lines[n])
		}
		return "(nothing)"
	}
	return n + 1, line(x), line(y)
}
