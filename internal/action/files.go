package action

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Files is the project as evaluators see it: relative names are relative to Dir, or to the current directory
// where Dir is empty. It implements fsm.Files and is safe for concurrent use.
type Files struct{ Dir string }

func (f Files) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.Dir, name)
}

// ReadFile returns the content of a file.
func (f Files) ReadFile(name string) ([]byte, error) { return os.ReadFile(f.path(name)) }

// Stat returns when a file was last changed and how long it is.
func (f Files) Stat(name string) (modTime time.Time, size int64, err error) {
	st, err := os.Stat(f.path(name))
	if err != nil {
		return time.Time{}, 0, err
	}
	return st.ModTime(), st.Size(), nil
}

// WriteFile replaces a file, whole or not at all as far as other processes can see, and creates the folders it
// is in. It is not synced: it survives this process, but perhaps not a loss of power.
func (f Files) WriteFile(name string, data []byte) error {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	t, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = t.Write(data)
	err = errors.Join(err, t.Chmod(mode(path)), t.Close())
	if err == nil {
		err = os.Rename(t.Name(), path)
	}
	if err != nil {
		_ = os.Remove(t.Name())
	}
	return err
}

// mode is the mode of the file that is replaced, or that of an ordinary new one.
func mode(path string) os.FileMode {
	if st, err := os.Stat(path); err == nil {
		return st.Mode().Perm()
	}
	return 0o644
}
