package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/plain"
	"loops/internal/worktree"
)

// gitVars are the variables by which git passes its repository on to what it starts. A hook has them, and loops in a hook:
// with them, git in a work tree would work on the repository around it.
var gitVars = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_IMPLICIT_WORK_TREE", "GIT_INTERNAL_SUPER_PREFIX",
}

// withoutGit returns an environment without what ties git to a repository.
func withoutGit(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(gitVars, name)
	})
}

// gitWait bounds one command of git: a checkout, with the hooks of the repository.
const gitWait = 15 * time.Minute

// gitMark is how the processes are found that git left when the process died that started it for a run.
func gitMark(run string) string { return "worktree/" + run }

// Git returns a way to run git for the work tree of a run ("" = none yet), and what ends it.
func Git(p *project.Project, o Options, run string) (git worktree.Git, done func()) {
	if run == "" {
		run = fmt.Sprintf("-%d", time.Now().UnixNano())
	}
	r := &action.Runner{Dir: p.Dir, Env: withoutGit(ActionEnv(p, o)), Mark: p.Mark() + gitMark(run), Grace: Grace, Cap: 64 << 20}
	return worktree.Steady(func(ctx context.Context, dir string, args ...string) (string, error) {
		words := make([]string, len(args))
		for i, arg := range args {
			words[i] = plain.ShellWord(arg)
		}
		res, err := r.Run(ctx, fsm.Action{
			Kind: fsm.KindShell, Text: "exec git " + strings.Join(words, " "), Dir: dir, Step: 1, Attempt: 1, Timeout: gitWait, Quiet: true,
		}, nil)
		switch command := words[0]; {
		case err != nil:
			return "", err
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case res.ExitCode == 127:
			return "", worktree.ErrNoGit
		case res.TimeoutKind != "":
			return "", &worktree.GitError{Command: command, Code: res.ExitCode, Text: fmt.Sprintf("git %s took longer than %s", command, humanize.Duration(gitWait))}
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
