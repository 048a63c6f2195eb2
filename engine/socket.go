package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"loops/internal/disk"
	"loops/persistence"
)

// EnvControl is set for actions in a sandbox: the socket that takes commands for their run, whose records they cannot
// write.
const EnvControl = "LOOPS_CONTROL"

// fromInside are the commands that an action in a sandbox may give its own run. It cannot raise a limit.
var fromInside = []persistence.CommandKind{
	persistence.CommandSignal, persistence.CommandAnswer, persistence.CommandStop, persistence.CommandDrain,
	persistence.CommandPause,
	persistence.CommandUnpause, persistence.CommandWake,
}

// longTempDir is how long the path of the temporary folder may be for a socket in it: that of a socket has 108 bytes.
const longTempDir = 70

// A controlSocket takes commands for a run. It is made when the first action in a sandbox begins.
type controlSocket struct {
	run    persistence.ID
	send   func(context.Context, persistence.Command) (persistence.Command, error)
	mu     sync.Mutex
	dir    string
	server net.Listener
	serve  sync.WaitGroup
}

// path returns where the socket is.
func (c *controlSocket) path() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		parent := ""
		if len(os.TempDir()) > longTempDir {
			parent = "/tmp"
		}
		dir, err := disk.MkdirTemp(parent, "loops-control-*")
		if err != nil {
			return "", err
		}
		server, err := net.Listen("unix", filepath.Join(dir, "run"))
		if err != nil {
			_ = os.RemoveAll(dir)
			return "", err
		}
		c.dir, c.server = dir, server
		c.serve.Go(c.accept)
	}
	return c.server.Addr().String(), nil
}

func (c *controlSocket) accept() {
	for {
		conn, err := c.server.Accept()
		if err != nil {
			return
		}
		c.serve.Go(func() { c.take(conn) })
	}
}

// close removes the socket.
func (c *controlSocket) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		_ = c.server.Close()
		c.serve.Wait()
		_ = os.RemoveAll(c.dir)
	}
}

// What goes through the socket: a line of the request, and one of the reply.
type (
	controlRequest struct {
		Run     string `json:"run"`
		Command string `json:"command"` // as stores keep it, to the byte: it has a checksum
	}
	controlReply struct {
		Command string `json:"command,omitempty"`
		Error   string `json:"error,omitempty"`
	}
)

const longestCommand = 1 << 20

// take takes one command and replies.
func (c *controlSocket) take(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(sendWait))
	var request controlRequest
	var reply controlReply
	line, err := bufio.NewReaderSize(conn, longestCommand).ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, &request)
	}
	if err == nil {
		reply.Command, err = c.obey(request)
	}
	if err != nil {
		reply.Error = err.Error()
	}
	b, _ := json.Marshal(reply)
	_, _ = conn.Write(append(b, '\n'))
}

func (c *controlSocket) obey(request controlRequest) (string, error) {
	if request.Run != string(c.run) {
		return "", fmt.Errorf("an action in a sandbox gives commands to its own run alone, %s", c.run)
	}
	command, err := persistence.ParseCommand([]byte(request.Command))
	if err != nil {
		return "", err
	}
	if !slices.Contains(fromInside, command.Kind) {
		return "", fmt.Errorf("%s is not for an action in a sandbox", command.Kind)
	}
	command.N = 0
	ctx, cancel := context.WithTimeout(context.Background(), sendWait)
	defer cancel()
	if command, err = c.send(ctx, command); err != nil {
		return "", err
	}
	b, err := persistence.AppendCommand(nil, command)
	return string(b), err
}

// sendOut sends a command by the socket of the runner; path is where that is.
func sendOut(ctx context.Context, path string, id persistence.ID, c persistence.Command) (persistence.Command, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return c, fmt.Errorf("the runner cannot be reached from within the sandbox: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if until, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(until)
	}
	command, err := persistence.AppendCommand(nil, c.Numbered(1)) // the store gives it another number
	if err != nil {
		return c, err
	}
	b, err := json.Marshal(controlRequest{string(id), string(command)})
	if err != nil {
		return c, err
	}
	if _, err := conn.Write(append(b, '\n')); err != nil {
		return c, err
	}
	var reply controlReply
	if err := json.NewDecoder(conn).Decode(&reply); err != nil {
		return c, &persistence.UncertainError{Err: err}
	}
	if reply.Error != "" {
		return c, errors.New(reply.Error)
	}
	return persistence.ParseCommand([]byte(reply.Command))
}
