package dirstore

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence/dirstore/segment"
	"loops/persistence/snapshot"
)

// lost stands for a log that can no longer be read.
const lost = `{"event": "` + fsm.EventLogTruncated + `"}`

// fillLogs puts the logs that are only counted back in their places. What is damaged does not keep the run from
// continuing: the log says so in its place, and so does the run. A file that cannot be read is an error.
func (l *loaded) fillLogs(flat *value.Map) error {
	start := int64(-1)
	snapshot.EachLog(flat, nil, func(_, _ *value.Map, log any) {
		if _, from, ok := snapshot.Counted(log); ok && (start < 0 || from < start) {
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
		j.l.note(path, "%s", disk.Reason(err))
	case err != nil:
		return err
	}
	whole := !j.lost && j.good == end && !l.short
	snapshot.EachLog(flat, j.flat, func(child, was *value.Map, log any) {
		want, _, ok := snapshot.Counted(log)
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
	f, err := disk.Open(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if ok, err := segment.LineEnds(f, start); !ok || start > end {
		return err
	}
	j.file = path
	return j.readLines(segment.NewScanner(io.NewSectionReader(f, start, end-start), segment.Position{At: start}))
}
