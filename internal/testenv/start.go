package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var sharedServer *PostgresServer // nil = it was not started

// shared starts the server for the tests of a package. No power is lost, so it need not sync.
var shared = sync.OnceValue(func() (err error) {
	sharedServer, err = StartPostgres(context.Background(),
		append(slices.Clone(QuickSettings), "max_connections = 500")...)
	return err
})

// OnLastingThread calls start on a thread that lasts as long as this process, and returns its error. A process
// that is to end with its parent ends with the thread that started it, and a test may end any other thread,
// which it had locked.
func OnLastingThread(start func() error) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- start()
		select {}
	}()
	return <-started
}

// Output runs a command that ends with this process, and returns what it printed on both streams.
func Output(cmd *exec.Cmd) ([]byte, error) {
	runtime.LockOSThread() // as in OnLastingThread: nothing else ends this one until then
	defer runtime.UnlockOSThread()
	return cmd.CombinedOutput()
}

var databases atomic.Int64

// Postgres returns the server of the package with a database of this test's own. The test must not stop it.
// Where there is no PostgreSQL, the test is skipped.
func Postgres(t *testing.T) *PostgresServer {
	t.Helper()
	err := shared()
	if errors.Is(err, ErrNoPostgres) {
		Skip(t, "PostgreSQL: "+err.Error())
	}
	Must(t, err)
	mine, err := sharedServer.NewDatabase(context.WithoutCancel(t.Context()), fmt.Sprintf("test%d", databases.Add(1)))
	Must(t, err)
	return mine
}

// OwnPostgres starts a server for a test, with room for many clients. Where there is no PostgreSQL, the test is
// skipped.
func OwnPostgres(t *testing.T, settings ...string) *PostgresServer {
	t.Helper()
	server, err := StartPostgres(context.Background(), append(settings, "max_connections = 300")...)
	if errors.Is(err, ErrNoPostgres) {
		Skip(t, "PostgreSQL: "+err.Error())
	}
	Must(t, err)
	t.Cleanup(func() {
		if err := server.Remove(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// WaitForFile waits until there is such a file, at most a minute.
func WaitForFile(t testing.TB, path string) {
	t.Helper()
	Wait(t, path, func() bool { _, err := os.Stat(path); return err == nil })
}

// A Process was started by a test and is killed with it. Its methods may be called at once.
type Process struct {
	t    testing.TB
	cmd  *exec.Cmd
	out  string // file with what it printed
	done chan struct{}
}

// StartProcess starts a command, whose folder then has a file with what it prints.
func StartProcess(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	out, err := os.CreateTemp(cmd.Dir, "out")
	Must(t, err)
	p := &Process{t: t, cmd: cmd, out: out.Name(), done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, out
	Must(t, OnLastingThread(cmd.Start))
	Must(t, out.Close())
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
	})
	return p
}

// Pid is its process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends it a signal.
func (p *Process) Signal(sig os.Signal) {
	p.t.Helper()
	Must(p.t, p.cmd.Process.Signal(sig))
}

// Said returns what it has printed up to now, on both streams.
func (p *Process) Said() string { return ReadText(p.t, p.out) }

// Done is closed when it has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether it has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Exit waits until it has ended, and returns its exit code: -1 after a signal. Like Wait it fails the test after three
// minutes, and then the goroutine of the test must be the one that calls it.
func (p *Process) Exit() int {
	p.t.Helper()
	p.wait()
	return p.cmd.ProcessState.ExitCode()
}

// Output waits as Exit does, and returns what the process printed.
func (p *Process) Output() string {
	p.t.Helper()
	p.wait()
	return p.Said()
}

func (p *Process) wait() {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(Patience):
		p.t.Fatalf("waited %v for the end of %v, which printed %q", Patience, p.cmd, p.Said())
	}
}
