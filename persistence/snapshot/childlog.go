package snapshot

import (
	"loops/fsm"
	"loops/fsm/value"
)

// The log of a sub-loop grows with every event. In the journal each line of it is written once, but state.json is
// written whole at every checkpoint. So there a long log is only Counted: {"lines": n, "from": offset}, where the batch
// with the whole memory on which the later lines build begins at that offset of the journal.

// LogFrom is the length in bytes over which a log is only Counted in state.json.
const LogFrom = 8 << 10

// log writes a sub-loop's log, or how long it is.
func (e *Writer) log(lines []string) bool {
	if e.Brief {
		size := 0
		for _, s := range lines {
			if size += len(s); size > LogFrom {
				return e.Value(value.NewMap("lines", len(lines), "from", e.Whole))
			}
		}
	}
	return e.texts(lines)
}

// Counted reports whether a log is only Counted.
func Counted(v any) (lines, from int64, ok bool) {
	m, _ := v.(*value.Map)
	a, _ := m.Get("lines")
	b, _ := m.Get("from")
	lines, ok1 := a.(int64)
	from, ok2 := b.(int64)
	return lines, from, ok1 && ok2 && lines > 0 && from >= 0
}

func takeLog(to *[]string, v any) error {
	if _, _, ok := Counted(v); ok {
		return nil // it was not asked for
	}
	return takeTexts(to, v)
}

func addLog(child *value.Map, v any) error {
	old, _ := child.Get("log")
	lines, from, ok := Counted(old)
	if !ok {
		return addTexts(child, "log", v)
	}
	more, ok := v.([]any)
	if !ok {
		return wrong("a list", v)
	}
	child.Set("log", value.NewMap("lines", lines+int64(len(more)), "from", from))
	return nil
}

// EachLog calls f with the logs of all sub-loops in two flat objects, outermost first. other may be shorter.
func EachLog(flat, other *value.Map, f func(child, other *value.Map, log any)) {
	for depth := 0; depth < fsm.MaxDepth; depth++ {
		child, was := inside(flat, "sub_loop"), inside(other, "sub_loop")
		if child == nil {
			return
		}
		log, _ := child.Get("log")
		f(child, was, log)
		flat, other = inside(child, "memory"), inside(was, "memory")
	}
}

func inside(m *value.Map, key string) *value.Map {
	v, _ := m.Get(key)
	x, _ := v.(*value.Map)
	return x
}
