package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/confine"
	"loops/internal/disk"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/persistence"
)

// What an UndoRequest can go back to besides a step.
const (
	UndoStart = "start"  // the files as they were before the first action
	UndoLast  = "last"   // as they were after the last action
	UndoFound = "found"  // as they were before the last undo
	UndoAfter = ":after" // behind a step: after it
)

// An UndoRequest asks that the files of a run become what they were.
type UndoRequest struct {
	Run string // id of a run, or name of a loop: then its newest
	// the address of a step: before it; with :after, after it; or one of the words above; "" = [UndoStart]
	To     string
	Force  bool // although the files were changed since by others
	DryRun bool // only say what would change
}

// An Undone says how files became what they were, or would.
type Undone struct {
	Run     persistence.Run
	Dir     string // the folder whose files they are
	To      git.Snapshot
	Changes []git.Change
	Others  []git.Change // changes since the last snapshot, which are taken back as well
	Found   string       // the commit that has the files as they were found; "" = nothing was changed
}

// An undoing is what Undo works with.
type undoing struct {
	run   persistence.Run
	dir   string
	walk  *git.Walk
	chain *git.Chain
	all   []git.Snapshot // of the folder
	to    git.Snapshot
	now   string // the tree of the files

	spared func(path string) bool // files that stay as they are; nil = none

	acting int // the step whose action was cut short; 0 = none was
}

// Undo brings the files of a run to what they were before a step. The files as they are now are kept first. A run that
// is running is refused, and so is one whose files others changed since its last snapshot, unless the request
// says Force. Nothing but files is changed: neither HEAD nor the index of the repository, nor the record of the run.
func (e *Engine) Undo(ctx context.Context, r UndoRequest) (*Undone, error) {
	if err := unnamed(r.Run); err != nil {
		return nil, err
	}
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	run, err := store.Finder().One(ctx, r.Run)
	if err != nil {
		return nil, err
	}
	if alive(run) {
		return nil, refuse(Conflict, "run %s is running (pid %d) and works on these files; stop it first: %s", run.ID,
			run.Owner.PID, Do(OpStop, string(run.ID)))
	}
	u, err := e.undoing(ctx, run, r.To)
	if err != nil {
		return nil, err
	}
	defer u.walk.Remove() //nolint:errcheck // it is of this process alone
	if err := e.unused(ctx, store, u.dir, run.ID); err != nil && !r.Force {
		return nil, err
	}
	done := &Undone{Run: run, Dir: u.dir, To: u.to}
	if done.Others, err = u.others(ctx); err != nil {
		return nil, u.failed(err)
	}
	if len(done.Others) > 0 && !r.Force && !r.DryRun {
		return done, u.changed(done.Others)
	}
	if done.Changes, err = u.walk.Changes(ctx, u.now, u.to.Tree); err != nil {
		return nil, u.failed(err)
	}
	if len(done.Changes) == 0 || r.DryRun {
		return done, nil
	}
	if done.Found, err = u.put(ctx); err != nil {
		return nil, u.failed(err)
	}
	return done, nil
}

// undoing finds the snapshots of a run that has ended, and the one that is asked for.
func (e *Engine) undoing(ctx context.Context, run persistence.Run, to string) (*undoing, error) {
	p := e.p.Main()
	u := &undoing{run: run, dir: p.Dir}
	if tree := recordedTree(p, run); tree != nil {
		u.dir = tree.tree.Dir()
		if err := git.Linked(tree.tree.Path); err != nil {
			return nil, refuse(NotFound, "the files of run %s were in a work tree of their own: %v. A new run can "+
				"begin with them: %s", run.ID, err,
				Do(OpFork, string(run.ID), Setting{SetAt, "STEP"}, Setting{SetFiles, ""}, Setting{SetWorktree, ""}))
		}
	}
	env, limit := undoEnv(p, e.o), GitWait(p)
	chain, all, err := e.chain(ctx, run)
	if err != nil {
		return nil, err
	}
	if u.to, err = snapshotAt(all, to); err != nil {
		return nil, noSnapshot(run.ID, err)
	}
	u.chain, u.all = chain, inFolder(all, u.to.Folder)
	if u.to.Folder != "" {
		u.dir = filepath.Join(u.dir, u.to.Folder)
		if err := git.Linked(u.dir); err != nil {
			outer, _, _ := strings.Cut(u.to.Step, "/")
			return nil, refuse(NotFound, "step %s of run %s worked in a work tree of its own: %v. Commit %.12s has "+
				"its files; to take back what was merged: %s", u.to.Step, run.ID, err,
				u.to.Commit, Do(OpUndo, string(run.ID), Setting{SetTo, outer}))
		}
	}
	tmp := filepath.Join(p.Loops, "tmp") // no walk looks there
	if err := disk.MakeFolder(p.Loops, tmp); err != nil {
		return nil, err
	}
	place := filepath.Join(tmp, fmt.Sprintf("undo-%d", time.Now().UnixNano()))
	if err := disk.MkdirAll(place, 0o700); err != nil {
		return nil, err
	}
	u.walk = git.NewWalk(env, limit, u.dir, place)
	u.walk.Apart = recordFiles(p)
	u.walk.Include, u.walk.Largest = walked(e.ranSnapshots(ctx, run))
	if store, err := e.records(ctx, false, ""); err == nil {
		if m, err := store.Snapshot(ctx, run.ID); err == nil && m != nil && m.InFlight() { // else it is not known
			u.acting = m.Step
		}
	}
	if u.now, err = u.walk.Tree(ctx, u.all[len(u.all)-1].Tree, u.to.Tree); err == nil {
		err = u.spare(ctx, e.keptLoop(ctx, run))
	}
	if err != nil {
		return nil, errors.Join(u.failed(err), u.walk.Remove())
	}
	return u, nil
}

// isLoopFile reports whether a path is in a folder with loops and settings.
func isLoopFile(path string) bool { return slices.Contains(strings.Split(path, "/"), project.Folder) }

// spare has the files of .loops stay as they are that no action of the run changed: other loops are made and
// changed while a run is running, and after it. In a sandbox no action changes any.
func (u *undoing) spare(ctx context.Context, l *fsm.Loop) error {
	changes, err := u.walk.Changes(ctx, u.to.Tree, u.now)
	if err != nil || !slices.ContainsFunc(changes, func(c git.Change) bool { return isLoopFile(c.Path) }) {
		return err
	}
	acted := map[string]bool{}
	if !keepsLoopFiles(l) {
		trees := map[string]string{}
		for i, s := range u.all {
			trees[s.Commit] = s.Tree
			if s.When != git.After || i == 0 {
				continue
			}
			began := cmp.Or(trees[s.Began], u.all[i-1].Tree)
			of, err := u.walk.Changes(ctx, began, s.Tree)
			if err != nil {
				return err
			}
			for _, c := range of {
				acted[c.Path] = true
			}
		}
	}
	u.spared = func(path string) bool { return isLoopFile(path) && !acted[path] }
	u.to.Tree, err = u.walk.Replace(ctx, u.to.Tree, u.now, u.spared)
	return err
}

// keepsLoopFiles reports whether a sandbox keeps all actions of a loop from changing loops and settings.
func keepsLoopFiles(l *fsm.Loop) bool {
	return l != nil && l.Sandbox != nil && confine.Strength(l.Sandbox.Preset) >= confine.Strength(confine.Workspace)
}

// ranSnapshots returns what the loop of a run says of snapshots, as it was recorded; nil = nothing, or it
// cannot be read.
func (e *Engine) ranSnapshots(ctx context.Context, run persistence.Run) *fsm.FileSnapshots {
	if l := e.keptLoop(ctx, run); l != nil {
		return l.Snapshots
	}
	return nil
}

// keptLoop returns the loop of a run as it was recorded; nil = it cannot be read.
func (e *Engine) keptLoop(ctx context.Context, run persistence.Run) *fsm.Loop {
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil
	}
	if def := store.KeptDefinition(ctx, run.ID); def != nil {
		if l, err := def.Main().Load(); err == nil {
			return l
		}
	}
	return nil
}

// chain returns the snapshots of a run, oldest first. That there are none is a refusal.
func (e *Engine) chain(ctx context.Context, run persistence.Run) (*git.Chain, []git.Snapshot, error) {
	p := e.p.Main()
	if !p.InGit() {
		return nil, nil, refuse(NotFound, "%s is in no repository of git, so the files of run %s were not kept",
			p.Dir, run.ID)
	}
	c, err := git.OpenChain(ctx, git.Command(undoEnv(p, e.o), GitWait(p)), p.Dir, string(run.ID))
	if err != nil {
		return nil, nil, refuse(Failed, "the snapshots of run %s cannot be read: %s", run.ID, humanize.OneLine(err))
	}
	all := c.List()
	if len(all) == 0 {
		return nil, nil,
			refuse(NotFound, "no files of run %s were kept: that is done where the loop says snapshots: git, or the "+
				"run was started with %s or %s", run.ID, Setting{SetSnapshots, fsm.SnapshotsGit},
				Setting{Name: SetWorktree})
	}
	return c, all, nil
}

// failed is the error of git that neither found nor changed files.
func (u *undoing) failed(err error) error {
	return refuse(Failed, "the files of run %s cannot be put back in %s: %s", u.run.ID, u.dir, humanize.OneLine(err))
}

// errNoSnapshot is the error of a step that has no snapshot.
var errNoSnapshot = errors.New("no snapshot")

// noSnapshot is the refusal for an error of snapshotAt.
func noSnapshot(run persistence.ID, err error) error {
	if errors.Is(err, errNoSnapshot) {
		return refuse(NotFound, "run %s: %v", run, err)
	}
	return misuse(OpUndo, "%v", err)
}

// inFolder returns the snapshots of a folder, see [git.Snapshot].
func inFolder(all []git.Snapshot, folder string) []git.Snapshot {
	return slices.DeleteFunc(slices.Clone(all), func(s git.Snapshot) bool { return s.Folder != folder })
}

// isStep reports whether a snapshot was made before or after a step.
func isStep(s git.Snapshot) bool { return s.When == git.Before || s.When == git.After }

// folderOf returns the folder that a step works in: that of another step of the same sub-loop, branch or item,
// or else of what that is in.
func folderOf(all []git.Snapshot, at fsm.Address) string {
	for task := at.Task(); len(task.Hops) > 0; task.Hops = task.Hops[:len(task.Hops)-1] {
		for _, s := range all {
			of, ok := fsm.ParseAddress(s.Step)
			if of = of.Task(); ok && isStep(s) && len(of.Hops) == len(task.Hops) && task.Contains(of) {
				return s.Folder
			}
		}
	}
	return ""
}

// snapshotAt returns the snapshot that a word or an address asks for.
func snapshotAt(all []git.Snapshot, to string) (git.Snapshot, error) {
	own := inFolder(all, "")
	switch to {
	case "", UndoStart:
		return own[0], nil
	case UndoLast:
		for _, s := range slices.Backward(own) {
			if isStep(s) {
				return s, nil
			}
		}
		return git.Snapshot{}, fmt.Errorf("%w was made by a step of it", errNoSnapshot)
	case UndoFound:
		for i, s := range slices.Backward(all) {
			switch s.When {
			case git.Found:
				return s, nil
			case git.Restored: // the files were those of the snapshot before it
				if before := inFolder(all[:i], s.Folder); len(before) > 0 {
					return before[len(before)-1], nil
				}
			}
		}
		return git.Snapshot{}, fmt.Errorf("%w was made by an undo of it", errNoSnapshot)
	}
	text, after := strings.CutSuffix(to, UndoAfter)
	at, ok := fsm.ParseAddress(text)
	if !ok || at.Question > 0 {
		return git.Snapshot{}, fmt.Errorf("%s: expected a step such as 3, 2/lint/1 or 3%s, or %s, %s or %s",
			humanize.Quote(to), UndoAfter, UndoStart, UndoLast, UndoFound)
	}
	all = inFolder(all, folderOf(all, at))
	// The steps of the run are done one after the other, and so are those of a sub-loop, a branch and an item:
	// what has no snapshot changed nothing.
	task := at.Task()
	depth, step := len(task.Hops), at.Hops[len(at.Hops)-1].Step
	first, last, earlier := -1, -1, -1
	if depth == 0 {
		earlier = 0
	}
	for i, s := range all {
		of, is := fsm.ParseAddress(s.Step)
		if !is || !isStep(s) {
			continue
		}
		if at.Contains(of) {
			if last = i; first < 0 {
				first = i
			}
		}
		if task.Contains(of) && len(of.Hops) > depth &&
			(of.Hops[depth].Step < step || after && of.Hops[depth].Step == step) {
			earlier = i
		}
	}
	switch {
	case first < 0 && at.Step() && earlier >= 0:
		return all[earlier], nil
	case first < 0:
		return git.Snapshot{},
			fmt.Errorf("%w is of step %s: the run did not come to it, or it only asked or waited; go back to step %d",
				errNoSnapshot, text, at.Hops[0].Step)
	case after:
		return all[last], nil
	case all[first].When == git.Before || first == 0:
		return all[first], nil
	}
	for _, s := range all[:first] {
		if s.Commit == all[first].Began {
			return s, nil
		}
	}
	return all[first-1], nil
}

// others returns how the files differ from the last snapshot. What an undo that was cut short changed is no
// difference, and neither is that a guard put back what the last action changed: it kept a commit of its own.
func (u *undoing) others(ctx context.Context) ([]git.Change, error) {
	last := u.all[len(u.all)-1]
	changes, err := u.walk.Changes(ctx, last.Tree, u.now)
	if u.spared != nil {
		changes = slices.DeleteFunc(changes, func(c git.Change) bool { return u.spared(c.Path) })
	}
	if err != nil || len(changes) == 0 || last.When != git.Restored && !u.chain.Aside() || len(u.all) < 2 {
		return changes, err
	}
	since, err := u.walk.Changes(ctx, u.all[len(u.all)-2].Tree, u.now)
	return slices.DeleteFunc(changes, func(c git.Change) bool {
		return !slices.ContainsFunc(since, func(s git.Change) bool { return s.Path == c.Path })
	}), err
}

// mostOthers is how many files a refusal names.
const mostOthers = 5

// changed refuses to take back what others changed.
func (u *undoing) changed(others []git.Change) error {
	var names []string
	for _, c := range others[:min(len(others), mostOthers)] {
		names = append(names, c.Path)
	}
	if n := len(others) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("and %s more", humanize.Count(n, "file")))
	}
	last := u.all[len(u.all)-1]
	why := "others may have changed them"
	if u.acting > 0 {
		why = fmt.Sprintf("step %d was cut short and may have changed them, or others", u.acting)
	}
	return refuse(Conflict, "files of run %s differ from its last snapshot (%s), %s: %s. To take these changes back "+
		"as well (%s has them back): %s", u.run.ID, last.Label(), why,
		Lines{"", []string{strings.Join(names, ", ")}}, Setting{SetTo, UndoFound},
		Do(OpUndo, string(u.run.ID), Setting{Name: SetForce}))
}

// put keeps the files as they are, and brings them to the snapshot. It returns the commit that has them as they were.
func (u *undoing) put(ctx context.Context) (found string, err error) {
	step, last := u.to.Step, u.chain.Last(u.to.Folder)
	if u.to.When == git.Found || u.to.When == git.Restored {
		step = ""
	}
	if found = last.Commit; last.Tree != u.now || last.When == git.Restored {
		if found, err = u.chain.Add(ctx, u.now,
			git.Snapshot{Step: step, When: git.Found, Folder: u.to.Folder}); err != nil {
			return "", err
		}
	}
	// What a kill leaves half done is finished by the next undo, which finds this.
	if _, err = u.chain.Add(ctx, u.to.Tree, git.Snapshot{Step: step, When: git.Restored, Folder: u.to.Folder}); err !=
		nil {
		return "", err
	}
	return found, u.walk.Restore(context.WithoutCancel(ctx), u.to.Tree)
}

// unused refuses files that a live run works on.
func (e *Engine) unused(ctx context.Context, store *project.Records, dir string, but persistence.ID) error {
	runs, err := store.Runs(ctx, persistence.Query{})
	if err != nil {
		return store.Failed(err)
	}
	p := e.p.Main()
	for _, r := range project.Current(runs) {
		if r.ID == but || !alive(r) {
			continue
		}
		works := p.Dir
		if tree := recordedTree(p, r); tree != nil {
			works = tree.tree.Dir()
		}
		if filepath.Clean(works) == filepath.Clean(dir) {
			return refuse(Conflict, "run %s is running (pid %d) and works on the same files; wait for it, or: %s",
				r.ID, cmp.Or(r.Owner.PID, 0), Do(OpStop, string(r.ID)))
		}
	}
	return nil
}

// Snapshots returns the snapshots of a run, oldest first. That there are none is a refusal.
func (e *Engine) Snapshots(ctx context.Context, id string) ([]git.Snapshot, error) {
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	run, err := store.Finder().One(ctx, id)
	if err != nil {
		return nil, err
	}
	_, all, err := e.chain(ctx, run)
	return all, err
}

// A StepFiles names the files of a run as they were kept before or after a step.
type StepFiles struct {
	Step  string // address as users read it
	After bool   // of the step; else before it
	Tree  string // of git
	Began string // the tree that the step began with, where another step changed some since; else ""
}

// StepFiles returns the files that were kept of the folder of a run, oldest first; none where none were kept.
func (e *Engine) StepFiles(ctx context.Context, run persistence.Run) (files []StepFiles, err error) {
	_, all, err := e.chain(ctx, run)
	if refusal, none := errors.AsType[*Refusal](err); none && refusal.Kind == NotFound {
		return nil, nil
	}
	trees := map[string]string{}
	for _, s := range all {
		trees[s.Commit] = s.Tree
		if isStep(s) && s.Folder == "" {
			files = append(files, StepFiles{s.Step, s.When == git.After, s.Tree, trees[s.Began]})
		}
	}
	return files, err
}

// FilesDiff returns how two trees or commits with files of a run differ.
func (e *Engine) FilesDiff(ctx context.Context, run persistence.Run, from, to string) (*StepDiff, error) {
	c, err := git.OpenChain(ctx, git.Command(undoEnv(e.p.Main(), e.o), GitWait(e.p.Main())), e.p.Main().Dir,
		string(run.ID))
	if err != nil {
		return nil, err
	}
	files, text, err := c.Diff(ctx, from, to)
	return &StepDiff{files, text}, err
}

// A StepDiff is what a step of a run changed in its files.
type StepDiff struct {
	Files int
	Text  string // as git diff prints it; of files over 1 MB only the names
}

// StepDiff returns what a step of a run changed, with its branches and items; nil where that is not known, or nothing.
// Where others worked in the same files meanwhile, it has what they changed as well.
func (e *Engine) StepDiff(ctx context.Context, run persistence.Run, step string) (*StepDiff, error) {
	c, all, err := e.chain(ctx, run)
	if _, none := errors.AsType[*Refusal](err); none {
		return nil, nil //nolint:nilnil // it is not known
	}
	if err != nil {
		return nil, err
	}
	from, err := snapshotAt(all, step)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // nothing was changed, or nothing kept
	}
	to, err := snapshotAt(all, step+UndoAfter)
	if err != nil || from.Tree == to.Tree {
		return nil, err
	}
	files, text, err := c.Diff(ctx, from.Tree, to.Tree)
	return &StepDiff{files, text}, err
}

// A SnapshotDiff is one of the snapshots of a run, with how its files differ from those of the snapshot of the
// same folder before it.
type SnapshotDiff struct {
	git.Snapshot
	StepDiff
	Number, Of int    // from 1
	To         string // what an [UndoRequest] says to go back to it; "" = nothing does
}

// SnapshotDiff returns the snapshot of a run with a number, counted from 1; 0 = the last. A number beyond the
// last is that of the last. That there are no snapshots is a refusal.
func (e *Engine) SnapshotDiff(ctx context.Context, run persistence.Run, number int) (*SnapshotDiff, error) {
	c, all, err := e.chain(ctx, run)
	if err != nil {
		return nil, err
	}
	if number <= 0 || number > len(all) {
		number = len(all)
	}
	d := &SnapshotDiff{Snapshot: all[number-1], Number: number, Of: len(all)}
	switch d.When {
	case git.Before:
		d.To = d.Step
	case git.After:
		d.To = d.Step + UndoAfter
	}
	if before := inFolder(all[:number-1], d.Folder); len(before) > 0 {
		d.Files, d.Text, err = c.Diff(ctx, before[len(before)-1].Tree, d.Tree)
	}
	return d, err
}

// WriteSnapshots writes the snapshots of a run into a new file, a bundle of git. It reports whether there are any.
func WriteSnapshots(ctx context.Context, p *project.Project, id persistence.ID, file string) (bool, error) {
	return git.WriteBundle(ctx, git.Command(undoEnv(p, Options{Env: p.Env}), GitWait(p)), p.Main().Dir, string(id),
		file)
}

// ReadSnapshots adds the snapshots of a run in such a file to the repository of a project.
func ReadSnapshots(ctx context.Context, p *project.Project, id persistence.ID, file string) error {
	dir := p.Main().Dir
	if !git.InGit(dir) {
		return fmt.Errorf("%s is in no repository of git", dir)
	}
	return git.ReadBundle(ctx, git.Command(undoEnv(p, Options{Env: p.Env}), GitWait(p)), dir, string(id), file)
}
