package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"loops/internal/disk"
)

// What is read and written without a process of git. The first look, which reads all, leaves that to git: it
// knows which objects the repository has.
const (
	mostOwn    = 64
	largestOwn = 8 << 20
)

// read reads what differs, and keeps it in the repository.
func (s *scan) read(ctx context.Context) error {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	bulk := s.last == "" || len(s.differing) > mostOwn
	var many []differing
	for _, d := range s.differing {
		if d.mode != linkMode && (bulk || d.size > largestOwn) {
			many = append(many, d)
			continue
		}
		body, err := d.content(root)
		switch {
		case isMissing(err) || errors.Is(err, fs.ErrPermission) || errors.Is(err, errNoFile):
			d.in.remove(d.name)
		case err != nil:
			return err
		default:
			o := s.store().object(blobObject, body)
			if d.e.id != o.id {
				if err := s.store().write(o); err != nil {
					return err
				}
			}
			d.set(o.id)
		}
	}
	return s.readMany(ctx, many)
}

// set notes what was read.
func (d differing) set(id string) {
	if d.e.id != id || d.e.mode != d.mode {
		d.in.dirty = true
	}
	d.e.id, d.e.mode = id, d.mode
}

// errNoFile means that a file became something else while it was opened.
var errNoFile = errors.New("no file")

// content reads a file, or where a link leads to. A file that is another than before counts as one that is at work.
func (d differing) content(root *os.Root) ([]byte, error) {
	if d.mode == linkMode {
		to, err := root.Readlink(d.path)
		return []byte(to), err
	}
	f, err := root.OpenFile(d.path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errNoFile, err)
	}
	if now, err := disk.StampOfFile(f); err != nil || now != d.e.stamp {
		d.e.rested = false
	}
	return io.ReadAll(f)
}

// readMany has git read files.
func (s *scan) readMany(ctx context.Context, many []differing) error {
	many = slices.DeleteFunc(many, func(d differing) bool {
		gone := unix.Access(filepath.Join(s.Dir, d.path), unix.R_OK) != nil
		if gone {
			d.in.remove(d.name)
		}
		return gone
	})
	if len(many) == 0 {
		return nil
	}
	var paths strings.Builder
	for _, d := range many {
		paths.WriteString(quoted(filepath.Join(s.Dir, d.path)) + "\n")
	}
	out, err := s.in(ctx, s.Dir, paths.String(), "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return err
	}
	ids := strings.Split(out, "\n")
	if len(ids) != len(many) {
		return fmt.Errorf("git printed %d names for %d files", len(ids), len(many))
	}
	for i, d := range many {
		d.set(ids[i])
	}
	return nil
}

// quoted returns a path as git reads it on a line.
func quoted(path string) string {
	if !strings.ContainsAny(path, "\"\\\n") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// build names the trees of a folder and of those below it, and notes those that are new.
func (s *scan) build(f *folder) {
	for _, e := range f.entries {
		if e.dir == nil {
			continue
		}
		s.build(e.dir)
		if e.id != e.dir.id {
			e.id, f.dirty = e.dir.id, true
		}
	}
	if !f.dirty {
		return
	}
	f.dirty = false
	var entries []treeEntry
	for name, e := range f.entries {
		if e.id != "" { // else it is a folder without files
			entries = append(entries, treeEntry{name, e.mode, e.id})
		}
	}
	if f.id = ""; len(entries) > 0 {
		f.id = s.add(entries)
	}
}

// add notes a tree that is to be written.
func (s *scan) add(entries []treeEntry) (id string) {
	o := s.store().tree(entries)
	s.objects = append(s.objects, o)
	return o.id
}

// top returns the name of the tree of the repository that has the folder of the Walk alone.
func (s *scan) top(id string) string {
	if id == "" {
		return s.add(nil)
	}
	names := strings.Split(strings.TrimSuffix(s.home.sub, "/"), "/")
	for _, name := range slices.Backward(names) {
		if name != "" {
			id = s.add([]treeEntry{{name, folderMode, id}})
		}
	}
	return id
}

// write writes the trees.
func (s *scan) write(ctx context.Context) error {
	if s.last != "" && len(s.objects) <= mostOwn {
		for _, o := range s.objects {
			if err := s.store().write(o); err != nil {
				return err
			}
		}
		return nil
	}
	var trees strings.Builder
	for _, o := range s.objects {
		trees.WriteString(o.listing() + "\x00")
	}
	out, err := s.in(ctx, s.Dir, trees.String(), "mktree", "-z", "--batch", "--missing")
	if err != nil {
		return err
	}
	for i, id := range strings.Split(out, "\n") {
		if i >= len(s.objects) || id != s.objects[i].id {
			return fmt.Errorf("git names a tree %s that is another", id)
		}
	}
	return nil
}
