package snapshot

import (
	"encoding/hex"
	"errors"
	"hash/crc32"
)

// errSum means that bytes are not those that were recorded.
var errSum = errors.New("the checksum does not hold")

// AppendSum closes b[start:], a JSON object, with its checksum as its last key, as a line of the journal has it.
func AppendSum(b []byte, start int) []byte { return appendSum(b, start, sumKey) }

// AppendFirstSum is AppendSum of the first line of a file, and of the first that a process writes.
func AppendFirstSum(b []byte, start int) []byte { return appendSum(b, start, firstKey) }

// CutSum returns an object without the checksum that AppendSum gave it, or why it cannot be believed. What it
// returns is in the memory of b, which is changed.
func CutSum(b []byte) ([]byte, error) {
	text, is := Cut(b)
	if is != Sound {
		return nil, errSum
	}
	return text, nil
}

// The checksum is CRC-32C of the bytes before it, as the last key of the object. The first line of a part, and
// the first that a process writes, has it under a key of its own: lines without one may stand before it, as
// those of little-loops and old ones of ours have none; before any other they are damaged.
const (
	sumKey   = `, "crc": "`
	firstKey = `, "crc_first": "`
	sumEnd   = len(`01234567"}`)
)

// appendSum closes a line with its checksum. b[start:] is a JSON object.
func appendSum(b []byte, start int, key string) []byte {
	b = b[:len(b)-len("}")]
	sum := crc32.Checksum(b[start:], crc32.MakeTable(crc32.Castagnoli))
	b = append(b, key...)
	return append(AppendHex(b, sum), `"}`...)
}

// AppendHex appends the eight digits of a checksum.
func AppendHex(b []byte, sum uint32) []byte {
	return hex.AppendEncode(b, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// A Sum is what the checksum of a line shows.
type Sum int

// The sums.
const (
	Unsummed   Sum = iota // there is none
	Sound                 // it holds
	SoundFirst            // it holds, and lines without one may be before this one
	Spoilt                // it does not hold
)

// Cut takes the checksum off a line. What it returns is the object without it, in the memory of b, which is changed;
// b is left alone if there is no checksum that holds.
func Cut(b []byte) ([]byte, Sum) {
	for i, key := range [...]string{sumKey, firstKey} {
		n := len(b) - len(key) - sumEnd
		if n < 1 || string(b[n:n+len(key)]) != key || string(b[len(b)-2:]) != `"}` {
			continue
		}
		var want [8]byte
		if string(AppendHex(want[:0], crc32.Checksum(b[:n], crc32.MakeTable(crc32.Castagnoli)))) !=
			string(b[n+len(key):len(b)-2]) {
			return b, Spoilt
		}
		b[n] = '}'
		return b[:n+1], Sound + Sum(i)
	}
	return b, Unsummed
}
