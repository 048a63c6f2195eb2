package web

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The headers of a page that a browser reads again by itself: with againHeader it says so, and with restHeader,
// in milliseconds, it learns how long it is not to do so for progress alone. A run whose status changed is read
// at once all the same.
const (
	againHeader = "X-Loops-Again"
	restHeader  = "X-Loops-Rest"
)

const (
	pageShare = 0.02             // of a core, what all open pages together take for progress
	mostRest  = 10 * time.Second // however many there are
)

// A pacer spreads the pages that browsers read again by themselves over time. The zero pacer is ready, for
// several goroutines at once.
type pacer struct {
	mu   sync.Mutex
	next time.Time // guarded by mu; until then what was read since has its share
}

// rest notes that a page took so long, and returns how long its reader is to wait.
func (p *pacer) rest(now time.Time, took time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(float64(took) / pageShare))
	if latest := now.Add(mostRest); p.next.After(latest) {
		p.next = latest
	}
	return p.next.Sub(now)
}

type begunKey struct{}

// timed notes when a page was asked for by a browser that reads it again.
func timed(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.Header.Get(againHeader) != "" {
			r = r.WithContext(context.WithValue(r.Context(), begunKey{}, time.Now()))
		}
		inner.ServeHTTP(w, r)
	})
}

// pace has the answer say how long its reader is to wait, if it reads the page again and again.
func (s *Server) pace(w http.ResponseWriter, r *http.Request) {
	if begun, ok := r.Context().Value(begunKey{}).(time.Time); ok {
		now := time.Now()
		w.Header().Set(restHeader, strconv.FormatInt(s.pacer.rest(now, now.Sub(begun)).Milliseconds(), 10))
	}
}
