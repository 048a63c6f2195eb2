package web

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"loops/internal/auth"
)

// How many connections are open at once: in all, and of one client.
const (
	maxConnections = 256
	maxOfClient    = 128
)

// A limited listener has so many connections at once. Where one more is too many, the connection that has had
// no request for longest is closed: one of the same client if that has too many, else one of the client that
// has most. If all of them are busy, one more of a client that has too many is closed, and others wait.
type limited struct {
	net.Listener
	// reports whether there are many users after an address, as after a proxy; nil = there are not
	many   func(remote string) bool
	places chan struct{}

	mu   sync.Mutex
	of   map[string]int       // guarded by mu: connections by client
	idle map[*placed]struct{} // guarded by mu: those without a request
}

func newLimited(l net.Listener, many func(string) bool) *limited {
	return &limited{
		Listener: l, many: many, places: make(chan struct{}, maxConnections), of: map[string]int{},
		idle: map[*placed]struct{}{},
	}
}

// Accept implements [net.Listener].
func (l *limited) Accept() (net.Conn, error) {
	for {
		if len(l.places) == cap(l.places) {
			l.closeIdle("")
		}
		l.places <- struct{}{}
		conn, err := l.Listener.Accept()
		if err != nil {
			<-l.places
			return nil, err
		}
		remote := conn.RemoteAddr().String()
		c := &placed{Conn: conn, list: l, client: auth.ClientOf(remote), since: time.Now()}
		if l.count(c.client, 1) > maxOfClient && (l.many == nil || !l.many(remote)) && !l.closeIdle(c.client) {
			_ = c.Close()
			continue
		}
		l.mu.Lock()
		l.idle[c] = struct{}{} // until its first request
		l.mu.Unlock()
		return c, nil
	}
}

// closeIdle closes the connection of a client that has been without a request for longest, and reports whether
// there was one. client "" is the one that has most connections.
func (l *limited) closeIdle(client string) bool {
	l.mu.Lock()
	var oldest *placed
	for c := range l.idle {
		switch {
		case client != "" && c.client != client:
		case oldest == nil, l.of[c.client] > l.of[oldest.client], l.of[c.client] == l.of[oldest.client] &&
			c.since.Before(oldest.since):
			oldest = c
		}
	}
	l.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return oldest != nil
}

// Track notes whether a connection has a request; it is the ConnState of the server.
func (l *limited) Track(conn net.Conn, state http.ConnState) {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	c, ok := conn.(*placed)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateIdle:
		c.since = time.Now()
		l.idle[c] = struct{}{}
	case http.StateActive, http.StateHijacked, http.StateClosed:
		delete(l.idle, c)
	}
}

// count adds to the connections of a client, and returns how many they are.
func (l *limited) count(client string, more int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.of[client] + more
	if l.of[client] = n; n == 0 {
		delete(l.of, client)
	}
	return n
}

// A placed connection takes one of the places of a listener.
type placed struct {
	net.Conn
	list   *limited
	client string
	since  time.Time // guarded by list.mu: when it was last without a request
	once   sync.Once
}

// Close implements [net.Conn].
func (c *placed) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.list.mu.Lock()
		delete(c.list.idle, c)
		c.list.mu.Unlock()
		c.list.count(c.client, -1)
		<-c.list.places
	})
	return err
}
