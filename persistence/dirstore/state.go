package dirstore

import (
	"bytes"
	"hash/crc32"

	"loops/persistence/snapshot"
)

// The last key of a state file that this program wrote is a checksum of the bytes before it: a flipped bit makes
// the file damaged, not a memory of something that never was.

const checkKey = ",\n  \"check\": \""

func appendCheck(state []byte) []byte {
	body := state[:len(state)-len("\n}")]
	crc := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
	body = append(body, checkKey...)
	return append(snapshot.AppendHex(body, crc), "\"\n}"...)
}

// checked reports whether the checksum of a state file holds. Files of little-loops have none.
func checked(state []byte) (ours, ok bool) {
	i := bytes.LastIndex(state, []byte(checkKey))
	if i < 0 {
		return false, false
	}
	crc := crc32.Checksum(state[:i], crc32.MakeTable(crc32.Castagnoli))
	return true, string(state[i:]) == checkKey+string(snapshot.AppendHex(nil, crc))+"\"\n}"
}
