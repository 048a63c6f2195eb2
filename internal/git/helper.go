package git

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A helper is a process of git that answers questions for as long as it lives. It ends with this process, or when it is
// closed. It is not safe for concurrent use.
type helper struct {
	command string // that git carries out
	limit   time.Duration
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	said    *strings.Builder
}

// startHelper starts git in a folder with its whole environment. An answer that takes longer than limit is an
// error; 0 = it may take as long as it likes.
func startHelper(dir string, env []string, limit time.Duration, args ...string) (*helper, error) {
	h := &helper{command: command(args), limit: limit, said: &strings.Builder{}}
	h.cmd = exec.Command("git", args...)
	h.cmd.Dir, h.cmd.Env, h.cmd.Stderr = dir, env, h.said
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	h.cmd.WaitDelay = 5 * time.Second
	in, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, ErrNoGit
		}
		return nil, err
	}
	h.in, h.out = in, bufio.NewReaderSize(out, 1<<16)
	return h, nil
}

// ask asks a question, and has the answer read. After an error the helper is closed.
func (h *helper) ask(around context.Context, question string, read func(*bufio.Reader) error) error {
	ctx, done := around, context.CancelFunc(func() {})
	if h.limit > 0 {
		ctx, done = context.WithTimeout(around, h.limit)
	}
	defer done()
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-h.cmd.Process.Pid, syscall.SIGKILL) })
	defer stop()
	asked := make(chan error, 1)
	go func() { // it answers before it has read all
		_, err := io.WriteString(h.in, question)
		asked <- err
	}()
	err := read(h.out)
	if err == nil {
		err = <-asked
	}
	if err == nil {
		return nil
	}
	stop()
	h.close()
	switch {
	case around.Err() != nil:
		return context.Cause(around)
	case ctx.Err() != nil:
		return &Error{Command: h.command, Code: -1, Text: TooLong("git "+h.command, h.limit, text(h.said.String()))}
	}
	return &Error{Command: h.command, Code: h.cmd.ProcessState.ExitCode(), Text: text(h.said.String())}
}

// close ends the helper. It may be repeated; a nil one has ended.
func (h *helper) close() {
	if h == nil || h.cmd.ProcessState != nil {
		return
	}
	_ = h.in.Close()
	_ = syscall.Kill(-h.cmd.Process.Pid, syscall.SIGKILL)
	_ = h.cmd.Wait()
}
