package persistence

import (
	"bytes"
	"encoding/hex"
	"hash/crc32"
	"sync"

	"loops/fsm"
)

// The journal is events.jsonl. A batch is appended with one write. The last line of a batch that carries the
// machine's memory has one more key at its end, memory (a patch, see patch.go) or memory_full (the whole flat
// object). So the memory of a run is always the memory at some line, whatever byte the file ends at.

var (
	keyMemory = []byte(`"memory"`)
	keyFull   = []byte(`"memory_full"`)
)

// A line is one whole line of a journal, without its end, taken apart.
type line struct {
	event  []byte // without memory, as JSON
	memory []byte // nil if there is none
	full   bool
}

// splitLine takes a line apart. It finds the key at the top level only, because values can hold anything.
func splitLine(b []byte) line {
	if !bytes.Contains(b, keyMemory) && !bytes.Contains(b, keyFull) {
		return line{event: b}
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
			if len(bytes.TrimSpace(b[comma+1:start])) > 0 || !bytes.HasPrefix(rest, []byte(": {")) || b[len(b)-1] != '}' {
				continue
			}
			event := make([]byte, 0, comma+1)
			event = append(append(event, b[:comma]...), '}')
			return line{event: event, memory: rest[2 : len(rest)-1], full: full}
		}
	}
	return line{event: b}
}

// isOutput says whether a line is a piece of an action's output. Only such lines are kept behind the last memory.
func isOutput(event []byte) bool { return bytes.HasPrefix(event, []byte(`{"event": "action_output"`)) }

// parseMemory reads the memory part of a line.
func parseMemory(b []byte) (*fsm.Map, error) {
	v, err := fsm.ParseJSON(b)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*fsm.Map)
	if !ok {
		return nil, wrong("an object", v)
	}
	return m, nil
}

// The last key of a state file that this program wrote is a checksum of the bytes before it: a flipped bit makes
// the file damaged, not a memory of something that never was.

// castagnoli is made when it is first needed: its tables take as long as the rest of a start.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

const checkKey = ",\n  \"check\": \""

func appendCheck(state []byte) []byte {
	body := state[:len(state)-len("\n}")]
	var sum [4]byte
	crc := crc32.Checksum(body, castagnoli())
	sum[0], sum[1], sum[2], sum[3] = byte(crc>>24), byte(crc>>16), byte(crc>>8), byte(crc)
	body = append(body, checkKey...)
	body = hex.AppendEncode(body, sum[:])
	return append(body, "\"\n}"...)
}

// checked says whether the checksum of a state file holds. Files of the reference tool have none.
func checked(state []byte) (ours, ok bool) {
	i := bytes.LastIndex(state, []byte(checkKey))
	if i < 0 {
		return false, false
	}
	again := appendCheck(append(bytes.Clone(state[:i]), "\n}"...))
	return true, bytes.Equal(again, state)
}
