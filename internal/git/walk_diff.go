package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// changes compares two trees.
func (w *Walk) changes(ctx context.Context, from, to string) (all []Change, err error) {
	fields, err := w.compare(ctx, from, to)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i := 0; i < len(fields); i++ {
		field := fields[i]
		if strings.HasPrefix(field, ":") && i+1 < len(fields) && strings.Count(field, " ") == 4 {
			words := strings.Fields(field)
			i++
			c := Change{
				Path: strings.TrimPrefix(fields[i], w.home.sub), Kind: Changed, Was: words[0][1:],
				Mode: words[1], id: words[3],
			}
			switch words[4] {
			case "A":
				c.Kind = Added
			case "D":
				c.Kind = Deleted
			}
			at[fields[i]] = len(all)
			all = append(all, c)
			continue
		}
		added, rest, _ := strings.Cut(field, "\t")
		removed, name, ok := strings.Cut(rest, "\t")
		n, known := at[name]
		if !ok || !known {
			return nil, fmt.Errorf("git printed %q for a difference", field)
		}
		a, _ := strconv.Atoi(added) // of a binary file it is -
		r, _ := strconv.Atoi(removed)
		all[n].Lines = a + r
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// compare returns what git prints for the differences of two trees: fields that ended in NUL.
func (w *Walk) compare(ctx context.Context, from, to string) (fields []string, err error) {
	if w.comparing == nil {
		w.comparing, err = w.helper(w.home.top, w.home.env, "diff-tree", "--stdin", "-r", "-z", "--raw", "--numstat",
			"--no-renames", "--no-ext-diff", "--no-textconv", "--no-abbrev")
		if err != nil {
			return nil, err
		}
	}
	const end = "end\n" // what is no name of an object comes back, and all before it is out
	err = w.comparing.ask(ctx, from+" "+to+"\n"+end, func(out *bufio.Reader) error {
		if _, err := out.ReadString('\n'); err != nil { // the names
			return err
		}
		for {
			next, err := out.Peek(1)
			if err != nil {
				return err
			}
			if next[0] == end[0] {
				_, err := out.Discard(len(end))
				return err
			}
			words := 1
			if next[0] == ':' {
				words = 2 // and the path
			}
			for range words {
				field, err := out.ReadString(0)
				if err != nil {
					return err
				}
				fields = append(fields, strings.TrimSuffix(field, "\x00"))
			}
		}
	})
	if err != nil {
		w.comparing = nil
	}
	return fields, err
}

// lay makes the changes that lead to a tree. Others may change files meanwhile, which a merge would refuse.
func (w *Walk) lay(ctx context.Context, tree string, changes []Change) error {
	err := w.beside(ctx, tree, nil)
	if err == nil {
		err = w.apply(changes, func(write []string) error {
			if len(write) == 0 {
				return nil
			}
			_, err := w.inBeside(ctx, nul(write), "checkout-index", "-f", "-q", "-z", "--stdin")
			return err
		})
	}
	if err == nil {
		w.note()
	}
	return err
}

// apply removes what changes remove, has the files from the top of the repository written that they write, and
// gives them their modes.
func (w *Walk) apply(changes []Change, checkOut func(write []string) error) error {
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var write []string
	modes := map[string]fs.FileMode{}
	for _, c := range changes {
		if c.Kind == Deleted {
			if err := root.Remove(c.Path); err != nil && !isMissing(err) {
				return err
			}
			continue
		}
		write = append(write, w.home.sub+c.Path)
		if info, err := root.Lstat(c.Path); err == nil && info.Mode().IsRegular() && c.Mode != linkMode {
			modes[c.Path] = executable(info.Mode().Perm(), c.Mode == executableMode)
		}
	}
	for _, c := range changes {
		for dir := path.Dir(c.Path); c.Kind == Deleted && dir != "."; dir = path.Dir(dir) {
			if root.Remove(dir) != nil {
				break // something is in it
			}
		}
	}
	if err := checkOut(write); err != nil {
		return err
	}
	for name, mode := range modes {
		if err := root.Chmod(name, mode); err != nil && !isMissing(err) {
			return err
		}
	}
	return nil
}

// InRepository reports whether the folder is in a repository, which has what [Walk.Keep] keeps.
func (w *Walk) InRepository() bool { return InGit(w.Dir) }

// Export writes the files of a tree that another tree does not have, or has otherwise, to a new folder below parent,
// whose name begins with name, and returns its path.
func (w *Walk) Export(ctx context.Context, from, tree, parent, name string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.open(ctx); err != nil {
		return "", err
	}
	changes, err := w.changes(ctx, from, tree)
	if err != nil {
		return "", err
	}
	var paths []string
	for _, c := range changes {
		if c.Kind != Deleted {
			paths = append(paths, w.home.sub+c.Path)
		}
	}
	if err := ownFolder(parent); err != nil {
		return "", err
	}
	to, err := os.MkdirTemp(parent, name+"-")
	if err != nil || len(paths) == 0 {
		return to, err
	}
	return to, w.write(ctx, tree, paths, to)
}

// write writes files of a tree, whose paths are from the top, below a folder.
func (w *Walk) write(ctx context.Context, tree string, paths []string, to string) error {
	if err := w.beside(ctx, tree, nil); err != nil {
		return err
	}
	_, err := w.inBeside(ctx, nul(paths), "checkout-index", "-z", "--stdin", "--prefix="+to+"/")
	return err
}

// beside makes an index beside that of the Walk: that of a tree, with some entries as update-index reads them.
func (w *Walk) beside(ctx context.Context, tree string, entries []string) error {
	w.seen = nil // Place has that index for a moment
	_, err := w.inBeside(ctx, "", "read-tree", tree)
	if err == nil && len(entries) > 0 {
		_, err = w.inBeside(ctx, nul(entries), "update-index", "-z", "--index-info")
	}
	return err
}

func (w *Walk) inBeside(ctx context.Context, input string, args ...string) (string, error) {
	env := append(slices.Clip(w.home.env), "GIT_INDEX_FILE="+w.home.index+".beside")
	return w.git(ctx, w.home.top, env, input, append(slices.Clip(walkArgs), args...)...)
}

// executable returns a mode with or without the right to execute for those who may read.
func executable(mode fs.FileMode, may bool) fs.FileMode {
	if may {
		return mode | mode&0o444>>2
	}
	return mode &^ 0o111
}

// isMissing reports whether a path is not there, or is below something that is no folder.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}
