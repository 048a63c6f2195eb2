package simtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loops/fsm"
)

// trees are the folders that the actions of a world work in: "" is that of the run, and the others are work
// trees. Each is a map of paths to texts. The name of a tree is all that is in it.
type trees struct{ *World }

// in returns the files of a folder. The caller holds the lock.
func (w *World) in(dir string) map[string]string {
	if w.files[dir] == nil {
		w.files[dir] = map[string]string{}
	}
	return w.files[dir]
}

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
func (w trees) Tree(_ context.Context, dir string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return treeName(w.in(dir)), nil
}

// Changes implements [fsm.Trees].
func (w trees) Changes(_ context.Context, dir, from string) (tree string, changes []fsm.FileChange, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was, now := treeFiles(from), w.in(dir)
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if was[path] != now[path] {
			changes = append(changes, fsm.FileChange{Path: path, Lines: 1})
		}
	}
	for path := range was {
		if _, ok := now[path]; !ok {
			changes = append(changes, fsm.FileChange{Path: path, Deleted: true, Lines: 1})
		}
	}
	return treeName(now), changes, nil
}

// PutBack implements [fsm.Trees].
func (w trees) PutBack(_ context.Context, dir, before string, _ fsm.Breach) (kept string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[dir] = treeFiles(before)
	return "kept", nil
}

// change is what an action does to files: the same whenever it is done again. The caller holds the lock.
func (w *World) change(a fsm.Action, at string, try int) {
	if a.Kind == fsm.KindJudge || a.Check != nil || a.Text == "look" || a.Text == "list" {
		return
	}
	name := fmt.Sprintf("%x", w.hash(at))
	switch w.hash(at, try, "files") % 6 {
	case 0, 5:
		w.in(a.Dir)["tests/"+name] = fmt.Sprint(try)
	case 1, 2, 3:
		w.in(a.Dir)["src/"+name] = fmt.Sprint(try)
	}
}

// startTree is World.Start: it keeps the files with which the run began, before anything is done.
func (w *World) startTree(_ context.Context, known string) (tree string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case known != "" && known != w.first:
		w.fault(fmt.Sprintf("the run began with %q, and on record is %q", w.first, known))
	case known == "" && len(w.marks) > 0:
		w.fault("the files with which the run began are not on record, and something was done")
	case known == "":
		w.first = "begun\n" + treeName(w.in(""))
	}
	return w.first, nil
}

// checked checks with which files an action runs, and that no prompt begins before the checks have failed that have to.
// The caller holds the lock.
func (w *World) checked(a fsm.Action) {
	if a.Check != nil && a.Check.Begin != w.first {
		w.fault(fmt.Sprintf("the check %s has the files %q, and the run began with %q", a.State, a.Check.Begin,
			w.first))
	}
	all := w.owners(a.State)
	if len(all) != 1 {
		return // states of several loops, or branches, have this name
	}
	if st := all[0].States[a.State]; st != nil && st.Check != nil && st.Check.Files != nil && a.Check == nil &&
		a.Kind == fsm.KindShell && a.Text != "look" {
		w.fault("the check " + a.State + " runs with the files as they are")
	}
	if a.Kind != fsm.KindPrompt {
		return
	}
	for name, st := range all[0].States {
		if st.Check != nil && st.Check.FailFirst && !w.failedFirst(pathOf(a.At), name) {
			w.fault("the prompt of " + a.State + " begins, and the check " + name + " has not failed")
		}
	}
}

// failedFirst reports whether the check of a state failed before the first prompt of its loop. That loop is where path
// leads to, or around it.
func (w *World) failedFirst(path, state string) bool {
	for {
		if w.failed[path+" "+state] {
			return true
		}
		if path == "" {
			return false
		}
		path = path[:max(0, strings.LastIndex(path, "/"))]
	}
}

// pathOf names the branches and items that lead to an address, as events do.
func pathOf(address string) string {
	var names []string
	for _, mark := range strings.Split(address, "/") {
		if _, name, inside := strings.Cut(mark, "+"); inside {
			names = append(names, name)
		}
	}
	return strings.Join(names, "/")
}

// probed is what a check comes to before the first prompt. One that said no as the first state of the run says
// so again.
func (w *World) probed(a fsm.Action, at string) (fsm.Result, error) {
	w.mu.Lock()
	again := w.saidNo == a.State && a.Check.Fault == ""
	w.mu.Unlock()
	res := fsm.Result{Stdout: "probed"}
	if again {
		res.ExitCode = 1
		return res, nil
	}
	switch w.hash(at, a.Item, "first") % 8 {
	case 0, 1, 2:
	case 3:
		if a.Check.Fault != "" {
			return fsm.Result{}, fsm.ErrNoFault
		}
		fallthrough
	default:
		res.ExitCode = 1
	}
	return res, nil
}
