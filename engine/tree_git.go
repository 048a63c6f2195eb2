package engine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/confine"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/internal/process"
)

// defaultGitWait bounds one command of git where the settings do not: a checkout or a merge, with the hooks of
// the repository.
const defaultGitWait = 10 * time.Minute

// GitWait returns how long one command of git may take that the program itself starts.
func GitWait(p *project.Project) time.Duration {
	conf, _ := p.Declared() // what is wrong with the settings is reported elsewhere
	if conf == nil {
		return defaultGitWait
	}
	return cmp.Or(conf.GitTimeout, defaultGitWait)
}

// before fits action.Runner.Before. What git does for the program itself has a limit, signs nothing, asks
// nobody, and is known to status. An action in a work tree begins only if that is one still, and git in it does
// not find the repository around it. tree is the work tree of the run; "" = it is in the main checkout. boxed says that
// the run has a sandbox.
func before(p *project.Project, env []string, tree, dir string, boxed bool) func(fsm.Action) (fsm.Action, func(),
	error) {
	limit := GitWait(p)
	return func(a fsm.Action) (fsm.Action, func(), error) {
		if err := lostTree(a.Tree); err != nil {
			return a, nil, err
		}
		top := tree
		if inner := git.Top(p.Dir, a.Dir); inner != "" {
			top = inner
		}
		a.Vars = slices.Clip(a.Vars)
		if top != "" {
			if err := linkedTree(top); err != nil {
				return a, nil, err
			}
			a.Vars = append(a.Vars, fsm.Var{Name: git.Ceiling, Value: git.Below(env, filepath.Dir(top))})
		} else if a.Git != "" {
			trees := filepath.Join(p.Dir, git.TreesFolder)
			a.Vars = append(a.Vars, fsm.Var{Name: git.Ceiling, Value: git.Below(env, trees)})
		}
		if a.Git == "" {
			return a, func() {}, nil
		}
		hooks := ""
		if boxed {
			hooks = filepath.Join(p.Dir, ".git", "hooks")
		}
		for _, v := range git.Settings(env, hooks) {
			a.Vars = append(a.Vars, fsm.Var{Name: v[0], Value: v[1]})
		}
		if a.Timeout == 0 || a.Timeout > limit {
			a.Timeout = limit
		}
		return a, beginPhase(dir, a.Git), nil
	}
}

// lostTree returns why a folder is no longer the work tree that it was. One that is absent, or whose removal
// was cut short, is not lost.
func lostTree(path string) error {
	if path == "" {
		return nil
	}
	if _, err := os.Lstat(path); err != nil {
		return nil //nolint:nilerr // who looks into it sees that it is absent
	}
	if _, err := os.Lstat(path + ".removing"); err == nil {
		return nil
	}
	return linkedTree(path)
}

// linkedTree returns why a folder is no work tree any more. Where the machine has no descriptor for a look,
// that is the error.
func linkedTree(path string) error {
	link, err := os.Open(filepath.Join(path, ".git"))
	if process.Scarce(err) {
		return err
	}
	if err == nil {
		_ = link.Close()
	}
	if err := git.Linked(path); err != nil {
		return treeLost{err}
	}
	return nil
}

// treeLost is the error of an action whose work tree is none any more.
type treeLost struct{ error }

// Is makes it an [fsm.ErrMoved].
func (treeLost) Is(target error) bool { return target == fsm.ErrMoved }

func (e treeLost) Unwrap() error { return e.error }

// gitMark is how the processes are found that git left when the process died that started it for a run.
func gitMark(run string) string { return "worktree/" + run }

// looks are commands of git that look at files. They start programs that settings of a submodule name, and what an
// action wrote may be such settings: for a run with a sandbox they are in one, too.
var looks = []string{"status", "diff"}

var lookPolicy = &confine.Policy{Preset: confine.Workspace, Network: []string{confine.NetNone}}

// Git returns a way to run git for the work tree of a run ("" = none yet), and what ends it. boxed says that
// the run has a sandbox, or may have one.
func Git(p *project.Project, o Options, run string, boxed bool) (runGit git.Run, done func()) {
	if run == "" {
		run = fmt.Sprintf("-%d", time.Now().UnixNano())
	}
	// a look at the files must not be in the way of a user's git
	env := append(git.Untied(ActionEnv(p, o)), "GIT_OPTIONAL_LOCKS=0")
	r := &action.Runner{
		Dir: p.Dir, Env: env, Mark: p.Mark() + gitMark(run), Grace: Grace, Cap: 64 << 20,
		Before: before(p.Main(), env, "", "", boxed),
	}
	return git.Steady(func(ctx context.Context, dir string, args ...string) (string, error) {
		if _, err := r.FindProgram("git"); err != nil {
			return "", git.ErrNoGit
		}
		var sandbox []*confine.Policy
		if boxed && slices.Contains(looks, args[0]) {
			sandbox = []*confine.Policy{lookPolicy}
		}
		res, err := r.Run(ctx, fsm.Action{
			Kind: fsm.KindProgram, Program: append([]string{"git"}, args...), Dir: dir, Step: 1, Attempt: 1,
			Quiet: true, Git: args[0], Sandbox: sandbox,
		}, nil)
		switch command := args[0]; {
		case err != nil:
			return "", err
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case res.TimeoutKind != "":
			return "", &git.Error{
				Command: command, Code: res.ExitCode,
				Text: git.TooLong("git "+command, GitWait(p), gitText(res.Stderr)),
			}
		case res.ExitCode != 0:
			return "", &git.Error{Command: command, Code: res.ExitCode, Text: gitText(res.Stderr)}
		}
		return strings.TrimSuffix(res.Stdout, "\n"), nil
	}), func() { _ = r.Close() } // it only closes pipes
}

// gitText is what git said, on one line, without its advice.
func gitText(said string) string {
	var words []string
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "hint:") && !strings.HasPrefix(line, "Preparing worktree") {
			words = append(words, strings.Fields(line)...)
		}
	}
	return humanize.Cut(strings.Join(words, " "), 400)
}

// TreeEnds are what may become of a work tree at the end of its run.
var TreeEnds = []string{git.Keep, git.Merge, git.Discard}

// IsBranch reports whether the repository of a project has a branch of this name.
func IsBranch(ctx context.Context, p *project.Project, o Options, name string) (bool, error) {
	runGit, done := Git(p, o, "", true)
	defer done()
	return git.IsBranch(ctx, runGit, p.Dir, name)
}
