package web

import (
	"net"
	"sync"

	"loops/internal/access"
)

// How many connections are open at once: in all, and of one client, which is not to keep all others out.
const (
	maxConnections = 256
	maxOfClient    = 128
)

// A limited listener has so many connections at once, and lets others wait. Those of a client that has too many are closed.
type limited struct {
	net.Listener
	many   func(remote string) bool // reports whether there are many users behind an address, as behind a proxy; nil = there are not
	places chan struct{}

	mu sync.Mutex
	of map[string]int // guarded by mu: connections by client
}

func newLimited(l net.Listener, many func(string) bool) *limited {
	return &limited{Listener: l, many: many, places: make(chan struct{}, maxConnections), of: map[string]int{}}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		l.places <- struct{}{}
		c, err := l.Listener.Accept()
		if err != nil {
			<-l.places
			return nil, err
		}
		remote := c.RemoteAddr().String()
		client := access.ClientOf(remote)
		if l.count(client, 1) > maxOfClient && (l.many == nil || !l.many(remote)) {
			_ = c.Close()
			l.leave(client)
			continue
		}
		return &placed{Conn: c, leave: func() { l.leave(client) }}, nil
	}
}

func (l *limited) leave(client string) {
	l.count(client, -1)
	<-l.places
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

type placed struct {
	net.Conn
	once  sync.Once
	leave func()
}

func (c *placed) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.leave)
	return err
}
