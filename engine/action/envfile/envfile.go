// Package envfile holds the texts of a run that are too long for the environment of an action: each in a file, whose
// path the action finds there.
package envfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"loops/internal/disk"
)

// A File holds one value. While an action that got its path runs, it is not changed.
type File struct {
	Path  string
	Entry string // of the environment of an action that gets it
	value string
	state disk.Stamp // as it was written; zero: not yet
	sure  bool       // it is as it was written, unless Files.changes has its name
	users int        // actions that run
}

// Files are the files of one Runner. They are kept for users to look at. A run may have thousands of them, and each
// action gets all: those that have not changed cost no call of the system.
type Files struct {
	mu      sync.Mutex
	files   map[string][]*File // by the name of the variable
	paths   map[string]*File   // by the name of the file
	folder  os.FileInfo        // they are in
	changes *disk.Changes      // in that folder; nil: they are not known
}

// Look notes which files may have changed.
func (vf *Files) Look() {
	vf.mu.Lock()
	defer vf.mu.Unlock()
	known := vf.changes.Each(func(name string) {
		if f := vf.paths[name]; f != nil {
			f.sure = false
		}
	})
	if !known {
		vf.unsure()
	}
}

// Known returns how many files need no look before the next action gets them. tells is false where the system
// cannot tell.
func (vf *Files) Known() (n int, tells bool) {
	vf.mu.Lock()
	defer vf.mu.Unlock()
	for _, f := range vf.paths {
		if f.sure {
			n++
		}
	}
	return n, vf.changes != nil
}

// unsure has each file looked at before it is used.
func (vf *Files) unsure() {
	vf.changes.Close()
	vf.changes = nil
	for _, f := range vf.paths {
		f.sure = false
	}
}

// Hold returns the file that holds the value of a variable, for an action. It is written unless it is there from an
// action before, and then added to open, not closed, if open is not nil.
func (vf *Files) Hold(runDir, variable, value string, open *[]*os.File) (f *File, err error) {
	if runDir == "" {
		return nil, errors.New("this run has no folder")
	}
	vf.mu.Lock()
	defer vf.mu.Unlock()
	for _, g := range vf.files[variable] {
		if g.value == value && vf.intact(g) {
			g.users++
			return g, nil
		}
		if g.users == 0 && f == nil {
			f = g
		}
	}
	if f == nil {
		f = vf.add(runDir, variable)
	}
	if err := vf.write(f, value, open); err != nil {
		return nil, err
	}
	f.users++
	return f, nil
}

// add adds a file for a variable. No other one has its name.
func (vf *Files) add(runDir, variable string) *File {
	if vf.files == nil {
		vf.files, vf.paths = map[string][]*File{}, map[string]*File{}
	}
	first := Stem(variable)
	name := first
	for n := 1; vf.paths[name] != nil; n++ {
		name = fmt.Sprintf("%s~%d", first, n)
	}
	f := &File{Path: filepath.Join(runDir, "env", name)}
	f.Entry = variable + "_FILE=" + f.Path
	vf.paths[name] = f
	vf.files[variable] = append(vf.files[variable], f)
	return f
}

// Close ends the look at changes.
func (vf *Files) Close() {
	vf.mu.Lock()
	defer vf.mu.Unlock()
	vf.changes.Close()
	vf.changes = nil
}

// Release notes that an action is over which had files.
func (vf *Files) Release(used []*File) {
	if len(used) == 0 {
		return
	}
	vf.mu.Lock()
	defer vf.mu.Unlock()
	for _, f := range used {
		f.users--
	}
}

// intact reports whether the file is as it was written: an action may have removed it or written to it.
func (vf *Files) intact(f *File) bool {
	if f.state == (disk.Stamp{}) {
		return false
	}
	if f.sure {
		return true
	}
	now, regular, ok := disk.StampOf(f.Path)
	f.sure = ok && regular && now == f.state && vf.changes != nil
	return ok && regular && now == f.state
}

// write replaces the file. Like an environment, it is not readable by other users.
func (vf *Files) write(f *File, value string, open *[]*os.File) error {
	f.state, f.sure = disk.Stamp{}, false
	dir := filepath.Dir(f.Path)
	if err := disk.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	folder, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !os.SameFile(folder, vf.folder) {
		vf.unsure() // an action removed the one before
	}
	if vf.changes == nil {
		vf.folder, vf.changes = folder, disk.ChangesOf(dir)
	}
	st, err := disk.Replace(f.Path, func(w io.Writer) error { _, err := io.WriteString(w, value); return err }, 0o600,
		open)
	if err != nil {
		return err
	}
	f.value = value
	// On a system without stamps each action has the file written.
	if now, _, ok := disk.StampOf(f.Path); ok && now.Size == st.Size() && now.Modified == st.ModTime().UnixNano() {
		f.state = now
	}
	return nil
}

// Stem makes the name of a state or a variable fit for the name of a file.
func Stem(name string) string {
	stem := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return stem[:min(len(stem), 100)]
}
