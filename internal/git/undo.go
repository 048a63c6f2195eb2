package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// undoRefs is where the snapshots of runs are. Nothing is pushed from there but by git push --mirror.
const undoRefs = "refs/loops-undo/"

// UndoRef is the ref with the snapshots of a run: commits in a row, each with the files as they were.
func UndoRef(run string) string { return undoRefs + refName(run) }

// When a snapshot was made.
const (
	Before   = "before"   // a step
	After    = "after"    // a step
	Found    = "found"    // an undo or a fork: the files as it found them
	Restored = "restored" // an undo or a fork: the files as it leaves them
)

// A Snapshot is a commit with the files of a run as they were at a time.
type Snapshot struct {
	Commit, Tree string
	Time         time.Time
	Step         string // address as users read it; of Found and Restored the one that was asked for
	When         string
	// the commit with the files as they were when the step began, where another step changed some since; else ""
	Began string
	// path of the work tree that has the files, relative to the folder of the run; "" = they are in that folder
	Folder string
}

// Label says when a snapshot was made, such as "2/b/1 after".
func (s Snapshot) Label() string { return strings.TrimSpace(s.Step + " " + s.When) }

// The trailers of snapshots.
const (
	stepTrailer  = "Loops-Step"  // address, and Before or After
	undoTrailer  = "Loops-Undo"  // address, and Found or Restored
	beganTrailer = "Loops-Began" // Snapshot.Began
	// tree and path of a work tree, of a commit that has the files of the run's own folder; its second parent has those
	// of the work tree, on top of the snapshot of them before
	folderTrailer = "Loops-Folder"
)

func (s Snapshot) message(run string) string {
	key := stepTrailer
	if s.When == Found || s.When == Restored {
		key = undoTrailer
	}
	text := fmt.Sprintf("Files of a run\n\nLoops-Run: %s\n%s: %s\n", refName(run), key, s.Label())
	if s.Began != "" {
		text += beganTrailer + ": " + s.Began + "\n"
	}
	if s.Folder != "" {
		text += folderTrailer + ": " + s.Tree + " " + s.Folder + "\n"
	}
	return text
}

// alone has git start no program that the settings of the repository name, and not tidy up.
var alone = []string{"-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}

// A Chain is the snapshots of one run: commits on its ref, each on top of the one before. It is not safe for concurrent
// use.
type Chain struct {
	git      RunEnv
	dir, run string
	store    objectStore
	refs     *refUpdater // nil = a process for each snapshot

	tip string     // what the ref has; "" = it is not there
	all []Snapshot // oldest first
	on  string     // the commit on the ref of the newest snapshot; "" = there is none
}

// OpenChain returns the snapshots of a run in the repository of dir.
func OpenChain(ctx context.Context, git RunEnv, dir, run string) (*Chain, error) {
	c := &Chain{git: git, dir: dir, run: run}
	return c, c.read(ctx)
}

// Batch has a process of git with an environment move the ref for all snapshots until Close, where git can do that.
func (c *Chain) Batch(env []string, limit time.Duration) {
	c.refs = &refUpdater{env: append(helperEnv(env), who...), limit: limit}
}

// Close ends what Batch started. A nil Chain has nothing.
func (c *Chain) Close() {
	if c != nil {
		c.refs.close()
	}
}

// read finds out what the ref has.
func (c *Chain) read(ctx context.Context) (err error) {
	c.all, c.on = nil, ""
	if c.tip, err = answer(c.git(ctx, c.dir, nil, "rev-parse", "-q", "--verify", UndoRef(c.run)+"^{commit}")); err !=
		nil || c.tip == "" {
		return err
	}
	out, err := c.git(ctx, c.dir, nil, "log", "--first-parent", "--no-show-signature", "--no-notes",
		"--format=%H%x00%T%x00%ct%x00%P%x00%B%x01", c.tip, "--")
	if err != nil {
		return err
	}
	for entry := range strings.SplitSeq(out, "\x01") {
		part := strings.SplitN(strings.TrimPrefix(entry, "\n"), "\x00", 5)
		if len(part) < 5 {
			continue
		}
		at, _ := strconv.ParseInt(part[2], 10, 64)
		s := Snapshot{Commit: part[0], Tree: part[1], Time: time.Unix(at, 0)}
		if !s.parse(part[4]) { // others may have put commits of their own there
			continue
		}
		if c.on == "" {
			c.on = part[0]
		}
		if parents := strings.Fields(part[3]); s.Folder != "" && len(parents) > 0 {
			s.Commit = parents[len(parents)-1]
		}
		c.all = append(c.all, s)
	}
	slices.Reverse(c.all)
	return nil
}

// Last returns the newest snapshot of a folder, see [Snapshot.Folder]; the zero Snapshot where there is none.
func (c *Chain) Last(folder string) Snapshot {
	for _, s := range slices.Backward(c.all) {
		if s.Folder == folder {
			return s
		}
	}
	return Snapshot{}
}

// Aside reports whether the newest commit on the ref is no snapshot: a guard put something aside after the last one.
func (c *Chain) Aside() bool { return c.tip != c.on }

// List returns the snapshots, oldest first.
func (c *Chain) List() []Snapshot { return slices.Clone(c.all) }

// parse reads a message. It reports whether it is one of a snapshot.
func (s *Snapshot) parse(message string) bool {
	for line := range strings.Lines(message) {
		switch key, v, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
		case stepTrailer, undoTrailer:
			at := strings.LastIndexByte(v, ' ')
			s.Step, s.When = v[:max(at, 0)], v[at+1:]
		case beganTrailer:
			s.Began = v
		case folderTrailer:
			s.Tree, s.Folder, _ = strings.Cut(v, " ")
		}
	}
	return slices.Contains([]string{Before, After, Found, Restored}, s.When)
}

// Add adds a snapshot with a tree, and returns its commit. When it returns the ref has it; before, nothing of it
// counts. Where others put a commit on the ref meanwhile, it is added after that.
func (c *Chain) Add(ctx context.Context, tree string, s Snapshot) (commit string, err error) {
	if c.store.dir == "" {
		out, err := c.inRepository(ctx, "rev-parse", "--path-format=absolute", "--show-object-format", "--git-path",
			"objects")
		if err != nil {
			return "", err
		}
		c.store.format, c.store.dir, _ = strings.Cut(out, "\n")
	}
	s.Tree = tree
	for try := 1; ; try++ {
		if s.Commit, err = c.add(ctx, s); err == nil {
			s.Time = time.Now()
			c.all = append(c.all, s)
			return s.Commit, nil
		}
		if !isGitError(err) || try == refTries {
			return "", err
		}
		if err := c.read(ctx); err != nil {
			return "", err
		}
	}
}

// add adds a snapshot on top of what the ref has, and returns the commit with its files.
func (c *Chain) add(ctx context.Context, s Snapshot) (has string, err error) {
	tree, parents := s.Tree, []string{c.tip}
	if s.Folder != "" {
		if c.tip == "" { // its first parent is never one of a work tree
			root := c.store.tree(nil)
			first := c.store.commit(root.id, "Files of a run\n")
			if err := errors.Join(c.store.write(root), c.store.write(first)); err != nil {
				return "", err
			}
			parents = []string{first.id}
		}
		own := c.store.commit(s.Tree, s.message(c.run), c.Last(s.Folder).Commit)
		if err := c.store.write(own); err != nil {
			return "", err
		}
		has, tree, parents = own.id, cmp.Or(c.Last("").Tree, s.Tree), append(parents, own.id)
	}
	on := c.store.commit(tree, s.message(c.run), parents...)
	if err := c.store.write(on); err != nil {
		return "", err
	}
	if err := c.move(ctx, on.id); err != nil {
		return "", err
	}
	c.tip, c.on = on.id, on.id
	return cmp.Or(has, on.id), nil
}

// move moves the ref from the tip to a commit. A stop of the run does not cut it short: that could leave a lock.
func (c *Chain) move(ctx context.Context, to string) error {
	ctx = context.WithoutCancel(ctx)
	if c.refs.ready(ctx, c.git, filepath.Dir(c.store.dir)) {
		return c.refs.move(ctx, UndoRef(c.run), to, c.tip)
	}
	_, err := c.inRepository(ctx, "update-ref", UndoRef(c.run), to, c.tip)
	return err
}

func (c *Chain) inRepository(ctx context.Context, args ...string) (string, error) {
	return c.git(ctx, c.dir, who, append(slices.Clone(alone), args...)...)
}

// refTries is how often a commit is put on a ref to which others add commits, too.
const refTries = 6

// addCommit puts a commit of a tree on a ref, after the commit tip that it has; "" = it is not there. git runs
// git in its repository, which has the objects of store. Git refuses where the ref has another commit meanwhile.
func addCommit(ctx context.Context, git func(context.Context, ...string) (string, error), store objectStore,
	ref, tip, tree, message string,
) (string, error) {
	commit := store.commit(tree, message, tip)
	if err := store.write(commit); err != nil {
		return "", err
	}
	if _, err := git(ctx, "update-ref", ref, commit.id, tip); err != nil {
		return "", err
	}
	return commit.id, nil
}

// Diff returns how two trees differ, as git diff prints it, and in how many files. Files over 1 MB are only named.
func (c *Chain) Diff(ctx context.Context, from, to string) (files int, text string, err error) {
	args := append(slices.Clone(alone), "-c", "core.bigFileThreshold=1m", "diff-tree", "-r", "--no-ext-diff",
		"--no-textconv", "--no-color", "--no-renames")
	names, err := c.git(ctx, c.dir, nil, append(slices.Clone(args), "--name-only", "-z", from, to, "--")...)
	if err == nil {
		text, err = c.git(ctx, c.dir, nil, append(args, "-p", from, to, "--")...)
	}
	return strings.Count(names, "\x00"), text, err
}

// ForgetUndo deletes the snapshots of runs, and the other trees that are kept of them, from the repository of dir. That
// there are none is no error, nor that dir is in no repository. Without the program git nothing is deleted: where it
// never was, there are no snapshots.
func ForgetUndo(ctx context.Context, git RunEnv, dir string, runs []string) error {
	if len(runs) == 0 || !InGit(dir) {
		return nil
	}
	out, err := git(ctx, dir, nil, "for-each-ref", "--format=%(refname)", strings.TrimSuffix(undoRefs, "/"),
		strings.TrimSuffix(proofRefs, "/"))
	if errors.Is(err, ErrNoGit) {
		return nil
	}
	if err != nil {
		return notRefused(err)
	}
	gone := map[string]bool{}
	for _, run := range runs {
		gone[UndoRef(run)], gone[ProofRef(run, AtStart)], gone[ProofRef(run, AtEnd)] = true, true, true
	}
	for ref := range strings.Lines(out) {
		if ref = strings.TrimSpace(ref); !gone[ref] {
			continue
		}
		if _, err := git(ctx, dir, nil, append(slices.Clone(alone), "update-ref", "-d", ref)...); err != nil {
			return err
		}
	}
	return nil
}

// WriteBundle writes the snapshots of a run into a new file, from which [ReadBundle] takes them. It reports whether
// there are any, which is not found out without the program git.
func WriteBundle(ctx context.Context, git RunEnv, dir, run, file string) (bool, error) {
	if !InGit(dir) {
		return false, nil
	}
	tip, err := answer(git(ctx, dir, nil, "rev-parse", "-q", "--verify", UndoRef(run)+"^{commit}"))
	if errors.Is(err, ErrNoGit) {
		return false, nil
	}
	if err != nil || tip == "" {
		return false, err
	}
	_, err = git(ctx, dir, nil, "bundle", "create", "-q", file, UndoRef(run))
	return err == nil, err
}

// ReadBundle adds the snapshots of a run in a file to the repository of dir. Those that are there already stay: others
// in the file are an error.
func ReadBundle(ctx context.Context, git RunEnv, dir, run, file string) error {
	ref := UndoRef(run)
	_, err := git(ctx, dir, nil, append(slices.Clone(alone), "fetch", "-q", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--end-of-options", file, ref+":"+ref)...)
	return err
}
