package auth

import (
	"net/netip"
	"sync"
	"time"
)

// mostKept is how many keys an allowance remembers. Where there are more, those that have all of theirs are
// forgotten, then any.
const mostKept = 10_000

// An Allowance lets each key do so much at once, and then so much in a time. It may be used by several
// goroutines at once.
type Allowance struct {
	Burst int           // at once
	Every time.Duration // in which one more is let

	mu   sync.Mutex
	used map[string]usage // guarded by mu
}

type usage struct {
	count float64
	at    time.Time
}

// Take uses one of what a key may do. If nothing is left it reports after how long it is worth trying again.
func (a *Allowance) Take(key string) (wait time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if a.used == nil {
		a.used = map[string]usage{}
	}
	if _, known := a.used[key]; !known && len(a.used) >= mostKept {
		a.forget(now)
	}
	count := a.count(key, now)
	if count+1 > float64(a.Burst) {
		return time.Duration((count + 1 - float64(a.Burst)) * float64(a.Every)), false
	}
	a.used[key] = usage{count + 1, now}
	return 0, true
}

// Return gives back one that was taken: it does not count.
func (a *Allowance) Return(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.used[key] = usage{max(0, a.count(key, now)-1), now}
}

// count is how much a key has used and not got back. The lock is held.
func (a *Allowance) count(key string, now time.Time) float64 {
	u := a.used[key]
	return max(0, u.count-float64(now.Sub(u.at))/float64(a.Every))
}

func (a *Allowance) forget(now time.Time) {
	for key := range a.used {
		if a.count(key, now) == 0 {
			delete(a.used, key)
		}
	}
	for key := range a.used { // more than one, so that this is not done for each new key
		if len(a.used) < mostKept*9/10 {
			return
		}
		delete(a.used, key)
	}
}

// ClientOf returns the key of the client at the address of a connection: an IPv4 address, or an IPv6 network, as one
// client has all addresses of it.
func ClientOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := at.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return remote
	}
	return network.String()
}
