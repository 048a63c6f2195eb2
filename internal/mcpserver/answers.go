package mcpserver

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience is how long the calls that are under way have when the input ends. A program that pipes requests into a
// server closes its input at once and still reads the answers; an agent that is gone does not, and then no call should
// continue for long.
const patience = 5 * time.Second

// An answering transport keeps the end of the input back until what was asked is answered.
type answering struct {
	mcp.Transport
	patience time.Duration
}

func (t answering) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeringConn{
		Connection: inner, patience: t.patience, answered: make(chan struct{}, 1),
		closed: make(chan struct{}),
	}, nil
}

type answeringConn struct {
	mcp.Connection
	patience time.Duration
	answered chan struct{} // has something when open became 0

	mu   sync.Mutex
	open int // calls without an answer; guarded by mu

	once   sync.Once
	closed chan struct{}
}

func (c *answeringConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); err == nil && ok && r.IsCall() {
		c.count(1)
	}
	if errors.Is(err, io.EOF) {
		c.wait(ctx)
	}
	return m, err
}

func (c *answeringConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.count(-1)
	}
	return err
}

func (c *answeringConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

func (c *answeringConn) count(n int) (open int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	if n < 0 && c.open == 0 {
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return c.open
}

// wait returns when every call has its answer, or will not be waited for any more.
func (c *answeringConn) wait(ctx context.Context) {
	limit := time.NewTimer(c.patience)
	defer limit.Stop()
	for c.count(0) > 0 {
		select {
		case <-c.answered: // it may be an old one
		case <-limit.C:
			return
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}
