package agent

import (
	"bytes"
	"encoding/json"
)

// printed keeps the end of what a host prints on standard output outside of its events, as programs do that fail before
// they have read how they are to print. The zero value is ready.
type printed struct{ tail []byte }

// add takes a line that is no event. One that is JSON, or the beginning of an object, is left out: it may hold what the
// model said.
func (p *printed) add(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '{' || bytes.HasPrefix(line, []byte("[{")) || json.Valid(line) {
		return
	}
	p.tail = append(append(p.tail, line[max(0, len(line)-maxSaid):]...), '\n')
	if over := len(p.tail) - 2*maxSaid; over > 0 {
		p.tail = append(p.tail[:0], p.tail[over:]...)
	}
}

// of adds to an Exit what was printed. It says something only about a process that failed: one that succeeds may have
// printed anything.
func (p *printed) of(x Exit) Exit {
	if x.Code != 0 && !x.Stopped {
		x.printed = string(p.tail)
	}
	return x
}

// said is what a host that exited said about it outside of its events.
func (x Exit) said() string {
	err := lastLines(x.Stderr)
	if m := errorObject(x.Stderr); m != "" {
		err = m
	}
	out := lastLines(x.printed)
	switch {
	case out == "":
		return err
	case err == "":
		return out
	}
	// What is on standard error alone may be notices, and then the other is what people want to read.
	if failed(0, err).Class != Other {
		return err + "\n" + out
	}
	return out + "\n" + err
}
