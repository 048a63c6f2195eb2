package segment

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"loops/internal/disk"
	"loops/persistence/snapshot"
)

// LineBefore reads the line that ends at an offset: its event's number, 0 if that is not known, and whether it has a
// checksum. The error is that of reading.
func LineBefore(f *os.File, end int64) (seq uint64, sums bool, err error) {
	for n := int64(4 << 10); ; n *= 4 {
		if n > MostLine {
			return 0, false, nil
		}
		start := max(0, end-n)
		b := make([]byte, end-start)
		if _, err := f.ReadAt(b, start); err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		} else if err != nil || len(b) == 0 || b[len(b)-1] != '\n' {
			return 0, false, nil
		}
		b = b[:len(b)-1]
		i := bytes.LastIndexByte(b, '\n')
		if i < 0 && start > 0 {
			continue
		}
		object, sum := snapshot.Cut(b[i+1:])
		if sum == snapshot.Spoilt {
			return 0, true, nil
		}
		return Seq(Split(object).Event), sum != snapshot.Unsummed, nil
	}
}

// lastSeq reads the number of the last event of a part; 0 = it is not known, or the part is gone. The error is that of
// reading.
func lastSeq(path string) (uint64, error) {
	f, err := disk.Open(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	seq, _, err := LineBefore(f, st.Size())
	return seq, err
}

// Fits reports whether a line ends at an offset, and is that of this event. If it is damaged, its place counts.
// The error is that of reading.
func Fits(f *os.File, at int64, seq uint64) (bool, error) {
	if ok, err := LineEnds(f, at); !ok {
		return false, err
	}
	got, _, err := LineBefore(f, at)
	return got == 0 || got == seq, err
}

// LineEnds reports whether a line of f ends at an offset. The error is that of reading.
func LineEnds(f *os.File, at int64) (bool, error) {
	if at <= 0 {
		return at == 0, nil
	}
	var b [1]byte
	_, err := f.ReadAt(b[:], at-1)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil && b[0] == '\n', err
}
