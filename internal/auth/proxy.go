package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"loops/internal/humanize"
)

// A Proxy names the user in a header of each request that it passes on.
type Proxy struct {
	Header string
	From   []netip.Prefix // where it is; a request from elsewhere has no user
	Role   Role           // of all users, unless Users says more
	Users  *Users         // nil = each user that the proxy names is let in
}

// NewProxy reads what a command line says of a proxy.
func NewProxy(header string, from []string, role string, users *Users) (*Proxy, error) {
	p := &Proxy{Header: http.CanonicalHeaderKey(header), Users: users}
	if len(from) == 0 {
		return nil, errors.New("a header is trusted only from the addresses of a proxy: which? Add --trust-from, " +
			"such as --trust-from 10.0.0.7/32")
	}
	for _, text := range from {
		prefix, err := netip.ParsePrefix(text)
		if ip, bad := netip.ParseAddr(text); err != nil && bad == nil {
			prefix, err = ip.Prefix(ip.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("--trust-from %s: expected an address or a network such as 10.0.0.0/24",
				humanize.Quote(text))
		}
		p.From = append(p.From, prefix.Masked())
	}
	var err error
	p.Role, err = ParseRole(role)
	return p, err
}

// Trusts reports whether the other end of a connection is the proxy.
func (p *Proxy) Trusts(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	for _, prefix := range p.From {
		if prefix.Contains(at.Addr().Unmap().WithZone("")) {
			return true
		}
	}
	return false
}

// User returns the user of a request. A header that is there twice names no user: one of them may be the client's own.
func (p *Proxy) User(r *http.Request) (User, bool) {
	names := r.Header[p.Header]
	if len(names) != 1 || !p.Trusts(r.RemoteAddr) {
		return User{}, false
	}
	name := strings.TrimSpace(names[0])
	if CheckName(name) != nil {
		return User{}, false
	}
	if p.Users != nil {
		user, _, ok := p.Users.Find(name)
		return user, ok
	}
	return User{name, p.Role}, true
}
