package segment

import (
	"bytes"

	"loops/fsm"
)

var (
	keyMemory = []byte(`"memory"`)
	keyFull   = []byte(`"memory_full"`)
)

// A Line is one whole line of a journal, without its end and its checksum, taken apart.
type Line struct {
	Event  []byte // without memory, as JSON
	Memory []byte // nil if there is none
	Full   bool   // Memory is all of it, not a patch
}

// Seq returns the number of an event; 0 = it has none. It does not look at the rest of the line.
func Seq(event []byte) uint64 {
	rest, ok := bytes.CutPrefix(event, []byte(`{"event": "`))
	if !ok {
		return slowSeq(event)
	}
	i := bytes.IndexByte(rest, '"')
	if rest, ok = bytes.CutPrefix(rest[max(i, 0):], []byte(`", "ts": "`)); !ok {
		return slowSeq(event)
	}
	i = bytes.IndexByte(rest, '"')
	if rest, ok = bytes.CutPrefix(rest[max(i, 0):], []byte(`", "seq": `)); !ok {
		return slowSeq(event)
	}
	var n uint64
	for i = 0; i < len(rest) && i < 19 && '0' <= rest[i] && rest[i] <= '9'; i++ {
		n = 10*n + uint64(rest[i]-'0')
	}
	if i == 0 || i == len(rest) || rest[i] != ',' && rest[i] != '}' {
		return slowSeq(event)
	}
	return n
}

func slowSeq(event []byte) uint64 {
	e, err := fsm.ParseEvent(event)
	if err != nil {
		return 0
	}
	return e.Seq
}

// Split takes a line apart. It finds the key at the top level only, because values can hold anything.
func Split(b []byte) Line {
	if !bytes.Contains(b, keyMemory) && !bytes.Contains(b, keyFull) {
		return Line{Event: b}
	}
	depth, comma := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 1 {
				comma = i
			}
		case '"':
			start := i
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth != 1 || i >= len(b) || comma == 0 {
				continue
			}
			key, rest := b[start:i+1], b[i+1:]
			full := bytes.Equal(key, keyFull)
			if !full && !bytes.Equal(key, keyMemory) {
				continue
			}
			if len(bytes.TrimSpace(b[comma+1:start])) > 0 || !bytes.HasPrefix(rest, []byte(": {")) ||
				b[len(b)-1] != '}' {
				continue
			}
			event := make([]byte, 0, comma+1)
			event = append(append(event, b[:comma]...), '}')
			return Line{Event: event, Memory: rest[2 : len(rest)-1], Full: full}
		}
	}
	return Line{Event: b}
}

// IsOutput reports whether a line is a piece of an action's output. Only such lines are kept after the last memory.
func IsOutput(event []byte) bool { return bytes.HasPrefix(event, []byte(`{"event": "action_output"`)) }

// MayHoldMemory reports whether a line that cannot be read may hold memory.
func MayHoldMemory(raw []byte) bool { return bytes.Contains(raw, keyMemory[:len(keyMemory)-1]) }
