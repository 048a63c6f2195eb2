package sandbox

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// What is remembered of protected files, so that they can be put back, is bounded.
const (
	keptFile  = 1 << 20
	keptTotal = 64 << 20
)

// ownFolders are those of .loops that runs write to while an action is at work.
var ownFolders = []string{".history", ".ledger", ".queue", ".running", ".schema", "logs", "runs", "tmp"}

// Kept is how protected files were before an action.
type Kept struct {
	roots []string // that are looked at again
	files map[string]saved
	room  int
}

type saved struct {
	mode fs.FileMode
	size int64
	text []byte // of a file; where a link leads to; nil = too large to be remembered
}

// keep remembers protected paths. Where a mount namespace keeps those that exist, only new ones are looked for.
func (r *Rules) keep(mounted bool) *Kept {
	if len(r.Protect) == 0 {
		return nil
	}
	k := &Kept{files: map[string]saved{}, room: keptTotal}
	for _, path := range r.Protect {
		if _, err := os.Lstat(path); err == nil && mounted {
			continue
		}
		k.roots = append(k.roots, path)
		k.walk(path, func(path string, d fs.DirEntry) { k.save(path, d) })
	}
	return k
}

// walk visits a path and what is below it, apart from what runs of loops write.
func (k *Kept) walk(root string, visit func(path string, d fs.DirEntry)) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not there
		}
		if filepath.Base(filepath.Dir(path)) == ".loops" && slices.Contains(ownFolders, d.Name()) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		visit(path, d)
		return nil
	})
}

func (k *Kept) save(path string, d fs.DirEntry) {
	st, err := d.Info()
	if err != nil {
		return
	}
	s := saved{mode: st.Mode(), size: st.Size()}
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		to, _ := os.Readlink(path)
		s.text = []byte(to)
	case d.Type().IsRegular() && s.size <= keptFile && int64(k.room) >= s.size:
		if b, err := os.ReadFile(path); err == nil {
			s.text = append([]byte{}, b...)
			k.room -= len(b)
		}
	}
	k.files[path] = s
}

// Restore puts protected files back, and returns the paths of those that had been changed, made or removed.
func (k *Kept) Restore() []string {
	if k == nil {
		return nil
	}
	var changed []string
	now := &Kept{files: map[string]saved{}, room: keptTotal}
	for _, root := range k.roots {
		now.walk(root, func(path string, d fs.DirEntry) { now.save(path, d) })
	}
	for path, s := range now.files {
		if before, ok := k.files[path]; !ok || before.mode.Type() != s.mode.Type() {
			changed = append(changed, path)
		} else if before.mode != s.mode || before.size != s.size && !s.mode.IsDir() || !bytes.Equal(before.text, s.text) {
			changed = append(changed, path)
		}
	}
	for path := range k.files {
		if _, ok := now.files[path]; !ok {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	changed = slices.Compact(changed)
	for _, path := range slices.Backward(changed) { // what is in a new folder before the folder
		if before, ok := k.files[path]; !ok || !before.mode.IsDir() {
			_ = os.RemoveAll(path)
		}
	}
	for _, path := range changed {
		if before, ok := k.files[path]; ok {
			before.write(path)
		}
	}
	return changed
}

func (s saved) write(path string) {
	switch {
	case s.mode.IsDir():
		_ = os.MkdirAll(path, s.mode.Perm())
	case s.mode&fs.ModeSymlink != 0:
		_ = os.Symlink(string(s.text), path)
		return
	case s.text != nil:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, s.text, s.mode.Perm())
	}
	_ = os.Chmod(path, s.mode.Perm())
}
