package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loops/internal/humanize"
	"loops/internal/process"
)

// limits are the times that a server may take for something.
type limits struct {
	// to end after its input was closed; together with term less than what a program has that was asked to end
	input time.Duration
	term  time.Duration // to end after TERM
	death time.Duration // to end after it has closed its output
	list  time.Duration // to list its tools after a call has failed
}

var usualLimits = limits{input: 2 * time.Second, term: 2 * time.Second, death: time.Second, list: 5 * time.Second}

// A server is one that runs. It implements [mcp.Transport].
type server struct {
	name   string
	limits limits
	cmd    *exec.Cmd
	conn   *conn
	exited chan struct{} // closed when it has
	ended  time.Time     // when; to be read once exited is closed
}

// Connect returns the one connection there is.
func (s *server) Connect(context.Context) (mcp.Connection, error) { return s.conn, nil }

// start starts the process of a server.
func start(t target, stderr io.Writer) (*server, error) {
	cannot := func(err error) (*server, error) {
		code := ExitNotFound
		if process.Scarce(err) {
			code = ExitScarce
		}
		return nil, failure(code, "server %s cannot be started: %s: %v", humanize.Quote(t.name), t.path, err)
	}
	cmd := &exec.Cmd{
		Path: t.path, Args: t.argv, Dir: t.dir, Env: t.env, Stderr: stderr, SysProcAttr: attributes(),
		WaitDelay: t.limits.death,
	}
	// The pipes are our own, because Wait would close those of cmd before everything was read from them.
	stdin, in, err := os.Pipe()
	if err != nil {
		return cannot(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		_, _ = stdin.Close(), in.Close()
		return cannot(err)
	}
	cmd.Stdin, cmd.Stdout = stdin, stdout
	err = cmd.Start()
	_, _ = stdin.Close(), stdout.Close()
	if err != nil {
		_, _ = in.Close(), out.Close()
		if op, ok := errors.AsType[*os.PathError](err); ok {
			err = op.Err
		}
		if errors.Is(err, syscall.ENOENT) {
			err = errors.New("the program its first line names is gone")
		}
		return cannot(err)
	}
	s := &server{name: t.name, limits: t.limits, cmd: cmd, conn: newConn(in, out), exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
		s.ended = time.Now()
		close(s.exited)
	}()
	return s, nil
}

// stop ends the server: it closes its input, which asks it to end, and if need be sends TERM, and then KILL. When ctx
// has ended there is no time for the first.
func (s *server) stop(ctx context.Context) {
	_ = s.conn.in.Close()
	if ctx.Err() != nil || !s.ends(s.limits.input) {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		if !s.ends(s.limits.term) {
			_ = s.cmd.Process.Kill()
			s.ends(usualLimits.term)
		}
	}
	s.conn.hangUp()
}

// ends reports whether the server has ended within so much time.
func (s *server) ends(limit time.Duration) bool {
	over := time.NewTimer(limit)
	defer over.Stop()
	select {
	case <-s.exited:
		return true
	case <-over.C:
		return false
	}
}

// explain explains why a request has no answer.
func (s *server) explain(ctx context.Context, method string, err error) error {
	noise, fault := s.conn.trouble()
	name := humanize.Quote(s.name)
	refused, isRefusal := errors.AsType[*jsonrpc.Error](err)
	switch {
	case ctx.Err() != nil:
		why := ""
		if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
			why = ": " + cause.Error()
		}
		end := s.ending(", and ")
		if limit, ok := ctx.Deadline(); ok && end != "" && s.ended.After(limit) {
			end = "" // because it was hung up on
		}
		return failure(ExitTimeout, "server %s has not answered %s%s%s%s", name, method, why, end, noise)
	case isRefusal:
		return failure(ExitToolError, "server %s refused %s: %s (JSON-RPC error %d)", name, method,
			quoteLong(refused.Message), refused.Code)
	case fault != nil:
		return failure(ExitToolError, "server %s cannot be understood: %v", name, fault)
	case !errors.Is(err, io.EOF) && !errors.Is(err, mcp.ErrConnectionClosed):
		return failure(ExitToolError, "server %s: %s: %v%s", name, method, err, noise)
	case s.ends(s.limits.death):
		return failure(ExitToolError, "server %s %s before it answered %s%s", name, s.ending(""), method, noise)
	}
	return failure(ExitToolError, "server %s closed its output before it answered %s%s", name, method, noise)
}

// ending says how the server's process has ended, or nothing while it runs.
func (s *server) ending(before string) string {
	select {
	case <-s.exited:
	default:
		return ""
	}
	state := s.cmd.ProcessState
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return before + fmt.Sprintf("was ended by signal %d (%s)", ws.Signal(), ws.Signal())
	}
	return before + fmt.Sprintf("ended with exit code %d", state.ExitCode())
}
