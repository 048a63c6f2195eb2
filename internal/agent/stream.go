package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// object decodes a line that is a JSON object into v and reports whether it is one. A field of an unexpected kind is
// left as it was: hosts change their events, and what can be read of one is worth more than nothing.
func object(line []byte, v any) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	err := json.Unmarshal(line, v)
	var kind *json.UnmarshalTypeError
	return err == nil || errors.As(err, &kind)
}

// ended gives a text of a stream the line end it needs before others.
func ended(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// head keeps the beginning of a text.
func head(s string, most int) string {
	if len(s) > most {
		return strings.Clone(s[:most])
	}
	return s
}

// minus is what was used since counted was read. A host that has counted less than before has begun again.
func (u Usage) minus(counted Usage) Usage {
	d := Usage{
		u.Input - counted.Input, u.Output - counted.Output, u.CacheRead - counted.CacheRead,
		u.CacheWrite - counted.CacheWrite,
	}
	if d.Input < 0 || d.Output < 0 || d.CacheRead < 0 || d.CacheWrite < 0 {
		return u
	}
	return d
}

func (u Usage) plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

func (u Usage) total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }
