package sandbox

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A known remembers of protected paths whether anything is there: most of them are of agents that a project does not
// use. It may be used by several at once.
type known struct {
	mu   sync.Mutex
	what map[keptRoot]knownRoot
}

// A knownRoot is what was found. It is so as long as the folders above it are the same, and the innermost of them that
// was there is unchanged.
type knownRoot struct {
	above []markedFolder // from the base down; none is a link
	found presence
}

// A presence is what is at a protected path.
type presence byte

const (
	unclear presence = iota // a link is in the way, or it cannot be looked at
	absent
	present
)

// A finder finds out what is at protected paths, by one system call each at most. Folders that they are reached
// from stay open until close.
type finder struct {
	known *known
	open  map[string]int
	marks map[string]mark         // as they are now
	again map[string]markedFolder // the same of folders that changed
}

func (k *known) finder() *finder {
	return &finder{
		known: k, open: map[string]int{}, marks: map[string]mark{}, again: map[string]markedFolder{},
	}
}

// at returns what is at the path of a root. Where it is unclear, that has to be found out otherwise.
func (l *finder) at(root keptRoot) presence {
	if found := l.remembered(root); found != unclear {
		return found
	}
	above := l.foldersTo(root)
	found := l.find(root)
	l.known.mu.Lock()
	defer l.known.mu.Unlock()
	delete(l.known.what, root)
	if found != unclear && len(above) > 0 && above[len(above)-1].rests {
		if l.known.what == nil {
			l.known.what = map[keptRoot]knownRoot{}
		}
		l.known.what[root] = knownRoot{above, found}
	}
	return found
}

// remembered returns what was found at a root, if that is still so.
func (l *finder) remembered(root keptRoot) presence {
	l.known.mu.Lock()
	was, ok := l.known.what[root]
	l.known.mu.Unlock()
	if !ok {
		return unclear
	}
	for i, f := range was.above {
		now, ok := l.marks[f.path]
		if !ok {
			now = markOf(f.path, false)
			l.marks[f.path] = now
		}
		if last := i == len(was.above)-1; !f.mark.is(now) || last && !f.unchanged(now) {
			return unclear
		}
	}
	return was.found
}

// foldersTo returns the folders from its base down to the innermost one above a root that is there, marked; nil = a
// link or a file is among them.
func (l *finder) foldersTo(root keptRoot) (all []markedFolder) {
	rel, err := filepath.Rel(root.base, filepath.Dir(root.path))
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil
	}
	dirs := []string{root.base}
	if rel != "." {
		for name := range strings.SplitSeq(rel, "/") {
			dirs = append(dirs, filepath.Join(dirs[len(dirs)-1], name))
		}
	}
	for _, dir := range dirs {
		f, ok := l.again[dir]
		if !ok {
			f = markFolder(dir, false)
			l.again[dir] = f
		}
		if f.mark == (mark{}) {
			var st unix.Stat_t
			if !errors.Is(unix.Lstat(dir, &st), unix.ENOENT) {
				return nil
			}
			break
		}
		all = append(all, f)
	}
	return all
}

// find looks for what is at a root.
func (l *finder) find(root keptRoot) presence {
	dir, open := l.open[root.base]
	if !open {
		var err error
		if dir, err = unix.Open(root.base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			dir = -1
		}
		l.open[root.base] = dir
	}
	rel, err := filepath.Rel(root.base, root.path)
	if dir < 0 || err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return unclear
	}
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := unix.Openat2(dir, rel, &how)
	switch {
	case err == nil:
		_ = unix.Close(fd)
		return present
	case errors.Is(err, unix.ENOENT):
		return absent
	}
	return unclear
}

func (l *finder) close() {
	for _, dir := range l.open {
		if dir >= 0 {
			_ = unix.Close(dir)
		}
	}
}
