package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/plain"
)

// shownChanges is how many lines differences has at most.
const shownChanges = 12

// shownText is how many columns of a value are shown.
const shownText = 60

// differences says in a few lines how a definition differs from what it was: which keys and states were added, removed
// or changed. None means that both mean the same.
func differences(was, now *fsm.Loop) []string {
	d := &changeLines{}
	a, b := model(was), model(now)
	d.keys("", a, b, "states")
	d.states(states(a), states(b))
	if len(d.lines) > shownChanges {
		n := len(d.lines) - shownChanges + 1
		d.lines = append(d.lines[:shownChanges-1], fmt.Sprintf("and %d more changes", n))
	}
	return d.lines
}

func states(m *value.Map) *value.Map {
	v, _ := m.Get("states")
	s, _ := v.(*value.Map)
	return s
}

// A changeLines collects the lines of differences.
type changeLines struct{ lines []string }

func (d *changeLines) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// keys compares two mappings key by key, without one of them.
func (d *changeLines) keys(in string, was, now *value.Map, except string) {
	for _, k := range union(was, now) {
		if k == except {
			continue
		}
		a, old := was.Get(k)
		b, new := now.Get(k)
		switch {
		case !old:
			d.add("%s%s was added: %s", in, k, brief(b))
		case !new:
			d.add("%s%s was removed: %s", in, k, brief(a))
		case !same(a, b):
			d.value(in+k, a, b)
		}
	}
}

// value says how a value changed.
func (d *changeLines) value(key string, was, now any) {
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
		d.add("%s, line %d: %s -> %s", key, n, x, y)
		return
	}
	if aText && bText {
		n := commonStart(a, b)
		was, now = a[n:], b[n:]
		if n > 0 {
			was, now = "…"+a[n:], "…"+b[n:]
		}
	}
	d.add("%s: %s -> %s", key, brief(was), brief(now))
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
func (d *changeLines) states(was, now *value.Map) {
	for _, name := range union(was, now) {
		a, old := was.Get(name)
		b, new := now.Get(name)
		switch {
		case !old:
			d.add("state %s was added", name)
		case !new:
			d.add("state %s was removed", name)
		default:
			x, _ := a.(*value.Map)
			y, _ := b.(*value.Map)
			d.keys("state "+name+", ", x, y, "")
		}
	}
}

// union returns the keys of both, in the order of the first.
func union(a, b *value.Map) []string {
	keys := slices.Clone(a.Keys())
	for _, k := range b.Keys() {
		if _, ok := a.Get(k); !ok {
			keys = append(keys, k)
		}
	}
	return keys
}

func same(a, b any) bool {
	return string(value.AppendJSON(nil, a)) == string(value.AppendJSON(nil, b))
}

// brief writes a value in one short line.
func brief(v any) string {
	if s, ok := v.(string); ok {
		return plain.Cut(strconv.Quote(s), shownText)
	}
	return plain.Cut(string(value.AppendJSON(nil, v)), shownText)
}

// firstDifference finds the first line that is another one.
func firstDifference(was, now string) (n int, a, b string) {
	x, y := strings.Split(was, "\n"), strings.Split(now, "\n")
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	line := func(lines []string) string {
		if n < len(lines) {
			return brief(lines[n])
		}
		return "(nothing)"
	}
	return n + 1, line(x), line(y)
}
