package persistence

import "errors"

// errSum means that bytes are not those that were recorded.
var errSum = errors.New("the checksum does not hold")

// AppendSum closes b[start:], a JSON object, with its checksum as its last key, as a line of the journal has it.
func AppendSum(b []byte, start int) []byte { return appendSum(b, start, sumKey) }

// CutSum returns an object without the checksum that AppendSum gave it, or why it cannot be believed. What it returns is
// in the memory of b, which is changed.
func CutSum(b []byte) ([]byte, error) {
	text, is := cutSum(b)
	if is != sound {
		return nil, errSum
	}
	return text, nil
}
