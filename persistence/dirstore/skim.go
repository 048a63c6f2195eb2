package dirstore

import "bytes"

// heavy are the keys of state.json that no listing shows and that make it large: what a run captured, was given
// and said.
var heavy = map[string]bool{
	"captured": true, "prev_result": true, "last_result": true, "messages": true,
	"context": true, "pending_result": true, "judge_answers": true,
}

// topKey precedes each key of a state file of this program. JSON has no line end inside a text, and what lies deeper is
// indented further, so it is nowhere else.
var topKey = []byte("\n  \"")

// skim returns a state file of this program, whose checksum holds, without the values that no listing shows: a
// list of hundreds of runs would otherwise spend its time on reading captures. A file that is laid out in
// another way is returned as it is.
func skim(state []byte) []byte {
	at := bytes.Index(state, topKey)
	if at < 0 {
		return state
	}
	out := append(make([]byte, 0, 4<<10), state[:at]...)
	for {
		key, _, ok := bytes.Cut(state[at+len(topKey):], []byte(`"`))
		next := bytes.Index(state[at+1:], topKey)
		if !ok || next < 0 { // the last key is the checksum
			return append(out, state[at:]...)
		}
		next += at + 1
		if !heavy[string(key)] {
			out = append(out, state[at:next]...)
		}
		at = next
	}
}
