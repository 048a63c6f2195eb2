package simtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loops/fsm"
)

// trees is the folder that all actions of a world work in: a map of paths to texts. The name of a tree is all that is
// in it.
type trees struct{ *World }

func treeName(files map[string]string) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%s=%s\n", path, strings.TrimSpace(files[path]))
	}
	return b.String()
}

func treeFiles(name string) map[string]string {
	files := map[string]string{}
	for line := range strings.Lines(name) {
		path, text, _ := strings.Cut(strings.TrimSpace(line), "=")
		files[path] = text
	}
	return files
}

// Tree implements [fsm.Trees].
func (w trees) Tree(context.Context, string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return treeName(w.files), nil
}

// Changes implements [fsm.Trees].
func (w trees) Changes(_ context.Context, _, from string) (tree string, changes []fsm.FileChange, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := treeFiles(from)
	for _, path := range slices.Sorted(maps.Keys(w.files)) {
		if was[path] != w.files[path] {
			changes = append(changes, fsm.FileChange{Path: path, Lines: 1})
		}
	}
	for path := range was {
		if _, ok := w.files[path]; !ok {
			changes = append(changes, fsm.FileChange{Path: path, Deleted: true, Lines: 1})
		}
	}
	return treeName(w.files), changes, nil
}

// PutBack implements [fsm.Trees].
func (w trees) PutBack(_ context.Context, _, before string, _ fsm.Breach) (kept string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files = treeFiles(before)
	return "kept", nil
}

// change is what an action does to files: the same whenever it is done again. The caller holds the lock.
func (w *World) change(a fsm.Action, at string, try int) {
	if a.Kind == fsm.KindJudge || a.Text == "look" || a.Text == "list" {
		return
	}
	name := fmt.Sprintf("%x", w.hash(at))
	switch w.hash(at, try, "files") % 6 {
	case 0, 5:
		w.files["tests/"+name] = fmt.Sprint(try)
	case 1, 2, 3:
		w.files["src/"+name] = fmt.Sprint(try)
	}
}
