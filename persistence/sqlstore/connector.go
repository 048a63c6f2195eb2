package sqlstore

import (
	"context"
	"database/sql/driver"
	"io"
	"sync"
)

// A patientConnector makes connections that outlive the caller who asked for them: a connection that a caller
// gave up waiting for is the next caller's. A server that takes longer to accept a connection than a call may
// take is so reached by the second call or a later one; without it, each call would begin again. How long a
// connection may take is the setting connect_timeout.
type patientConnector struct {
	driver.Connector

	mu     sync.Mutex
	begun  []chan connected // each is of a caller who gave up
	closed bool
}

// connected is how an attempt to connect ended.
type connected struct {
	conn driver.Conn
	err  error
}

// Connect returns a connection, or the context's error as soon as that is done.
func (c *patientConnector) Connect(ctx context.Context) (driver.Conn, error) {
	attempt := c.attempt(ctx)
	select {
	case r := <-attempt:
		return r.conn, r.err
	case <-ctx.Done():
		c.leave(attempt)
		return nil, ctx.Err()
	}
}

// attempt returns an attempt that a caller left and that did not fail since, or a new one.
func (c *patientConnector) attempt(ctx context.Context) chan connected {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.begun) > 0 {
		last := len(c.begun) - 1
		a := c.begun[last]
		c.begun = c.begun[:last]
		select {
		case r := <-a:
			if r.err != nil {
				continue // what was wrong then may be right now
			}
			a <- r
		default:
		}
		return a
	}
	a := make(chan connected, 1)
	go func() {
		conn, err := c.Connector.Connect(context.WithoutCancel(ctx))
		a <- connected{conn, err}
	}()
	return a
}

// leave keeps an attempt for the next caller.
func (c *patientConnector) leave(a chan connected) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		go shut(a)
		return
	}
	c.begun = append(c.begun, a)
}

// Close closes connections that no one waited for, as soon as they are made. database/sql calls it with Close
// of the pool.
func (c *patientConnector) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, a := range c.begun {
		go shut(a)
	}
	c.begun = nil
	if inner, ok := c.Connector.(io.Closer); ok {
		return inner.Close()
	}
	return nil
}

// shut closes the connection of an attempt when it is there.
func shut(a chan connected) {
	if r := <-a; r.err == nil {
		_ = r.conn.Close() // nobody used it
	}
}
