package cli

import (
	"fmt"
	"strings"

	"loops/fsm"
)

// text returns a value of an event as people read it: text as it is, nothing for null.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(fsm.AppendJSON(nil, v))
}

// pairs returns the fields of an event as k=v, without the named ones.
func pairs(e fsm.Event, without ...string) string {
	var b strings.Builder
next:
	for _, f := range e.Fields {
		for _, w := range without {
			if f.Key == w {
				continue next
			}
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%s", f.Key, firstLine(text(f.Value)))
	}
	return b.String()
}

// lastLines returns the last n lines of text.
func lastLines(s string, n int) string {
	end := len(s)
	for range n {
		i := strings.LastIndexByte(s[:end], '\n')
		if i < 0 {
			return s
		}
		end = i
	}
	return s[end+1:]
}

// noteText is an event that says something to a person.
func noteText(e fsm.Event) string {
	message := text(e.Get("message"))
	if message == "" {
		return "note: " + pairs(e)
	}
	until, err := fsm.ParseTime(text(e.Get("until")))
	if err != nil {
		return message
	}
	return message + "; waiting until " + clock(until)
}
