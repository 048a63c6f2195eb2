package git

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// RunEnv runs git in a directory with further variables in its environment, and returns what it printed on
// standard output, without the last line end. What git refused is a *Error, and ErrNoGit means that there is
// none. It may be called by several goroutines at once.
type RunEnv func(ctx context.Context, dir string, env []string, args ...string) (string, error)

// Command returns a Git that starts the program git with an environment, as [Settings] says. A command that
// takes longer than limit is ended; 0 = it may take as long as it likes. The commands have no terminal.
func Command(env []string, limit time.Duration) RunEnv {
	run := withInput(env, limit)
	return func(ctx context.Context, dir string, env []string, args ...string) (string, error) {
		return run(ctx, dir, env, "", args...)
	}
}

// A runInput is a RunEnv with what git reads on standard input.
type runInput func(ctx context.Context, dir string, env []string, input string, args ...string) (string, error)

// withInput is [Command] for git that reads.
func withInput(env []string, limit time.Duration) runInput {
	base := helperEnv(env)
	return func(around context.Context, dir string, env []string, input string, args ...string) (string, error) {
		ctx, done := around, context.CancelFunc(func() {})
		if limit > 0 {
			ctx, done = context.WithTimeout(around, limit)
		}
		defer done()
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.Env = dir, append(slices.Clip(base), env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal, and with all it starts in one group
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.WaitDelay = 5 * time.Second
		if input != "" {
			cmd.Stdin = strings.NewReader(input)
		}
		var out, said strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &said
		err := cmd.Run()
		exit, ended := errors.AsType[*exec.ExitError](err)
		switch {
		case around.Err() != nil:
			return "", context.Cause(around)
		case ctx.Err() != nil:
			return "", &Error{
				Command: command(args), Code: -1,
				Text: TooLong("git "+command(args), limit, text(said.String())),
			}
		case errors.Is(err, exec.ErrNotFound):
			return "", ErrNoGit
		case ended:
			return "", &Error{Command: command(args), Code: exit.ExitCode(), Text: text(said.String())}
		case err != nil:
			return "", err
		}
		return strings.TrimSuffix(out.String(), "\n"), nil
	}
}

// helperEnv returns the environment of git that the program starts.
func helperEnv(env []string) []string {
	base := Untied(env)
	for _, v := range Settings(base, "") {
		base = append(base, v[0]+"="+v[1])
	}
	return append(base, "LC_ALL=C")
}

// command is the word that says what git was to do.
func command(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-c":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

// text is what git printed, on one line, without its advice.
func text(said string) string {
	var words []string
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "hint:") {
			words = append(words, strings.Fields(line)...)
		}
	}
	t := strings.Join(words, " ")
	if len(t) > 400 {
		t = strings.ToValidUTF8(t[:400], "") + "…"
	}
	return t
}
