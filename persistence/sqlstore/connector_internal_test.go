package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"
)

// slowConnector connects when the test says so.
type slowConnector struct {
	begun  chan struct{}
	result chan connected
}

func (c *slowConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c.begun <- struct{}{}
	select {
	case r := <-c.result:
		return r.conn, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *slowConnector) Driver() driver.Driver { return nil }

type closingConn struct {
	driver.Conn
	closed chan struct{}
}

func (c *closingConn) Close() error {
	close(c.closed)
	return nil
}

// TestConnectionThatCameTooLate: who calls next has the connection that the caller before gave up.
func TestConnectionThatCameTooLate(t *testing.T) {
	t.Parallel()
	slow := &slowConnector{make(chan struct{}, 2), make(chan connected)}
	c := &patientConnector{Connector: slow}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-slow.begun
		cancel()
	}()
	if _, err := c.Connect(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first: %v", err)
	}
	conn := &closingConn{closed: make(chan struct{})}
	go func() { slow.result <- connected{conn, nil} }()
	if got, err := c.Connect(t.Context()); err != nil || got != driver.Conn(conn) {
		t.Fatalf("the second: %v, %v", got, err)
	}
	if len(slow.begun) > 0 {
		t.Error("two connections were begun")
	}
}

// TestConnectionThatFailedTooLate: what was wrong before the call is not the call's error.
func TestConnectionThatFailedTooLate(t *testing.T) {
	t.Parallel()
	slow := &slowConnector{make(chan struct{}, 2), make(chan connected)}
	c := &patientConnector{Connector: slow}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Connect(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the first: %v", err)
	}
	attempt := c.begun[0]
	slow.result <- connected{nil, errors.New("starting up")}
	attempt <- <-attempt // it is there
	conn := &closingConn{closed: make(chan struct{})}
	go func() { slow.result <- connected{conn, nil} }()
	if got, err := c.Connect(t.Context()); err != nil || got != driver.Conn(conn) {
		t.Fatalf("the second: %v, %v", got, err)
	}
}

// TestConnectionThatNobodyWaitsFor: a connection that comes after Close is closed.
func TestConnectionThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	slow := &slowConnector{make(chan struct{}, 1), make(chan connected)}
	c := &patientConnector{Connector: slow}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Connect(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	conn := &closingConn{closed: make(chan struct{})}
	slow.result <- connected{conn, nil}
	<-conn.closed
}
