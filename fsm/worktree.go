package fsm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"loops/fsm/value"
)

// worktrees is the folder, in the directory of the run, that holds the work trees of sub-loops.
const worktrees = ".worktrees"

// attach makes sure that a sub-loop has the work tree of its branch. It returns why git refused, if it did. The
// work tree is on record before git is asked, so that it never lacks its owner. The process may have died while git
// made it: one without the mark of an owner is made again. One with it may have what an earlier visit left.
func (e *Executor) attach(st *State, c *Child) (refused string, err error) {
	if c.Branch == "" {
		return "", nil
	}
	if c.Memory.Step > 0 || c.Memory.Outcome != nil {
		return "", e.reattach(st, c)
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, c.Branch)
	if c.Worktree == "" {
		c.Worktree = e.freeTree(e.now().Format("20060102-150405") + "-subloop-" + name)
		if !e.record(true) {
			return "", errHalted
		}
	}
	// What was not committed made an earlier visit leave its work tree, which is used again, unless another
	// process works there.
	inUse := ""
	for x := e; x != nil && x.dir != ""; x = x.parent {
		inUse += " | " + value.ShellQuote(x.dir)
	}
	res, err := e.git(st, "making the work tree of branch "+c.Branch, "", ownTree+`set -o pipefail
new=`+value.ShellQuote(c.Worktree)+` branch=`+value.ShellQuote(c.Branch)+`
kept=$(git worktree list --porcelain | awk -v b="branch refs/heads/$branch" '/^worktree /{p=substr($0,10)} $0==b{print p}') || exit
if [ -n "$kept" ] && { finish "$kept" || [ ! -e "$kept" ]; }; then git worktree prune; kept=; fi
case $kept in
''`+inUse+`) ;;
"$new") if owned "$new"; then unused "$new" || { echo "process $pid works there" >&2; exit 1; }; own "$new"; exit; fi ;;
*/`+worktrees+`/*-subloop-`+name+`*) if linked "$kept" && unused "$kept"; then own "$kept"; echo "$kept"; exit; fi ;;
esac
if owned "$new"; then echo "$new is a work tree of something else now" >&2; exit 1; fi
if [ -e "$new" ]; then git worktree remove -ff -- "$new" || rm -rf -- "$new"; git worktree prune; fi
ignore "$new" && git worktree add -q -- "$new" "$branch" >&2 && own "$new"`)
	if err != nil {
		return "", err
	}
	if res.ExitCode != 0 {
		text := gitText(res)
		e.mem.setCapture(st.Name, value.NewMap("error", text))
		e.emit(EventWorktreeError, Field{"branch", c.Branch}, Field{"error", text})
		return text, nil
	}
	if kept := strings.TrimSpace(res.Stdout); kept != "" {
		c.Worktree = kept
	}
	if dir, ok := c.Memory.Context.Value("run_dir").(string); ok && dir != "" && !filepath.IsAbs(dir) {
		slash := strings.HasSuffix(dir, "/")
		if dir = filepath.Join(e.cfg.Dir, dir); slash {
			dir += "/"
		}
		values := c.Memory.Context.Clone()
		values.Set("run_dir", dir)
		c.Memory.Context = values
	}
	e.emit(EventWorktreeAttached, Field{"branch", c.Branch}, Field{"path", c.Worktree})
	return "", nil
}

// workTree is attach for what runs beside others. The error is that there is no work tree, or errHalted.
func (e *Executor) workTree(st *State, c *Child) error {
	refused, err := e.attach(st, c)
	if err == nil && refused != "" {
		err = noTree(refused)
	}
	return err
}

func noTree(why string) error { return fmt.Errorf("there is no work tree: %s", why) }

// ownTree is how a shell notes that a work tree is used by this process, its parent, and asks whether another
// one that lives does: one that has the number and the start of the mark, because numbers are used again, and
// that is no zombie. The mark is a file that git removes with the work tree. A removal that was cut short is
// finished, and not taken for the deletion of files in the work tree: beside it is a file which says that all
// of it was committed. Files that a user changed since keep the tree. In a folder that is no longer a work
// tree, git would act on the repository around it.
const ownTree = `mark() { echo "$(git -C "$1" rev-parse --absolute-git-dir)/loops-owner"; }
begun() {
  if [ -r /proc/self/stat ]; then
    local at
    at=$(cat "/proc/$1/stat" 2>/dev/null) && set -- ${at##*) } && [ "$1" != Z ] && echo "${20}"
  else
    ps -o stat=,lstart= -p "$1" | grep -v '^Z' | cut -d' ' -f2- | tr -s ' '
  fi
}
own() { echo "$PPID $(begun "$PPID")" > "$(mark "$1")"; }
unused() {
  local at now
  read -r pid at 2>/dev/null < "$(mark "$1")"
  now=$(begun "${pid:-none}")
  [ -z "$pid" ] || [ "$pid" = "$PPID" ] || [ -z "$now" ] || { [ -n "$at" ] && [ "$at" != "$now" ]; }
}
linked() {
  local own back
  [ -f "$1/.git" ] && own=$(git -C "$1" rev-parse --absolute-git-dir 2>/dev/null) || return
  back=$(cat "$own/gitdir" 2>/dev/null) || return
  case $back in /*) ;; *) back=$own/$back ;; esac
  [ "$back" -ef "$1/.git" ]
}
owned() { linked "$1" && [ -e "$(mark "$1")" ]; }
remove() {
  left=$(git -C "$1" status --porcelain --untracked-files=normal --ignore-submodules=none) || return
  if [ -z "$left" ]; then
    : > "$1.removing"
    git worktree remove -- "$1" && rm -f -- "$1.removing" && return
    rm -f -- "$1.removing"
  else
    echo "not committed: $(echo "$left" | head -n 3)" >&2
  fi
  rm -f -- "$(mark "$1")"
  return 1
}
ignore() {
  mkdir -p -- "${1%/*}" || return
  [ -e "${1%/*}/.gitignore" ] || printf '# Work trees of git, each with files of its own.\n*\n' > "${1%/*}/.gitignore"
}
finish() {
  [ -e "$1.removing" ] || return
  if linked "$1" && [ -n "$(git -C "$1" status --porcelain --ignore-submodules=none | grep -v '^ D ')" ]; then
    rm -f -- "$1.removing"
    return 1
  fi
  rm -rf -- "$1" && git worktree prune && rm -f -- "$1.removing"
}
`

// freeTree returns the path of a work tree that is not there yet.
func (e *Executor) freeTree(name string) string {
	path := filepath.Join(e.cfg.Dir, worktrees, name)
	free := path
	for n := 2; n < 1000; n++ {
		if _, _, err := e.cfg.Files.Stat(free); err != nil {
			break
		}
		free = fmt.Sprintf("%s-%d", path, n)
	}
	return free
}

// reattach makes the work tree of a resumed sub-loop again if it is gone.
func (e *Executor) reattach(st *State, c *Child) error {
	res, err := e.git(st, "looking for the work tree of branch "+c.Branch, c.Worktree,
		ownTree+`tree=`+value.ShellQuote(c.Worktree)+`
if finish "$tree" || [ ! -e "$tree" ]; then
  git worktree prune && git worktree add -q -- "$tree" `+value.ShellQuote(c.Branch)+` >&2 || exit
else
  unused "$tree" || { echo "process $pid works there" >&2; exit 1; }
fi
own "$tree"`)
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fmt.Errorf("sub-loop %s: its work tree %s can no longer be used: %s", c.Name, c.Worktree, gitText(res))
	}
	return nil
}

// detach removes the work tree of a sub-loop that ended. What was not committed keeps it where it is. It
// reports false if nothing may be decided now: the outcome of the sub-loop is on record, and is routed when the
// run is resumed.
func (e *Executor) detach(st *State, c *Child) bool {
	if c.Worktree != "" {
		res, err := e.git(st, "removing the work tree of branch "+c.Branch, c.Worktree,
			ownTree+"tree="+value.ShellQuote(c.Worktree)+`
finish "$tree" || [ ! -e "$tree" ] || remove "$tree"`)
		if errors.Is(err, errHalted) {
			return false
		}
		e.detached(st, c, res, err)
	}
	return e.machine.broken == nil && !e.ending()
}

// detached reports the result of the work tree of a sub-loop that ended.
func (e *Executor) detached(st *State, c *Child, res Result, err error) {
	fields := []Field{{"branch", c.Branch}, {"path", c.Worktree}}
	if err != nil || res.ExitCode != 0 {
		text := gitText(res)
		if err != nil {
			text = err.Error()
		}
		fields = append(fields, Field{"kept", true})
		e.emit(EventWarning, Field{"state", st.Name},
			Field{"message", "the work tree " + c.Worktree + " was kept: " + text})
	}
	e.emit(EventWorktreeDetached, fields...)
}

// git runs a script that works on the repository, in the directory of the loop. doing says for a person what it
// does, tree is the work tree it looks into. It may take no longer than the timeout of the state.
func (e *Executor) git(st *State, doing, tree, script string) (Result, error) {
	return e.gitAt("", st, doing, tree, script)
}

// gitAt is git for a script that changes files outside of work trees that it makes; at is the address of its step.
func (e *Executor) gitAt(at string, st *State, doing, tree, script string) (Result, error) {
	res, err := e.run(Action{
		Kind: KindShell, Text: script, State: st.Name, Step: e.mem.Step, Attempt: e.mem.Attempt, Outer: e.outer,
		At: at, Dir: e.dir,
		Timeout: st.Timeout, Quiet: true, Git: doing, Tree: tree,
	}, nil)
	if e.ending() || errors.Is(err, ErrScarce) {
		return Result{}, errHalted
	}
	return res, err
}

// gitText is what git and the hooks of the repository said, on one line.
func gitText(res Result) string {
	text := strings.Join(strings.Fields(res.Stderr), " ")
	switch {
	case res.TimeoutKind != "" && text == "":
		return "git did not end in time, and printed nothing"
	case res.TimeoutKind != "":
		return "git did not end in time; it printed: " + text
	case text == "":
		return fmt.Sprintf("git ended with exit code %d", res.ExitCode)
	}
	return text
}

// filesIn looks at files from another directory.
type filesIn struct {
	Files
	dir string
}

func (f filesIn) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.dir, name)
}

func (f filesIn) ReadFile(name string) ([]byte, error) { return f.Files.ReadFile(f.path(name)) }

func (f filesIn) WriteFile(name string, data []byte) error {
	return f.Files.WriteFile(f.path(name), data)
}

func (f filesIn) Write(name string, content func(io.Writer) error) error {
	return f.Files.Write(f.path(name), content)
}

func (f filesIn) Glob(ctx context.Context, dir, pattern string) ([]string, error) {
	return f.Files.Glob(ctx, f.path(dir), pattern)
}

func (f filesIn) Stat(name string) (time.Time, int64, error) { return f.Files.Stat(f.path(name)) }
