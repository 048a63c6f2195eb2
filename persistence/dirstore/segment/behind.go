package segment

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// nearEnough is how far before an event a search for it may end, in bytes.
const nearEnough = 8 << 10

// behind finds a place in a file from which all events after the one with a number can be read, without
// reading much that is before it. It is the beginning of the file where lines on the way cannot be believed, or
// have no numbers. The error is that of reading.
func behind(f *os.File, after uint64) (Position, error) {
	st, err := f.Stat()
	if err != nil {
		return Position{}, err
	}
	from, end := Position{}, st.Size() // the event is between them
	for end-from.At > nearEnough {
		mid := from.At + (end-from.At)/2
		at, err := lineEnd(f, mid, end)
		if err != nil {
			return Position{}, err
		}
		if at == 0 {
			end = mid
			continue
		}
		switch seq, sums, err := LineBefore(f, at); {
		case err != nil:
			return Position{}, err
		case seq == 0:
			return Position{}, nil
		case seq <= after:
			from = Position{At: at, Last: seq, Sums: sums}
		default:
			end = mid
		}
	}
	return from, nil
}

// lineEnd finds where the line ends that holds a byte; 0 = not before end.
func lineEnd(f *os.File, at, end int64) (int64, error) {
	b := make([]byte, 4<<10)
	for at < end {
		n, err := f.ReadAt(b[:min(int64(len(b)), end-at)], at)
		if i := bytes.IndexByte(b[:n], '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		at += int64(n)
		if errors.Is(err, io.EOF) || n == 0 {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}
