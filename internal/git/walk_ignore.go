package git

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ignored returns which names of a folder git ignores. base is the top of the repository that decides: "" is
// that of the Walk, else a path below its folder. folder is the path of the folder, "" or with a slash at its end.
func (w *Walk) ignored(ctx context.Context, base, folder string, names []string) ([]bool, error) {
	h := w.ignoring[base]
	if h == nil {
		dir, env := w.Dir, w.home.env
		if base != "" {
			dir = filepath.Join(w.Dir, base)
			env = append(slices.Clip(env), "GIT_WORK_TREE="+dir)
		}
		var err error
		if h, err = w.helper(dir, env, "check-ignore", "-z", "--stdin", "-v", "-n", "--no-index"); err != nil {
			return nil, err
		}
		w.ignoring[base] = h
	}
	var question strings.Builder
	for _, name := range names {
		question.WriteString("./" + strings.TrimPrefix(folder, base) + name + "\x00")
	}
	all := make([]bool, len(names))
	err := h.ask(ctx, question.String(), func(out *bufio.Reader) error {
		for i := range names {
			var fields [4]string // the file with the pattern, its line there, the pattern, and the path
			for n := range fields {
				field, err := out.ReadString(0)
				if err != nil {
					return err
				}
				fields[n] = strings.TrimSuffix(field, "\x00")
			}
			all[i] = fields[0] != "" && !strings.HasPrefix(fields[2], "!")
		}
		return nil
	})
	if err != nil {
		delete(w.ignoring, base)
	}
	return all, err
}

// helper starts a process of git that answers questions for the Walk.
func (w *Walk) helper(dir string, env []string, args ...string) (*helper, error) {
	return startHelper(dir, append(slices.Clip(w.env), env...), w.limit, append(slices.Clip(walkArgs), args...)...)
}

// forgetIgnored has git read again what it ignores.
func (w *Walk) forgetIgnored() {
	for _, h := range w.ignoring {
		h.close()
	}
	w.ignoring = map[string]*helper{}
}

// Close ends the processes of git that the Walk keeps; they end with this process as well. It may be used after that.
func (w *Walk) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetIgnored()
	w.comparing.close()
	w.comparing = nil
}

// Remove closes the Walk and removes Place.
func (w *Walk) Remove() error {
	w.Close()
	return os.RemoveAll(w.Place)
}

// isRepository reports whether a folder is the top of a repository, as git finds out.
func isRepository(dir string) bool {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		f, err := os.Open(dot)
		if err != nil || !info.Mode().IsRegular() {
			return false
		}
		defer f.Close()
		start := make([]byte, len("gitdir: "))
		n, _ := f.Read(start)
		return string(start[:n]) == "gitdir: "
	}
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dot, name)); err != nil {
			return false
		}
	}
	return true
}
