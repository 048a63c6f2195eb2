package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// Programs are the pager and the editor of a user: $PAGER, or else less or more, and $VISUAL, $EDITOR or vi.
// They have the terminal. With Give each is a process group of its own, so Ctrl-C and Ctrl-Z are for it alone.
type Programs struct {
	Dir      string
	Env      []string
	Terminal *os.File

	Give func(terminal *os.File, group int) error // has a process group have the terminal; 0 = that of this program
	// is called when a user stopped a program, and returns when it may continue
	Stopped func()
}

// Page has a text read, which write writes, until it is left.
func (p Programs) Page(ctx context.Context, write func(io.Writer) error) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() { written <- errors.Join(write(w), w.Close()) }()
	pager := p.env("PAGER")
	if _, err := exec.LookPath("less"); pager == "" && err != nil {
		pager = "more"
	}
	err = p.run(ctx, cmp.Or(pager, "less"), r)
	_ = r.Close() // who left before the end of it ends write, too
	if problem := <-written; err == nil {
		err = problem
	}
	return err
}

// Edit has a file edited.
func (p Programs) Edit(ctx context.Context, path string) error {
	return p.run(ctx, cmp.Or(p.env("VISUAL"), p.env("EDITOR"), "vi"), p.Terminal, path)
}

// run runs the words of a command of the environment, which may have arguments of their own.
func (p Programs) run(ctx context.Context, command string, in *os.File, args ...string) error {
	cmd := exec.Command("/bin/sh", append([]string{"-c", command + ` "$@"`, command}, args...)...)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	if p.env("LESS") == "" {
		cmd.Env = append(slices.Clip(p.Env), "LESS=R") // colours, and a short text stays
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, p.Terminal, p.Terminal
	alone := p.Give != nil && p.Give(p.Terminal, 0) == nil // it is the terminal of this session
	if alone {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: int(p.Terminal.Fd())}
	}
	err := cmd.Start()
	if err == nil {
		pid := cmd.Process.Pid
		cut := context.AfterFunc(ctx, func() {
			if !alone || syscall.Kill(-pid, syscall.SIGKILL) != nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
		err = p.await(pid, alone)
		cut()
		_ = cmd.Process.Release()
	}
	if alone {
		err = errors.Join(err, p.Give(p.Terminal, 0))
	}
	if err != nil {
		return fmt.Errorf("%s failed (%w); PAGER, and VISUAL or EDITOR, name the programs", command, err)
	}
	return nil
}

// await waits for the end of a program. One that is alone in its process group, and that a user stops, continues when
// this program does.
func (p Programs) await(pid int, alone bool) error {
	for {
		var status syscall.WaitStatus
		switch _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return err
		case status.Stopped() && alone:
			var err error
			if reason := status.StopSignal(); reason != syscall.SIGTTIN && reason != syscall.SIGTTOU { // Ctrl-Z
				err = p.Give(p.Terminal, 0)
				p.Stopped()
			}
			if err = errors.Join(err, p.Give(p.Terminal, pid), syscall.Kill(-pid, syscall.SIGCONT)); err != nil {
				return err
			}
		case status.Stopped(): // so is this program, which is of the same group
		case status.Signaled():
			return fmt.Errorf("it was ended by %v", status.Signal())
		case status.ExitStatus() != 0:
			return fmt.Errorf("exit status %d", status.ExitStatus())
		default:
			return nil
		}
	}
}

// env returns the last value of a variable, which is the one that counts.
func (p Programs) env(name string) string {
	for _, kv := range slices.Backward(p.Env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
