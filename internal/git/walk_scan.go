package git

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"loops/internal/disk"
)

// A folder is what a Walk knows of a folder.
type folder struct {
	entries map[string]*entry
	ignored map[string]bool // what git ignores of the names that have no entry; a folder has a slash at its end
	ignores ignores
	base    string // the repository that decides that, see [Walk.ignored]
	visited bool   // git does not ignore it
	dirty   bool   // id is not what it has
	id      string // of its tree
}

// An ignores is what a .gitignore has; zero = there is none.
type ignores struct {
	stamp disk.Stamp
	text  string
}

// An entry is what a Walk knows of a file, a link or a folder.
type entry struct {
	dir   *folder // nil = a file or a link
	mode  string
	id    string     // "" = it was not read
	stamp disk.Stamp // before it was read
	// the file had been at rest when it was read, so that it is the same for as long as it has the stamp
	rested bool
	large  bool // it may be of any size
	look   int  // in which it was there
}

// Modes of git.
const (
	linkMode       = "120000"
	folderMode     = "040000"
	plainMode      = "100644"
	executableMode = "100755"
)

func newFolder() *folder {
	return &folder{entries: map[string]*entry{}, dirty: true}
}

// holds reports whether a file is known in the folder or below it.
func (f *folder) holds() bool {
	for _, e := range f.entries {
		if e.dir == nil || e.dir.holds() {
			return true
		}
	}
	return false
}

// know has a path looked for, even if it is ignored.
func (f *folder) know(path string, large bool) {
	name, rest, below := strings.Cut(path, "/")
	e := f.entries[name]
	if e == nil || below && e.dir == nil {
		e = &entry{}
		f.entries[name] = e
	}
	switch {
	case !below:
		e.large = e.large || large
	case e.dir == nil:
		e.dir, e.mode = newFolder(), folderMode
		fallthrough
	default:
		e.dir.know(rest, large)
	}
}

// knowFile is know of what is a file, in whose place a folder may have been.
func (f *folder) knowFile(path string, large bool) {
	in, rest := f, path
	for in != nil {
		name, more, below := strings.Cut(rest, "/")
		e := in.entries[name]
		if e == nil || e.dir == nil {
			break
		}
		if !below {
			in.remove(name)
			break
		}
		in, rest = e.dir, more
	}
	f.know(path, large)
}

// forget forgets what is ignored in the folder and below it.
func (f *folder) forget() {
	clear(f.ignored)
	for _, e := range f.entries {
		if e.dir != nil {
			e.dir.visited = false
			e.dir.forget()
		}
	}
}

// A scan looks through the folder of a Walk once.
type scan struct {
	*Walk
	differing []differing
	apart     map[string][]string // the names of Walk.Apart by their folders, as paths with a slash at the end
	objects   []object            // that are to be written
}

// A differing entry has to be read.
type differing struct {
	in         *folder
	name, path string
	mode       string
	e          *entry
	size       int64
}

// An item is what is in a folder now.
type item struct {
	name       string
	stamp      disk.Stamp
	mode, kind uint32 // permissions, and S_IFREG or such
	size       int64
}

// folder brings what is known of a folder, and of those below it, up to date, but for what has to be read.
// items are in it. base is the repository around it.
func (s *scan) folder(ctx context.Context, f *folder, dir *os.File, items []item, path, base string) error {
	has := ignores{}
	for _, it := range items {
		switch it.name {
		case ".gitignore":
			has = f.ignores.again(dir, it)
		case ".git":
			if path != "" && !f.holds() && isRepository(filepath.Join(s.Dir, path)) {
				base = path
			}
		}
	}
	if has.text != f.ignores.text {
		f.forget()
		s.forgetIgnored()
	}
	if base != f.base {
		f.forget()
	}
	f.ignores, f.base = has, base
	if err := s.decide(ctx, f, path, s.update(f, items, path)); err != nil {
		return err
	}
	var folders []*below
	for name, e := range f.entries {
		switch {
		case e.look != s.look:
			f.remove(name)
		case e.dir != nil:
			folders = append(folders, &below{name: name, folder: e.dir})
		}
	}
	for some := range slices.Chunk(folders, mostOpen) {
		if err := s.below(ctx, f, dir, path, some); err != nil {
			return err
		}
	}
	return nil
}

// A below is a folder in another one while both are read.
type below struct {
	name   string
	folder *folder
	dir    *os.File
	items  []item
	err    error
}

// mostOpen is how many folders of one are read at once.
const mostOpen = 16

// below brings what is known of some folders in one up to date. They are read side by side: that takes most of
// the time.
func (s *scan) below(ctx context.Context, f *folder, dir *os.File, path string, some []*below) (err error) {
	var all sync.WaitGroup
	for _, b := range some {
		all.Go(func() {
			if b.dir, b.err = openBelow(dir, b.name, unix.O_DIRECTORY); b.err == nil {
				b.items, b.err = readItems(b.dir)
			}
		})
	}
	all.Wait()
	for _, b := range some {
		switch {
		case err != nil:
		case b.err == nil:
			err = s.folder(ctx, b.folder, b.dir, b.items, path+b.name+"/", f.base)
		case isMissing(b.err) || errors.Is(b.err, unix.ELOOP) || errors.Is(b.err, fs.ErrPermission):
			f.remove(b.name) // git passes over it, too
		default:
			err = b.err
		}
		b.dir.Close() // nil is no file
	}
	return err
}

// again reads a .gitignore unless it is as it was. One that cannot be read ignores nothing, as git has it.
func (i ignores) again(dir *os.File, it item) ignores {
	if it.stamp == i.stamp {
		return i
	}
	next := ignores{}
	if it.stamp.Rested() {
		next.stamp = it.stamp
	}
	if f, err := openBelow(dir, it.name, unix.O_NONBLOCK); err == nil {
		text, _ := io.ReadAll(f)
		next.text = string(text)
		f.Close()
	}
	return next
}

func (f *folder) remove(name string) {
	delete(f.entries, name)
	f.dirty = true
}

// update notes what has to be read of what is known in a folder, and returns what is not known.
func (s *scan) update(f *folder, items []item, path string) (unknown []item) {
	inRecords := path == ".loops/" || strings.HasSuffix(path, "/.loops/")
	for _, it := range items {
		isDir, isFile := it.kind == unix.S_IFDIR, it.kind == unix.S_IFREG || it.kind == unix.S_IFLNK
		switch {
		case it.name == ".git" || isDir && it.name == TreesFolder || inRecords && isRecord(it.name) ||
			s.isApartIn(path, it.name):
			continue
		case !isDir && !isFile:
			continue
		}
		e := f.entries[it.name]
		if e != nil && isDir != (e.dir != nil) {
			f.remove(it.name)
			e = nil
		}
		switch {
		case e == nil || isDir && !e.dir.visited && !e.dir.holds():
			unknown = append(unknown, it)
		default:
			e.look = s.look
			if isFile {
				s.compare(f, e, it, path)
			}
		}
	}
	return unknown
}

// compare has an entry read if it may be another than before.
func (s *scan) compare(f *folder, e *entry, it item, path string) {
	if e.id != "" && e.rested && e.stamp == it.stamp {
		return
	}
	if e.id == "" && !e.large && it.kind == unix.S_IFREG && it.size > cmp.Or(s.Largest, largest) {
		f.remove(it.name)
		return
	}
	e.stamp, e.rested = it.stamp, it.stamp.Rested()
	mode := plainMode
	switch {
	case it.kind == unix.S_IFLNK:
		mode = linkMode
	case it.mode&unix.S_IXUSR != 0:
		mode = executableMode
	}
	s.differing = append(s.differing, differing{f, it.name, path + it.name, mode, e, it.size})
}

// decide makes entries of what git does not ignore.
func (s *scan) decide(ctx context.Context, f *folder, path string, unknown []item) error {
	key := func(it item) string {
		if it.kind == unix.S_IFDIR {
			return it.name + "/"
		}
		return it.name
	}
	var ask, keys []string
	was := f.ignored
	f.ignored = make(map[string]bool, len(unknown))
	for _, it := range unknown {
		k := key(it)
		if ignored, known := was[k]; known {
			f.ignored[k] = ignored
		} else {
			ask, keys = append(ask, it.name), append(keys, k)
		}
	}
	if len(ask) > 0 {
		answers, err := s.ignored(ctx, f.base, path, ask)
		if err != nil {
			return err
		}
		for i, k := range keys {
			f.ignored[k] = answers[i]
		}
	}
	for _, it := range unknown {
		if f.ignored[key(it)] {
			continue
		}
		e := f.entries[it.name]
		if e == nil {
			e = &entry{}
			f.entries[it.name] = e
		}
		e.look = s.look
		if it.kind != unix.S_IFDIR {
			s.compare(f, e, it, path)
			continue
		}
		if e.dir == nil {
			e.dir, e.mode = newFolder(), folderMode
		}
		e.dir.visited = true
	}
	return nil
}

// isApartIn is [Walk.isApart] of one name in a folder, for files of Apart alone.
func (s *scan) isApartIn(path, name string) bool {
	return slices.ContainsFunc(s.apart[path], func(apart string) bool {
		return name == apart || strings.HasPrefix(name, apart+"-")
	})
}

// readItems reads a folder. What goes meanwhile is left out.
func readItems(dir *os.File) ([]item, error) {
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	items := make([]item, 0, len(names))
	fd := int(dir.Fd())
	for _, name := range names {
		if stamp, mode, ok := disk.StampBelow(fd, name); ok {
			items = append(items, item{name, stamp, mode, mode & unix.S_IFMT, stamp.Size})
		}
	}
	return items, nil
}

// openBelow opens what is in a folder, with a flag. It follows no link.
func openBelow(dir *os.File, name string, flag int) (*os.File, error) {
	for {
		fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|flag, 0)
		if err == nil {
			return os.NewFile(uintptr(fd), name), nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, err
		}
	}
}
