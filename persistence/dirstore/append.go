package dirstore

import (
	"errors"
	"os"
	"path/filepath"

	"loops/persistence"
)

// appendDurably appends text, which ends a line, to an open file that has size bytes, so that no reader takes
// its last line before that is on the disk: the text without its last byte is made durable first, with the name
// of a new file, and that byte after it.
//
// If the first fails, the text is taken back: a later fdatasync would not report that these bytes were lost. If
// the second fails, a reader may have seen the line already, and the error is an *UncertainError. Only one
// process may append at a time.
func (d *Store) appendDurably(f *os.File, size int64, text []byte) error {
	line, end := text[:len(text)-1], text[len(text)-1:]
	_, err := f.Write(line)
	if err == nil {
		err = d.syncData(f)
	}
	if err == nil && size == 0 {
		err = d.syncDir(filepath.Dir(f.Name()))
	}
	if err == nil {
		_, err = f.Write(end)
	}
	if err != nil {
		_ = d.takeBack(f, size) // without its end it is no line, and the next who appends ends or cuts it
		return err
	}
	if err := d.syncData(f); err != nil {
		return &persistence.UncertainError{Err: err}
	}
	return nil
}

// takeBack cuts off what was appended to a file that had size bytes.
func (d *Store) takeBack(f *os.File, size int64) error {
	return errors.Join(f.Truncate(size), d.syncData(f))
}
