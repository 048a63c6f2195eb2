package disk

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Replace replaces a file, whole or not at all as far as other processes can see, in a folder that exists. It is not
// synced. The file is added to open, and not closed, if open is not nil.
func Replace(path string, content func(io.Writer) error, mode os.FileMode, open *[]*os.File) (os.FileInfo, error) {
	t, err := CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	b := bufio.NewWriterSize(t, 64<<10)
	err = errors.Join(content(b), b.Flush(), t.Chmod(mode))
	st, statErr := t.Stat()
	if err = errors.Join(err, statErr); err == nil {
		err = os.Rename(t.Name(), path)
	}
	if err == nil && open != nil {
		*open = append(*open, t)
		return st, nil
	}
	if err = errors.Join(err, t.Close()); err != nil {
		_ = os.Remove(t.Name())
	}
	return st, err
}
