package persistence

import (
	"bytes"
	"encoding/hex"
	"hash/crc32"
	"sync"

	"loops/fsm"
	"loops/fsm/value"
)

// The journal is events.jsonl. A batch is appended with one write. The last line of a batch that carries the
// machine's memory has one more key at its end, memory (a patch, see patch.go) or memory_full (the whole flat
// object). So the memory of a run is always the memory at some line, whatever byte the file ends at. Each line ends
// with a checksum of itself: without one, a flipped bit in a text would be believed.

var (
	keyMemory = []byte(`"memory"`)
	keyFull   = []byte(`"memory_full"`)
)

// A line is one whole line of a journal, without its end and its checksum, taken apart.
type line struct {
	event  []byte // without memory, as JSON
	memory []byte // nil if there is none
	full   bool
}

// The checksum is CRC-32C of the bytes before it, as the last key of the object. The first line of a part, and the first
// that a process writes, has it under a key of its own: lines without one may stand before it, as those of the reference
// tool and old ones of ours have none; before any other they are damaged.
const (
	sumKey   = `, "crc": "`
	firstKey = `, "crc_first": "`
	sumEnd   = len(`01234567"}`)
)

// appendSum closes a line with its checksum. b[start:] is a JSON object.
func appendSum(b []byte, start int, key string) []byte {
	b = b[:len(b)-len("}")]
	sum := crc32.Checksum(b[start:], castagnoli())
	b = append(b, key...)
	return append(appendHex(b, sum), `"}`...)
}

func appendHex(b []byte, sum uint32) []byte {
	return hex.AppendEncode(b, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// A summed says what the checksum of a line says.
type summed int

const (
	unsummed summed = iota // there is none
	sound
	soundFirst // sound, and lines without one may stand before it
	spoilt
)

// cutSum takes the checksum off a line. What it returns is the object without it, in the memory of b, which is changed;
// b is left alone if there is no checksum that holds.
func cutSum(b []byte) ([]byte, summed) {
	for i, key := range [...]string{sumKey, firstKey} {
		n := len(b) - len(key) - sumEnd
		if n < 1 || string(b[n:n+len(key)]) != key || string(b[len(b)-2:]) != `"}` {
			continue
		}
		var want [8]byte
		if string(appendHex(want[:0], crc32.Checksum(b[:n], castagnoli()))) != string(b[n+len(key):len(b)-2]) {
			return b, spoilt
		}
		b[n] = '}'
		return b[:n+1], sound + summed(i)
	}
	return b, unsummed
}

// seqOf finds the number of an event; 0 = it has none. It does not look at the rest of the line.
func seqOf(event []byte) uint64 {
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

// containsMemory says whether a line that cannot be read may hold memory.
func containsMemory(raw []byte) bool { return bytes.Contains(raw, keyMemory[:len(keyMemory)-1]) }

// parseMemory reads the memory part of a line.
func parseMemory(b []byte) (*value.Map, error) {
	v, err := value.ParseJSON(b)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*value.Map)
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
	crc := crc32.Checksum(body, castagnoli())
	body = append(body, checkKey...)
	return append(appendHex(body, crc), "\"\n}"...)
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
