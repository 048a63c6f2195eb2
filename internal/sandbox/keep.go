package sandbox

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// What is remembered of protected files, so that they can be put back, is bounded.
const (
	keptFile  = 1 << 20
	keptTotal = 64 << 20
)

// ownFolders are those of .loops that runs write to while an action is at work.
var ownFolders = []string{".history", ".ledger", ".queue", ".running", ".schema", "logs", "memory", "runs", "tmp"}

func newKept() *Kept {
	return &Kept{files: map[string]saved{}, room: keptTotal, open: map[keptRoot]*os.Root{}}
}

// Kept is how protected files were before an action.
type Kept struct {
	roots []keptRoot
	files map[string]saved
	room  int
	open  map[keptRoot]*os.Root // folders that roots are in, while all roots are looked at
	known *known                // what was found at roots before
}

// A keptRoot is a protected path, which is reached from base without following links: no action can replace base.
type keptRoot struct{ base, path string }

type saved struct {
	mode    fs.FileMode
	size    int64
	changed int64  // when, as no program can set it; of a file that is too large
	text    []byte // content of a file, target of a link; nil = the file is too large
}

// A Breach is a protected path that changed while an action ran.
type Breach struct {
	Path string
	Copy string // where what was found there is now; "" = it was missing, or only its mode had changed
	Left string // why it is left as it is; "" = it is again as it was before
}

// keep remembers protected paths. Those that a mount namespace protects are left out: no action can change them.
// known is what was found at them before.
func (r *Rules) keep(mounted bool, known *known) *Kept {
	k, there := newKept(), known.finder()
	k.known = known
	defer k.close()
	defer there.close()
	for _, path := range r.Protect {
		found := unclear
		root := keptRoot{r.base(path), path}
		if root.base != "" {
			found = there.at(root)
		}
		if found == absent {
			if !slices.Contains(k.roots, root) {
				k.roots = append(k.roots, root)
			}
			continue
		}
		if found == present && mounted {
			continue
		}
		if _, err := os.Lstat(path); err == nil && mounted {
			continue
		}
		if base := r.base(path); base != "" {
			root := keptRoot{base, path}
			if blocked, _ := k.look(root); blocked != "" { // a link, which stays one
				root.path = blocked
				_, _ = k.look(root)
			}
			if !slices.Contains(k.roots, root) {
				k.roots = append(k.roots, root)
			}
		}
	}
	if len(k.roots) == 0 {
		return nil
	}
	return k
}

// base returns the folder from which a protected path is reached: the outermost one that may be changed; "" = the path
// cannot be changed.
func (r *Rules) base(path string) string {
	base := ""
	for _, w := range r.Write {
		if within(path, w) && (base == "" || len(w) < len(base)) {
			base = w
		}
	}
	if base == path {
		return filepath.Dir(path)
	}
	return base
}

// look remembers what is at a root and below it. Where a link or file is in place of a folder above it, blocked is the
// path of that.
func (k *Kept) look(root keptRoot) (blocked string, mode fs.FileMode) {
	dir, blocked, err := k.folder(keptRoot{root.base, filepath.Dir(root.path)})
	if err != nil {
		if blocked == "" {
			return "", 0
		}
		if dir, _, err = descend(root.base, filepath.Dir(blocked), false); err != nil {
			return "", 0
		}
		defer func() { _ = dir.Close() }()
		if st, err := dir.Lstat(filepath.Base(blocked)); err == nil {
			return blocked, st.Mode()
		}
		return "", 0
	}
	k.walk(dir, filepath.Base(root.path), root.path)
	return "", 0
}

// folder opens a folder, once. Many roots are in the same one.
func (k *Kept) folder(at keptRoot) (dir *os.Root, blocked string, err error) {
	if dir = k.open[at]; dir == nil {
		if dir, blocked, err = descend(at.base, at.path, false); err == nil {
			k.open[at] = dir
		}
	}
	return dir, blocked, err
}

// close closes the folders. What is looked at after that is looked for in new ones.
func (k *Kept) close() {
	for _, dir := range k.open {
		_ = dir.Close()
	}
	clear(k.open)
}

// walk remembers a path and what is below it, apart from what runs of loops write. Links are not followed.
func (k *Kept) walk(dir *os.Root, name, path string) {
	st, err := dir.Lstat(name)
	if err != nil || filepath.Base(filepath.Dir(path)) == ".loops" && slices.Contains(ownFolders, name) {
		return
	}
	s := saved{mode: st.Mode(), size: st.Size()}
	switch {
	case st.IsDir():
		s.size = 0
	case st.Mode()&fs.ModeSymlink != 0:
		to, _ := dir.Readlink(name)
		s.text = []byte(to)
	case st.Mode().IsRegular() && s.size <= keptFile && int64(k.room) >= s.size:
		if b, err := readSame(dir, name, st); err == nil {
			s.text = b
			k.room -= len(b)
		}
	}
	if st.Mode().IsRegular() {
		s.changed = changedAt(dir, name)
	}
	k.files[path] = s
	if !st.IsDir() {
		return
	}
	sub, err := openSame(dir, name, st)
	if err != nil {
		return
	}
	defer func() { _ = sub.Close() }()
	for _, name := range names(sub) {
		k.walk(sub, name, filepath.Join(path, name))
	}
}

// differs reports whether a path is not as it was before.
func (s saved) differs(before saved) bool {
	if s.mode != before.mode || s.size != before.size {
		return true
	}
	if s.text == nil || before.text == nil {
		return s.changed != before.changed
	}
	return !bytes.Equal(s.text, before.text)
}

// Restore puts protected files back as they were, and returns what had been changed, made or removed. What is there
// instead is moved to a new folder of this name below runDir/breach. What cannot be moved, and what could not be put
// back, stays as it is.
func (k *Kept) Restore(runDir, name string) []Breach {
	if k == nil {
		return nil
	}
	aside := &breachDir{runDir: runDir, name: name}
	defer aside.close()
	var found []Breach
	now, there := newKept(), k.known.finder()
	defer there.close()
	for _, root := range k.roots {
		if there.at(root) == absent {
			continue
		}
		blocked, mode := now.look(root)
		if blocked == "" || mode&fs.ModeSymlink == 0 && !k.hasBelow(blocked) {
			continue
		}
		if !slices.ContainsFunc(found, func(b Breach) bool { return b.Path == blocked }) {
			b := Breach{Path: blocked}
			b.move(keptRoot{root.base, blocked}, aside)
			found = append(found, b)
		}
	}
	now.close()
	changed := slices.Collect(maps.Keys(now.files))
	for path := range k.files {
		if _, ok := now.files[path]; !ok {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	var gone []string // folders that were moved, with all below them
	for _, path := range changed {
		before, had := k.files[path]
		s, has := now.files[path]
		if slices.ContainsFunc(gone, func(dir string) bool { return within(path, dir) }) {
			has = false
		}
		if has == had && (!has || !s.differs(before)) {
			continue
		}
		root := k.rootOf(path)
		if !has && (!had || ofTree(path) && root.isMissing()) {
			continue // it was in a folder that was moved, or in that of a work tree that was removed
		}
		b := Breach{Path: path}
		sameKind := has && had && s.mode.Type() == before.mode.Type()
		switch {
		case had && before.text == nil && before.mode.IsRegular():
			b.Left = "it was too large to be remembered"
		case sameKind && (s.mode.IsDir() || s.text != nil && bytes.Equal(s.text, before.text)):
			b.Left = says(root.chmod(path, before.mode))
		default:
			if has {
				if b.move(root, aside); b.Left == "" && s.mode.IsDir() {
					gone = append(gone, path)
				}
			}
			if had && b.Left == "" {
				b.Left = says(before.write(root, path))
			}
		}
		found = append(found, b)
	}
	return found
}

// hasBelow reports whether there were protected files below a path.
func (k *Kept) hasBelow(dir string) bool {
	for path := range k.files {
		if within(path, dir) {
			return true
		}
	}
	return false
}

// ofTree reports whether a path is in a folder that git has for a work tree.
func ofTree(path string) bool {
	return filepath.Base(filepath.Dir(filepath.Dir(path))) == "worktrees"
}

// isMissing reports whether the folder of a root is missing.
func (root keptRoot) isMissing() bool {
	dir, _, err := descend(root.base, filepath.Dir(root.path), false)
	if err == nil {
		_ = dir.Close()
	}
	return errors.Is(err, fs.ErrNotExist)
}

// rootOf returns a root that a path is below, with that path.
func (k *Kept) rootOf(path string) keptRoot {
	for _, root := range k.roots {
		if within(path, root.path) {
			return keptRoot{root.base, path}
		}
	}
	return keptRoot{filepath.Dir(path), path}
}

// move moves what is at the path of a root into the folder for breaches.
func (b *Breach) move(root keptRoot, aside *breachDir) {
	dir, _, err := descend(root.base, filepath.Dir(root.path), false)
	if err == nil {
		defer func() { _ = dir.Close() }()
		b.Copy, err = aside.take(dir, filepath.Base(root.path))
	}
	b.Left = says(err)
}

func (root keptRoot) chmod(path string, mode fs.FileMode) error {
	dir, _, err := descend(root.base, filepath.Dir(path), false)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if mode&fs.ModeSymlink != 0 {
		return nil
	}
	return dir.Chmod(filepath.Base(path), mode.Perm())
}

// write makes a file, folder or link that is missing as it was.
func (s saved) write(root keptRoot, path string) error {
	dir, _, err := descend(root.base, filepath.Dir(path), true)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	name := filepath.Base(path)
	switch {
	case s.mode.IsDir():
		err = dir.Mkdir(name, s.mode.Perm())
	case s.mode&fs.ModeSymlink != 0:
		return dir.Symlink(string(s.text), name)
	case s.mode.IsRegular():
		var f *os.File
		if f, err = dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, s.mode.Perm()); err == nil {
			_, err = f.Write(s.text)
			err = cmp.Or(err, f.Close())
		}
	default:
		return fs.ErrInvalid // a socket or a pipe
	}
	if err != nil {
		return err
	}
	return dir.Chmod(name, s.mode.Perm())
}

func says(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A breachDir is the folder for what was found at protected paths. It is made when there is something to move there.
type breachDir struct {
	runDir, name string
	dir          *os.Root
	path         string
	moved        int
	err          error
}

// mostBreaches bounds how many folders of one name there are.
const mostBreaches = 1000

// open makes the folder, which is not there before.
func (d *breachDir) open() error {
	if d.dir != nil || d.err != nil {
		return d.err
	}
	if d.runDir == "" {
		d.err = errNoFolder
		return d.err
	}
	d.err = func() error {
		all, _, err := descend(d.runDir, filepath.Join(d.runDir, "breach"), true)
		if err != nil {
			return err
		}
		defer func() { _ = all.Close() }()
		if err := all.Chmod(".", 0o700); err != nil {
			return err
		}
		for n := range mostBreaches {
			name := d.name
			if n > 0 {
				name += "." + strconv.Itoa(n)
			}
			if err = all.Mkdir(name, 0o700); err == nil {
				d.path = filepath.Join(d.runDir, "breach", name)
				d.dir, _, err = descend(d.runDir, d.path, false)
				return err
			}
			if !os.IsExist(err) {
				return err
			}
		}
		return err
	}()
	return d.err
}

func (d *breachDir) close() {
	if d.dir != nil {
		_ = d.dir.Close()
	}
}

// take moves what is called name in a folder here, and returns its new path.
func (d *breachDir) take(from *os.Root, name string) (string, error) {
	if err := d.open(); err != nil {
		return "", err
	}
	d.moved++
	to := strconv.Itoa(d.moved) + "-" + strings.TrimLeft(name, ".")
	if err := move(from, name, d.dir, to); err != nil {
		return "", err
	}
	return filepath.Join(d.path, to), nil
}
