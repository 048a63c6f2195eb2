package persistence

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"loops/fsm"
	"loops/fsm/value"
)

// The log of a sub-loop grows with every event. In the journal each line of it stands once, but state.json is written
// whole at every checkpoint. So there a long log is only counted: {"lines": n, "from": offset}, where the batch with the
// whole memory on which the later lines build begins at that offset of the journal.

// logFrom is the length in bytes over which a log is only counted in state.json.
const logFrom = 8 << 10

// log writes a sub-loop's log, or how long it is.
func (e *encoder) log(lines []string) bool {
	if e.brief {
		size := 0
		for _, s := range lines {
			if size += len(s); size > logFrom {
				return e.value(value.NewMap("lines", len(lines), "from", e.whole))
			}
		}
	}
	return e.texts(lines)
}

// counted says whether a log is only counted.
func counted(v any) (lines, from int64, ok bool) {
	m, _ := v.(*value.Map)
	a, _ := m.Get("lines")
	b, _ := m.Get("from")
	lines, ok1 := a.(int64)
	from, ok2 := b.(int64)
	return lines, from, ok1 && ok2 && lines > 0 && from >= 0
}

func takeLog(to *[]string, v any) error {
	if _, _, ok := counted(v); ok {
		return nil // nobody asked for it
	}
	return takeTexts(to, v)
}

func addLog(child *value.Map, v any) error {
	old, _ := child.Get("log")
	lines, from, ok := counted(old)
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

// eachLog calls f with the logs of all sub-loops in two flat objects, outermost first. other may be shorter.
func eachLog(flat, other *value.Map, f func(child, other *value.Map, log any)) {
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

// lost stands for a log that cannot be read any more.
const lost = `{"event": "` + fsm.EventLogTruncated + `"}`

// fillLogs puts the logs that are only counted back in their places. What is damaged does not keep the run from continuing: the
// log tells so in its place, and so does the run. A file that cannot be read is an error.
func (l *loaded) fillLogs(flat *value.Map) error {
	start := int64(-1)
	eachLog(flat, nil, func(_, _ *value.Map, log any) {
		if _, from, ok := counted(log); ok && (start < 0 || from < start) {
			start = from
		}
	})
	if start < 0 {
		return nil
	}
	path, end := l.logFile, l.logEnd
	j := &journalReader{l: &loaded{}, open: true}
	switch err := j.readBetween(path, start, end); {
	case errors.Is(err, fs.ErrNotExist):
		j.l.note(path, "%s", errText(err))
	case err != nil:
		return err
	}
	whole := !j.lost && j.good == end && !l.short
	eachLog(flat, j.flat, func(child, was *value.Map, log any) {
		want, _, ok := counted(log)
		if !ok {
			return
		}
		v, _ := was.Get("log")
		if lines, _ := v.([]any); !whole || int64(len(lines)) != want {
			v, l.gap = []any{lost}, true
		}
		child.Set("log", v)
	})
	if l.gap {
		l.note(path, "the log of a sub-loop, which begins at byte %d, cannot be read", start)
		l.damage = append(l.damage, j.l.damage...)
	}
	return nil
}

func (j *journalReader) readBetween(path string, start, end int64) error {
	f, err := OpenRecord(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if ok, err := lineEnd(f, start); !ok || start > end {
		return err
	}
	j.file = path
	return j.readLines(newScanner(io.NewSectionReader(f, start, end-start), start, 0, false))
}
