package action

import (
	"bufio"
	"fmt"
	"os"
)

// logMost is how much of a host's stream its log holds.
const logMost = 64 << 20

// A rawLog is a file with every line a host prints, so that no output is lost because it could not be parsed. A
// log that cannot be written is given up: work that is paid for does not end because of it.
type rawLog struct {
	create func() (*os.File, error) // nil: no log
	file   *os.File
	w      *bufio.Writer
	size   int64
	missed int64  // bytes that are not in it
	last   []byte // the last of the lines that are not, if it is short: it says how the stream ended
}

func (l *rawLog) line(b []byte) {
	if l.create == nil {
		return
	}
	if l.size+int64(len(b)) > logMost || l.missed > 0 {
		l.missed += int64(len(b)) + 1
		l.last = l.last[:0]
		if len(b) <= batchSize {
			l.last = append(l.last, b...)
		}
		return
	}
	l.write(b)
}

// note writes a line of our own.
func (l *rawLog) note(text string) {
	if l.create != nil {
		l.write([]byte("[" + text + "]"))
	}
}

func (l *rawLog) write(b []byte) {
	if l.file == nil {
		f, err := l.create()
		if err != nil {
			l.create = nil
			return
		}
		l.file, l.w = f, bufio.NewWriterSize(f, 16<<10)
	}
	_, _ = l.w.Write(b)
	if l.w.WriteByte('\n') != nil {
		l.giveUp()
	}
	l.size += int64(len(b)) + 1
}

func (l *rawLog) giveUp() {
	_ = l.file.Close()
	l.create, l.file, l.w = nil, nil, nil
}

// flush writes what waits, so that the log can be read while the host is thinking.
func (l *rawLog) flush() {
	if l.w != nil && l.w.Flush() != nil {
		l.giveUp()
	}
}

func (l *rawLog) end() {
	if l.missed > 0 {
		l.note(fmt.Sprintf("%d bytes are missing here: a log holds %d; the last line was:", l.missed, logMost))
		if l.create != nil && len(l.last) > 0 {
			l.write(l.last)
		}
	}
	if l.flush(); l.file != nil {
		l.giveUp()
	}
}
