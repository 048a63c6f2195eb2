package action

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// A settler makes files below the folder of a run durable before a record names them. A nil settler makes
// nothing durable.
type settler struct {
	runDir string

	mu   sync.Mutex
	done map[string]bool // folders whose own names are durable; guarded by mu
}

// settler returns that of the run, nil where nothing is to be made durable.
func (r *Runner) settler() *settler {
	if !r.Durable || r.RunDir == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settle == nil {
		r.settle = &settler{runDir: r.RunDir, done: map[string]bool{}}
	}
	return r.settle
}

// content makes what was written to a file durable.
func (s *settler) content(f *os.File) error {
	if s == nil {
		return nil
	}
	return f.Sync()
}

// name makes the name of a file in a folder of the run durable. The first time, the names of the folders are
// made so, too.
func (s *settler) name(path string) error {
	if s == nil {
		return nil
	}
	dir := filepath.Dir(path)
	if err := syncDir(dir); err != nil {
		return err
	}
	return s.around(dir)
}

// around makes the names of a folder and of those around it durable, the first time.
func (s *settler) around(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done[dir] {
		return nil
	}
	for p, n := s.runDir, 0; n < 3; p, n = filepath.Dir(p), n+1 { // in .loops/runs, which may be new, too
		if err := syncDir(p); err != nil {
			return err
		}
	}
	s.done[dir] = true
	return nil
}

// files begins to make open files durable that were written in a folder, and their names. wait returns when
// they are: an action may have removed them meanwhile.
func (s *settler) files(written []*os.File, dir string) (wait func() error) {
	folder, err := os.Open(dir)
	done := make(chan error, 1)
	go func() {
		for _, f := range written {
			err = errors.Join(err, f.Sync(), f.Close())
		}
		if folder != nil {
			err = errors.Join(err, folder.Sync(), folder.Close())
		}
		if err == nil {
			err = s.around(dir)
		}
		done <- err
	}()
	return func() error { return <-done }
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
