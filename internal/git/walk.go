package git

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

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
// An unchanged folder costs one process of git, one more with Include; a changed one up to three more. Methods may be called at once; they wait
// for each other. An error is that of git, or ErrNoGit.
type Walk struct {
	Dir string // absolute; only what is below it is walked
	// absolute; of this Walk alone; made by the first call. It has to be the same for all processes of a run
	Place string
	// absolute paths of files that are in no tree, with those beside them that have their names and a dash: a database
	Apart []string

	Include []string // patterns of ignored files that are walked as well, as git's :(glob), from the top of the repository
	Below   []string // the same, from the folder
	Largest int64    // size of the largest new file that is in a tree, in bytes; 0 = 100 MiB

	git  runInput
	mu   sync.Mutex
	home *walkHome             // nil = nothing was walked
	seen map[string]disk.Stamp // what Place had after the last call
	last string                // the tree of that
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
	return &Walk{Dir: dir, Place: place, git: withInput(env, limit)}
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
	return w.restore(ctx, tree, changes)
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
		commit, err := addCommit(ctx, w.inRepository, ref, tip, tree, message)
		if err == nil || !isGitError(err) || try == refTries {
			return commit, err
		}
	}
}

// walkArgs are settings that nothing in the folder or in the settings of a user overrides.
var walkArgs = []string{
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.splitIndex=false",
	"-c", "core.sparseCheckout=false", "-c", "core.autocrlf=false", "-c", "core.fileMode=true", "-c", "core.symlinks=true",
	"-c", "core.attributesFile=/dev/null", "-c", "core.looseCompression=1", "-c", "gc.auto=0",
}

// walkAttributes come before those of any file in the folder.
const walkAttributes = "* -text -ident -filter !eol !diff !working-tree-encoding\n"

// ownRecords are what loops records below a folder, as patterns of git.
var ownRecords = []string{"**/.loops/.*", "**/.loops/runs/", "**/.loops/logs/", "**/.loops/tmp/", "**/.loops/memory/", TreesFolder + "/"}

// A walkHome is where a Walk finds things.
type walkHome struct {
	top    string   // of the work tree
	sub    string   // of the folder in it, with a slash behind; "" = it is the top
	common string   // folder of the repository that has the objects and refs
	index  string   // of this process
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
	h := &walkHome{top: w.Dir, common: w.Place}
	format := "sha1"
	if InGit(w.Dir) {
		out, err := w.git(ctx, w.Dir, nil, "", "rev-parse", "--path-format=absolute", "--show-object-format", "--git-common-dir", "--show-toplevel", "--show-prefix")
		if err != nil {
			return fmt.Errorf("git cannot look into %s: %w", w.Dir, err)
		}
		lines := strings.Split(out+"\n", "\n")
		format, h.common, h.top, h.sub = lines[0], lines[1], lines[2], lines[3]
	}
	h.index = filepath.Join(w.Place, fmt.Sprintf("index.%d.%d", os.Getpid(), time.Now().UnixNano()))
	h.env = append([]string{"GIT_DIR=" + w.Place, "GIT_WORK_TREE=" + h.top, "GIT_INDEX_FILE=" + h.index, "GIT_OPTIONAL_LOCKS=0"}, who...)
	if h.common != w.Place {
		h.env = append(h.env, "GIT_OBJECT_DIRECTORY="+filepath.Join(h.common, "objects"))
	}
	if format != "sha1" {
		h.env = append(h.env, "GIT_DEFAULT_HASH="+format)
	}
	w.home, w.seen = h, nil
	return nil
}

// make makes Place as git wants a repository, and begins with an empty index.
func (w *Walk) make() error {
	h := w.home
	for _, dir := range []string{filepath.Dir(w.Place), w.Place, filepath.Join(w.Place, "objects"), filepath.Join(w.Place, "refs")} {
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
	format := ""
	if i := slices.IndexFunc(h.env, func(v string) bool { return strings.HasPrefix(v, "GIT_DEFAULT_HASH=") }); i >= 0 {
		_, format, _ = strings.Cut(h.env[i], "=")
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
		{"HEAD", "ref: refs/heads/none\n"}, {"config", walkConfig(format)}, {"info/attributes", walkAttributes}, {"info/exclude", exclude},
	} {
		if err := os.WriteFile(filepath.Join(w.Place, f.name), []byte(f.text), 0o600); err != nil {
			return err
		}
	}
	w.last = ""
	return nil
}

// walkConfig returns the settings of a repository whose objects have hashes of a format; "" = sha1.
func walkConfig(format string) string {
	if format == "" || format == "sha1" {
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
	return []string{".", "info", "HEAD", "config", "info/attributes", "info/exclude", filepath.Base(w.home.index)}
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
	return w.git(ctx, w.home.common, append([]string{"GIT_DIR=" + w.home.common}, who...), "", append(slices.Clip(walkArgs), args...)...)
}

// walkTries is how often a walk is tried where files come and go under it.
const walkTries = 3

func (w *Walk) tree(ctx context.Context, known ...string) (tree string, err error) {
	for range walkTries {
		if tree, err = w.treeOnce(ctx, known); err == nil || !isGitError(err) {
			break
		}
		w.seen = nil // begin again
	}
	return tree, err
}

func (w *Walk) treeOnce(ctx context.Context, known []string) (string, error) {
	if err := w.open(ctx); err != nil {
		return "", err
	}
	found, err := w.look(ctx, known)
	if err != nil {
		return "", err
	}
	if w.last != "" && len(found.gone)+len(found.is) == 0 {
		return w.last, nil
	}
	if len(found.gone) > 0 {
		if _, err := w.in(ctx, w.Dir, nul(found.gone), "update-index", "-z", "--force-remove", "--stdin"); err != nil {
			return "", err
		}
	}
	if len(found.is) > 0 {
		if _, err := w.in(ctx, w.Dir, nul(found.is), "update-index", "-z", "--add", "--remove", "--replace", "--stdin"); err != nil {
			return "", err
		}
	}
	tree, err := w.in(ctx, w.Dir, "", "write-tree")
	if err != nil {
		return "", err
	}
	w.last = tree
	w.note()
	return tree, nil
}

func nul(names []string) string { return strings.Join(names, "\x00") + "\x00" }

// found is how the folder differs from the index: paths that it does not have as files or links any more, and those
// that it has.
type found struct{ gone, is []string }

// look finds out how the folder differs from the index.
func (w *Walk) look(ctx context.Context, known []string) (f found, err error) {
	out, err := w.list(ctx, w.Dir, nil, "-t", "-m", "-d")
	if err != nil {
		return f, err
	}
	if w.last == "" { // also what is ignored and tracked
		tracked, err := w.tracked(ctx)
		if err != nil {
			return f, err
		}
		for _, tree := range known {
			had, err := w.in(ctx, w.Dir, "", "ls-tree", "-r", "-z", "--name-only", tree)
			if err != nil {
				return f, err
			}
			tracked = append(tracked, split(had)...)
		}
		lines := make([]string, len(tracked), len(tracked)+len(out))
		for i, name := range tracked {
			lines[i] = "C " + name
		}
		out = append(lines, out...) // first: to an empty index all files are new, and new ones may be too large
	}
	included, err := w.included(ctx)
	if err != nil {
		return f, err
	}
	out = append(out, included...)
	done := make(map[string]bool, len(out))
	folders := map[string]bool{}
	for _, line := range out {
		if len(line) < 3 || done[line] {
			continue
		}
		done[line] = true
		tag, name := line[0], line[2:]
		if w.isApart(name) {
			continue
		}
		done["C "+name], done["R "+name], done["? "+name] = true, true, true
		if tag == '?' && strings.HasSuffix(name, "/") {
			inner, err := w.nested(ctx, name)
			if err != nil {
				return f, err
			}
			f.is = append(f.is, inner...)
			continue
		}
		switch is := w.kind(name, tag == '?', folders); {
		case is:
			f.is = append(f.is, name)
		case tag != '?':
			f.gone = append(f.gone, name)
		}
	}
	return f, nil
}

// isApart reports whether a path is of what loops records. It may be tracked.
func (w *Walk) isApart(name string) bool {
	parts := strings.Split(name, "/")
	for i, part := range parts[:len(parts)-1] {
		next := parts[i+1]
		if part == TreesFolder || part == ".loops" && (strings.HasPrefix(next, ".") || next == "runs" || next == "logs" || next == "tmp" || next == "memory") {
			return true
		}
	}
	path := filepath.Join(w.Dir, name)
	return slices.ContainsFunc(w.Apart, func(apart string) bool { return path == apart || strings.HasPrefix(path, apart+"-") })
}

// kind reports whether a path is a file or link that belongs into a tree. folders remembers which folders are no links.
func (w *Walk) kind(name string, isNew bool, folders map[string]bool) bool {
	if !isNew {
		for i := range len(name) {
			if name[i] != '/' {
				continue
			}
			dir := name[:i]
			isDir, known := folders[dir]
			if !known {
				info, err := os.Lstat(filepath.Join(w.Dir, dir))
				isDir = err == nil && info.IsDir()
				folders[dir] = isDir
			}
			if !isDir {
				return false
			}
		}
	}
	path := filepath.Join(w.Dir, name)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return false
	case info.Mode()&fs.ModeSymlink != 0:
		return true
	case !info.Mode().IsRegular() || isNew && info.Size() > cmp.Or(w.Largest, largest):
		return false
	}
	return unix.Access(path, unix.R_OK) == nil
}

// list lists files of a work tree that are new, and what args add to that.
func (w *Walk) list(ctx context.Context, dir string, env []string, args ...string) ([]string, error) {
	all := append([]string{"ls-files", "-z", "-o", "--exclude-standard"}, args...)
	for _, p := range ownRecords {
		all = append(all, "-x", p)
	}
	out, err := w.git(ctx, dir, append(slices.Clip(w.home.env), env...), "", append(slices.Clip(walkArgs), all...)...)
	return split(out), err
}

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
	out, err := w.git(ctx, w.Dir, []string{"GIT_OPTIONAL_LOCKS=0"}, "", append(slices.Clip(walkArgs), "ls-files", "-z")...)
	return split(out), err
}

// included returns the ignored files that are walked, as look reads them.
func (w *Walk) included(ctx context.Context) (lines []string, err error) {
	if len(w.Include)+len(w.Below) == 0 {
		return nil, nil
	}
	args := append(slices.Clip(walkArgs), "ls-files", "-z", "-o", "--")
	for _, p := range w.Include {
		args = append(args, ":(top,glob)"+p)
	}
	for _, p := range w.Below {
		args = append(args, ":(glob)"+p)
	}
	out, err := w.git(ctx, w.Dir, w.home.env, "", args...)
	for _, name := range split(out) {
		if !strings.HasSuffix(name, "/") {
			lines = append(lines, "? "+name)
		}
	}
	return lines, err
}

// nested returns the files of a repository inside the folder. name ends in a slash.
func (w *Walk) nested(ctx context.Context, name string) (files []string, err error) {
	dir := filepath.Join(w.Dir, name)
	names, err := w.list(ctx, dir, []string{"GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + w.home.index + ".none"})
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		path := name + n
		if strings.HasSuffix(n, "/") {
			inner, err := w.nested(ctx, path)
			if err != nil {
				return nil, err
			}
			files = append(files, inner...)
		} else if !w.isApart(path) && w.kind(path, true, nil) {
			files = append(files, path)
		}
	}
	return files, nil
}
