package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/plain"
	"loops/internal/worktree"
)

// defaultGitWait bounds one command of git where the settings do not: a checkout or a merge, with the hooks of the repository.
const defaultGitWait = 10 * time.Minute

// GitWait returns how long one command of git may take that the program itself starts.
func GitWait(p *project.Project) time.Duration {
	conf, _ := p.Declared() // what is wrong with the settings is reported elsewhere
	if conf == nil {
		return defaultGitWait
	}
	return cmp.Or(conf.GitTimeout, defaultGitWait)
}

// ownGit fits action.Runner.Git: what git does for the program itself has a limit, signs nothing, asks nobody, and is known to status.
func ownGit(p *project.Project, env []string, dir string) func(fsm.Action) (fsm.Action, func()) {
	limit := GitWait(p)
	return func(a fsm.Action) (fsm.Action, func()) {
		a.Vars = slices.Clip(a.Vars)
		for _, v := range worktree.Settings(env) {
			a.Vars = append(a.Vars, fsm.Var{Name: v[0], Value: v[1]})
		}
		if a.Timeout == 0 || a.Timeout > limit {
			a.Timeout = limit
		}
		return a, beginPhase(dir, a.Git)
	}
}

// gitMark is how the processes are found that git left when the process died that started it for a run.
func gitMark(run string) string { return "worktree/" + run }

// Git returns a way to run git for the work tree of a run ("" = none yet), and what ends it.
func Git(p *project.Project, o Options, run string) (git worktree.Git, done func()) {
	if run == "" {
		run = fmt.Sprintf("-%d", time.Now().UnixNano())
	}
	env := worktree.Untied(ActionEnv(p, o))
	r := &action.Runner{Dir: p.Dir, Env: env, Mark: p.Mark() + gitMark(run), Grace: Grace, Cap: 64 << 20, Git: ownGit(p, env, "")}
	return worktree.Steady(func(ctx context.Context, dir string, args ...string) (string, error) {
		words := make([]string, len(args))
		for i, arg := range args {
			words[i] = plain.ShellWord(arg)
		}
		res, err := r.Run(ctx, fsm.Action{
			Kind: fsm.KindShell, Text: "exec git " + strings.Join(words, " "), Dir: dir, Step: 1, Attempt: 1, Quiet: true, Git: args[0],
		}, nil)
		switch command := words[0]; {
		case err != nil:
			return "", err
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case res.ExitCode == 127:
			return "", worktree.ErrNoGit
		case res.TimeoutKind != "":
			return "", &worktree.GitError{Command: command, Code: res.ExitCode, Text: worktree.TooLong("git "+command, GitWait(p), gitText(res.Stderr))}
		case res.ExitCode != 0:
			return "", &worktree.GitError{Command: command, Code: res.ExitCode, Text: gitText(res.Stderr)}
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
	return plain.Cut(strings.Join(words, " "), 400)
}
