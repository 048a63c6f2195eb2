package action

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"loops/internal/disk"
	"loops/internal/process"
	"loops/internal/sandbox"
)

// A script of longScript bytes or more goes to bash in a file, because the system limits one argument to 128 KiB.
// The descriptor is closed before the script begins, and the script begins on the line of the eval, so that it
// finds everything as it would otherwise.
const (
	longScript     = 120 << 10
	longScriptText = `eval "exec 3<&-;$(</dev/fd/3)"`
)

// scriptFile returns an open file that holds text and has no name any more.
func (r *Runner) scriptFile(text string) (*os.File, error) {
	f, err := disk.CreateTemp(r.RunDir, ".script-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	if _, err = f.WriteString(text); err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// A command is a process to start.
type command struct {
	name   string // in errors; "": the first of argv
	path   string
	argv   []string
	dir    string
	env    []string
	stdin  *os.File // nil: there is none
	script *os.File // becomes descriptor 3
	sweep  bool     // when the process has exited, what it left running is ended
	group  *process.Cgroup
	box    *sandbox.Box // limits it; nil = nothing does
}

// A child is a process that was started. Its pid is ours until reap.
type child struct {
	pid   int
	watch int // becomes readable when the process has exited; -1 where the system has no such thing
	// status is set by a goroutine that waits for the process where watch is -1.
	status atomic.Pointer[syscall.WaitStatus]
	usage  syscall.Rusage
	over   func() // is called when it has ended; nil = nothing
	reaped bool
}

// start starts the process with the given descriptors as 0, 1 and 2. ring is called when it has exited and
// watch cannot report that.
func (c *child) start(cmd command, null, out, err uintptr, ring func()) error {
	files := []uintptr{null, out, err}
	if cmd.stdin != nil {
		files[0] = cmd.stdin.Fd()
	}
	if cmd.script != nil {
		files = append(files, cmd.script.Fd())
	}
	c.watch = -1
	fork := func(s sandbox.Spawn) (e error) {
		c.pid, e = process.Fork(s.Fork)
		return e
	}
	limit(cmd.group, cmd.box)
	spawn := sandbox.Spawn{Path: cmd.path, Argv: cmd.argv, Attr: syscall.ProcAttr{
		Dir: cmd.dir, Env: cmd.env, Files: files, Sys: attributes(&c.watch, cmd.group),
	}}
	var e error
	if cmd.box == nil {
		e = fork(spawn)
	} else if c.over, e = cmd.box.Start(spawn, fork); e == nil {
		cmd.box.Limited(c.pid)
	}
	if e != nil {
		if c.pid > 0 { // it did not become the command, and has ended
			c.wait()
			c.unwatch()
		}
		return cmd.explain(e)
	}
	if c.watch < 0 {
		go func() {
			ws := c.wait()
			c.status.Store(&ws)
			ring()
		}()
	}
	return nil
}

// explain explains why a process could not be started.
func (cmd command) explain(err error) error {
	name := cmp.Or(cmd.name, cmd.argv[0])
	if cmd.dir != "" {
		if st, e := os.Stat(cmd.dir); e != nil {
			return fmt.Errorf("%s cannot be started in the working directory: %w", name, e)
		} else if !st.IsDir() {
			return fmt.Errorf("%s cannot be started: the working directory %s is not a directory", name, cmd.dir)
		}
	}
	why := ""
	switch {
	case errors.Is(err, syscall.EINVAL) && strings.Contains(strings.Join(cmd.argv, ""), "\x00"):
		return fmt.Errorf("%s cannot be started: the text of the action holds a zero byte, which no "+
			"program can be given", name)
	case errors.Is(err, syscall.E2BIG):
		why = ": its arguments and its environment are too long together"
	case errors.Is(err, syscall.EAGAIN):
		why = ": there are too many processes (see ulimit -u)"
	case errors.Is(err, syscall.EACCES):
		why = ": " + cmd.path + " may not be executed, or the working directory " + cmd.dir + " may not be entered"
	case errors.Is(err, syscall.ENOENT):
		why = ": " + cmd.path + " or the program its first line names is gone"
	}
	return fmt.Errorf("%s cannot be started: %w%s", name, err, why)
}

// exited reports whether the process has exited, given that watch was found readable or not.
func (c *child) exited(readable bool) bool {
	return readable && c.watch >= 0 || c.status.Load() != nil
}

// reap returns how the process ended, once it has exited. Afterwards its pid may be another's.
func (c *child) reap() syscall.WaitStatus {
	if c.unwatch() {
		ws := c.wait()
		c.status.Store(&ws)
	}
	c.reaped = true
	return *c.status.Load()
}

// unwatch closes watch, and reports whether it was open.
func (c *child) unwatch() bool {
	if c.watch < 0 {
		return false
	}
	_ = unix.Close(c.watch)
	c.watch = -1
	return true
}

func (c *child) wait() syscall.WaitStatus {
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(c.pid, &ws, 0, &c.usage)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		process.Waited(c.pid)
		if c.over != nil {
			c.over()
		}
		if err != nil { // another part of this process took its exit code; whatever that was, it is not known to be 0
			return syscall.WaitStatus(syscall.SIGKILL)
		}
		return ws
	}
}

// An alarm wakes a goroutine that waits in poll(2). It may be rung at any time, also after it was closed.
type alarm struct {
	mu   sync.Mutex
	r, w int // -1 when closed
}

func newAlarm() (*alarm, error) {
	r, w, err := pipe()
	if err != nil {
		return nil, err
	}
	// Neither end may ever block: the bell may have been rung often, or not at all.
	if err := errors.Join(unix.SetNonblock(r, true), unix.SetNonblock(w, true)); err != nil {
		return nil, err
	}
	return &alarm{r: r, w: w}, nil
}

func (a *alarm) ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.w >= 0 {
		_, _ = unix.Write(a.w, []byte{0})
	}
}

func (a *alarm) clear() {
	var b [64]byte
	_, _ = unix.Read(a.r, b[:])
}

func (a *alarm) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = unix.Close(a.r), unix.Close(a.w)
	a.r, a.w = -1, -1
}
