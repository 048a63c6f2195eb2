package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/internal/disk"
)

// A Walk names what is in a folder by trees of git, compares two of them, and brings the folder back to one. The guard
// and the snapshots of a run share one for each folder that its actions work in.
//
// Where the folder is in a repository, objects and refs are those of the repository. Its index, HEAD, stash and
// settings are neither read for content nor changed: a Walk has an index and settings of its own in Place. Elsewhere
// Place is the repository. Nothing that an action wrote is run: no hook, no filter, no other git in a repository
// inside the folder.
//
// A tree has every file below the folder, byte for byte (no line end is converted), with whether it may be executed,
// and every link. Not in it are: files that .gitignore or the settings of the repository ignore, unless the repository
// tracks them; what loops itself records; .git; empty folders; new files that are larger than 100 MiB, cannot be read,
// or are neither files nor links. A repository inside the folder, such as a submodule, counts as its files. Of the mode
// nothing else is in it.
//
// The first look costs a few processes of git. After that an unchanged folder costs none, and one with Include;
// a changed one costs none either unless much changed: what decides what is ignored, and what compares trees,
// stays alive until Close. Methods may be called at once; they wait for each other. An error is that of git, or
// ErrNoGit.
type Walk struct {
	Dir string // absolute; only what is below it is walked
	// absolute; of this Walk alone; made by the first call. It has to be the same for all processes of a run
	Place string
	// absolute paths of files that are in no tree, with those beside them that have their names and a dash: a database
	Apart []string

	// patterns of ignored files that are walked as well, as git's :(glob), from the top of the repository
	Include []string
	Below   []string // the same, from the folder
	Largest int64    // size of the largest new file that is in a tree, in bytes; 0 = 100 MiB

	git   runInput
	env   []string // of git
	limit time.Duration

	mu        sync.Mutex
	home      *walkHome             // nil = nothing was walked
	seen      map[string]disk.Stamp // what Place had after the last call
	root      *folder               // what is known of the folder; nil = nothing was walked
	look      int                   // the number of the last look
	last      string                // the tree of that; "" = there was none
	ignoring  map[string]*helper    // by the repository that decides what is ignored
	comparing *helper
}

// A Change is how a path differs between two trees.
type Change struct {
	Path  string // relative to the folder of the Walk, with slashes; any bytes but NUL
	Kind  ChangeKind
	Mode  string // before and after, as git has them: 100644, 100755 or 120000 (a link); 000000 = it is not there
	Was   string
	Lines int // that were added or removed; 0 where git takes the file for binary

	id string // of the object after; zeros = it is not there
}

// A ChangeKind is what happened to a path. A file that was renamed is deleted and added.
type ChangeKind byte

// The kinds of change.
const (
	Added   ChangeKind = 'A'
	Changed ChangeKind = 'M' // content, mode, or a file became a link
	Deleted ChangeKind = 'D'
)

// NewWalk returns a Walk of a folder. env is the environment of git, limit how long each of its commands may take.
func NewWalk(env []string, limit time.Duration, dir, place string) *Walk {
	return &Walk{
		Dir: dir, Place: place, git: withInput(env, limit), env: helperEnv(env), limit: limit,
		ignoring: map[string]*helper{},
	}
}

// Tree returns the name of what is in the folder now. Equal names mean equal files. known are trees of an earlier
// process: what they have is looked for, even if it is ignored now and the repository does not track it any more.
func (w *Walk) Tree(ctx context.Context, known ...string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tree(ctx, known...)
}

// Changes returns how one tree differs from another, sorted by path.
func (w *Walk) Changes(ctx context.Context, from, to string) ([]Change, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if from == to {
		return nil, nil
	}
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	return w.changes(ctx, from, to)
}

// Restore brings the files of the folder to a tree, and nothing else: what the tree does not have is removed, what
// differs is written. Folders that are empty after that are removed. It may be repeated after it was cut short.
func (w *Walk) Restore(ctx context.Context, tree string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, err := w.tree(ctx, tree)
	if err != nil || now == tree {
		return err
	}
	changes, err := w.changes(ctx, now, tree)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if c.Kind != Deleted {
			w.root.knowFile(c.Path, true)
		}
	}
	return w.lay(ctx, tree, changes)
}

// Keep makes a commit of a tree on top of a ref, and returns it. Nothing is made where the ref has such a commit
// already: the same tree with the same message.
func (w *Walk) Keep(ctx context.Context, ref, tree, message string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.open(ctx); err != nil {
		return "", err
	}
	for try := 1; ; try++ {
		tip, err := answer(w.inRepository(ctx, "rev-parse", "-q", "--verify", ref+"^{commit}"))
		if err != nil {
			return "", err
		}
		if tip != "" {
			has, err := w.inRepository(ctx, "log", "-1", "--format=%T %B", tip, "--")
			if err != nil || strings.TrimSpace(has) == tree+" "+strings.TrimSpace(message) {
				return tip, err
			}
		}
		commit, err := addCommit(ctx, w.inRepository, w.store(), ref, tip, tree, message)
		if err == nil || !isGitError(err) || try == refTries {
			return commit, err
		}
	}
}

// walkArgs are settings that nothing in the folder or in the settings of a user overrides.
var walkArgs = []string{
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c",
	"core.splitIndex=false",
	"-c", "core.sparseCheckout=false", "-c", "core.autocrlf=false", "-c", "core.fileMode=true", "-c",
	"core.symlinks=true",
	"-c", "core.attributesFile=/dev/null", "-c", "core.looseCompression=1", "-c", "gc.auto=0",
}

// walkAttributes come before those of any file in the folder.
const walkAttributes = "* -text -ident -filter !eol !diff !working-tree-encoding\n"

// A walkHome is where a Walk finds things.
type walkHome struct {
	top    string   // of the work tree
	sub    string   // of the folder in it, with a slash behind; "" = it is the top
	common string   // folder of the repository that has the objects and refs
	format string   // of the names of its objects
	index  string   // of this process; only those beside it are used
	env    []string // of git in Place
}

// open finds the repository and makes Place. What others changed there is made again.
func (w *Walk) open(ctx context.Context) error {
	if w.home != nil && w.untouched() {
		return nil
	}
	if w.home == nil {
		if err := w.find(ctx); err != nil {
			return err
		}
	}
	return w.make()
}

// find finds the repository that the folder is in.
func (w *Walk) find(ctx context.Context) error {
	h := &walkHome{top: w.Dir, common: w.Place, format: "sha1"}
	if InGit(w.Dir) {
		out, err := w.git(ctx, w.Dir, nil, "", "rev-parse", "--path-format=absolute", "--show-object-format",
			"--git-common-dir", "--show-toplevel", "--show-prefix")
		if err != nil {
			return fmt.Errorf("git cannot look into %s: %w", w.Dir, err)
		}
		lines := strings.Split(out+"\n", "\n")
		h.format, h.common, h.top, h.sub = lines[0], lines[1], lines[2], lines[3]
	}
	h.index = filepath.Join(w.Place, fmt.Sprintf("index.%d.%d", os.Getpid(), time.Now().UnixNano()))
	h.env = append([]string{
		"GIT_DIR=" + w.Place, "GIT_WORK_TREE=" + h.top, "GIT_INDEX_FILE=" + h.index,
		"GIT_OPTIONAL_LOCKS=0",
	}, who...)
	if h.common != w.Place {
		h.env = append(h.env, "GIT_OBJECT_DIRECTORY="+filepath.Join(h.common, "objects"))
	}
	if h.format != "sha1" {
		h.env = append(h.env, "GIT_DEFAULT_HASH="+h.format)
	}
	w.home, w.seen = h, nil
	return nil
}

// make makes Place as git wants a repository.
func (w *Walk) make() error {
	h := w.home
	w.forgetIgnored() // it may have read what others wrote there
	if w.root != nil {
		w.root.forget()
	}
	for _, dir := range []string{
		filepath.Dir(w.Place), w.Place, filepath.Join(w.Place, "objects"),
		filepath.Join(w.Place, "refs"),
	} {
		if err := ownFolder(dir); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(w.Place)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); name != "objects" && name != "refs" {
			if err := os.RemoveAll(filepath.Join(w.Place, name)); err != nil {
				return err
			}
		}
	}
	exclude := ""
	if h.common != w.Place {
		b, err := os.ReadFile(filepath.Join(h.common, "info", "exclude"))
		if err == nil {
			exclude = string(b)
		}
	}
	if err := os.Mkdir(filepath.Join(w.Place, "info"), 0o700); err != nil {
		return err
	}
	for _, f := range []struct{ name, text string }{
		{"HEAD", "ref: refs/heads/none\n"},
		{"config", walkConfig(h.format)},
		{"info/attributes", walkAttributes},
		{"info/exclude", exclude},
	} {
		if err := os.WriteFile(filepath.Join(w.Place, f.name), []byte(f.text), 0o600); err != nil {
			return err
		}
	}
	w.note()
	return nil
}

// walkConfig returns the settings of a repository whose objects have hashes of a format.
func walkConfig(format string) string {
	if format == "sha1" {
		return "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	}
	return "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = " + format + "\n"
}

// ownFolder makes a folder. Whatever else is there, such as a link to another folder, is removed.
func ownFolder(dir string) error {
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o700)
}

// placed are the files and folders of Place that decide what git does.
func (w *Walk) placed() []string {
	return []string{".", "info", "HEAD", "config", "info/attributes", "info/exclude"}
}

// note remembers what Place has.
func (w *Walk) note() {
	w.seen = map[string]disk.Stamp{}
	for _, name := range w.placed() {
		w.seen[name], _, _ = disk.StampOf(filepath.Join(w.Place, name))
	}
}

// untouched reports whether Place is as the last call left it.
func (w *Walk) untouched() bool {
	return w.seen != nil && !slices.ContainsFunc(w.placed(), func(name string) bool {
		now, _, _ := disk.StampOf(filepath.Join(w.Place, name))
		return now != w.seen[name]
	})
}

// in runs git with the index and settings of the Walk, in a folder.
func (w *Walk) in(ctx context.Context, dir, input string, args ...string) (string, error) {
	return w.git(ctx, dir, w.home.env, input, append(slices.Clip(walkArgs), args...)...)
}

// inRepository runs git in the repository that has the refs.
func (w *Walk) inRepository(ctx context.Context, args ...string) (string, error) {
	return w.git(ctx, w.home.common, append([]string{"GIT_DIR=" + w.home.common}, who...), "",
		append(slices.Clip(walkArgs), args...)...)
}

// walkTries is how often a walk is tried where files come and go under it.
const walkTries = 3

func (w *Walk) tree(ctx context.Context, known ...string) (tree string, err error) {
	for range walkTries {
		if tree, err = w.treeOnce(ctx, known); err == nil || !isGitError(err) {
			break
		}
		w.root, w.last = nil, "" // begin again
	}
	return tree, err
}

func (w *Walk) treeOnce(ctx context.Context, known []string) (string, error) {
	if err := w.open(ctx); err != nil {
		return "", err
	}
	if w.root == nil {
		if err := w.begin(ctx, known); err != nil {
			return "", err
		}
	}
	included, err := w.included(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range included {
		if !w.isApart(name) {
			w.root.knowFile(name, false)
		}
	}
	w.look++
	s := &scan{Walk: w, apart: map[string][]string{}}
	for _, path := range w.Apart {
		if rel, err := filepath.Rel(w.Dir, path); err == nil {
			in, name := filepath.Split(rel)
			s.apart[in] = append(s.apart[in], name)
		}
	}
	dir, err := os.Open(w.Dir)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	items, err := readItems(dir)
	if err != nil {
		return "", err
	}
	if err := s.folder(ctx, w.root, dir, items, "", ""); err != nil {
		return "", err
	}
	if err := s.read(ctx); err != nil {
		return "", err
	}
	was := w.root.id
	if s.build(w.root); w.last == "" || w.root.id != was {
		tree := s.top(w.root.id)
		if err := s.write(ctx); err != nil {
			w.root, w.last = nil, "" // what is known is not kept
			return "", err
		}
		w.last = tree
	}
	return w.last, nil
}

func nul(names []string) string { return strings.Join(names, "\x00") + "\x00" }

// begin begins with what is walked although it is ignored: what the repository tracks, and what is in known trees.
func (w *Walk) begin(ctx context.Context, known []string) error {
	names, err := w.tracked(ctx)
	if err != nil {
		return err
	}
	for _, tree := range known {
		had, err := w.in(ctx, w.Dir, "", "ls-tree", "-r", "-z", "--name-only", tree)
		if err != nil {
			return err
		}
		names = append(names, split(had)...)
	}
	w.root, w.last = newFolder(), ""
	for _, name := range names {
		w.root.know(name, true)
	}
	return nil
}

// store returns the objects of the repository.
func (w *Walk) store() objectStore {
	return objectStore{filepath.Join(w.home.common, "objects"), w.home.format}
}

// isRecord reports whether a name in a folder .loops is of what loops records.
func isRecord(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains([]string{"runs", "logs", "tmp", "memory"}, name)
}

// isApart reports whether a path is of what loops records. It may be tracked.
func (w *Walk) isApart(name string) bool {
	parts := strings.Split(name, "/")
	for i, part := range parts[:len(parts)-1] {
		next := parts[i+1]
		if part == TreesFolder || part == ".loops" && isRecord(next) {
			return true
		}
	}
	path := filepath.Join(w.Dir, name)
	return slices.ContainsFunc(w.Apart, func(apart string) bool {
		return path == apart || strings.HasPrefix(path, apart+"-")
	})
}

// split returns the names in what git prints with -z.
func split(out string) []string {
	if out == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
}

// tracked returns the paths below the folder that the repository tracks.
func (w *Walk) tracked(ctx context.Context) ([]string, error) {
	if w.home.common == w.Place {
		return nil, nil
	}
	out, err := w.git(ctx, w.Dir, []string{"GIT_OPTIONAL_LOCKS=0"}, "",
		append(slices.Clip(walkArgs), "ls-files", "-z")...)
	return split(out), err
}

// included returns the ignored files that are walked.
func (w *Walk) included(ctx context.Context) ([]string, error) {
	if len(w.Include)+len(w.Below) == 0 {
		return nil, nil
	}
	args := []string{"ls-files", "-z", "-o", "--"}
	for _, p := range w.Include {
		args = append(args, ":(top,glob)"+p)
	}
	for _, p := range w.Below {
		args = append(args, ":(glob)"+p)
	}
	out, err := w.in(ctx, w.Dir, "", args...)
	return slices.DeleteFunc(split(out), func(name string) bool { return strings.HasSuffix(name, "/") }), err
}
