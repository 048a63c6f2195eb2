package git

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Replace returns the tree that a tree becomes where the files that covers reports true for are those of another tree.
// The folder stays as it is.
func (w *Walk) Replace(ctx context.Context, tree, from string, covers func(path string) bool) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if tree == from {
		return tree, nil
	}
	if err := w.open(ctx); err != nil {
		return "", err
	}
	changes, err := w.changes(ctx, tree, from)
	if err != nil {
		return "", err
	}
	gone := map[string]bool{} // files of the tree in whose place the other one has something else, or nothing
	for _, c := range changes {
		gone[c.Path] = c.Kind == Deleted
	}
	var entries []string
	for _, c := range changes {
		if !covers(c.Path) {
			continue
		}
		if c.Kind == Deleted {
			entries = append(entries, w.noEntry(c, c.Path))
			continue
		}
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			if gone[dir] {
				entries = append(entries, w.noEntry(c, dir))
			}
		}
		entries = append(entries, c.Mode+" "+c.id+"\t"+w.home.sub+c.Path)
	}
	if len(entries) == 0 {
		return tree, nil
	}
	if err := w.beside(ctx, tree, entries); err != nil {
		return "", err
	}
	replaced, err := w.inBeside(ctx, "", "write-tree")
	if err == nil {
		w.note()
	}
	return replaced, err
}

// Lay changes those files of the folder in which two trees differ to what they are in the second one. All others, which
// another process may change meanwhile, stay as they are. It may be repeated after it was cut short.
func (w *Walk) Lay(ctx context.Context, from, to string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.open(ctx); err != nil {
		return err
	}
	changes, err := w.changes(ctx, from, to)
	if err != nil {
		return err
	}
	return w.lay(ctx, to, changes)
}

// noEntry has update-index remove a path, with an object name as long as that of a change.
func (w *Walk) noEntry(c Change, name string) string {
	return "0 " + strings.Repeat("0", len(c.id)) + "\t" + w.home.sub + name
}

// CheckOut writes the files of a tree into an empty folder, which stands for the top of the repository, and returns
// what stands for the folder of the Walk, and its files. There is no repository.
func (w *Walk) CheckOut(ctx context.Context, tree, to string) (dir string, files []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.open(ctx); err != nil {
		return "", nil, err
	}
	names, err := w.in(ctx, w.home.top, "", "ls-tree", "-r", "-z", "--name-only", tree)
	if err != nil {
		return "", nil, err
	}
	paths := split(names)
	for _, name := range paths {
		if rel, in := strings.CutPrefix(name, w.home.sub); in {
			files = append(files, rel)
		}
	}
	if len(paths) == 0 {
		return to, nil, nil
	}
	return filepath.Join(to, w.home.sub), files, w.write(ctx, tree, paths, to)
}

// InitRepository makes a folder a repository of its own with one commit, which has all its files.
func (w *Walk) InitRepository(ctx context.Context, dir string) error {
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "-A", "-f", "."},
		{"commit", "-q", "--allow-empty", "-m", "Files of a run"},
	} {
		if _, err := w.git(ctx, dir, who, "", append(slices.Clip(walkArgs), args...)...); err != nil {
			return err
		}
	}
	return nil
}

// proofRefs is where the trees are that what a run came to depends on: those of no snapshot.
const proofRefs = "refs/loops-proof/"

// The trees of a run that are kept.
const (
	AtStart = "start" // as the run found the files
	AtEnd   = "end"   // as it left them
)

// ProofRef is the ref with the files of a run at a time.
func ProofRef(run, when string) string { return proofRefs + refName(run) + "/" + when }

// Kept returns the tree of the commit on a ref, or a tree itself, or another one if the repository has it; "" = there
// is neither.
func (w *Walk) Kept(ctx context.Context, ref, other string) (tree string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.open(ctx); err != nil {
		return "", err
	}
	tree, err = answer(w.inRepository(ctx, "rev-parse", "-q", "--verify", ref+"^{tree}"))
	if tree == "" && other != "" && err == nil {
		tree, err = answer(w.inRepository(ctx, "rev-parse", "-q", "--verify", other+"^{tree}"))
	}
	return tree, err
}
