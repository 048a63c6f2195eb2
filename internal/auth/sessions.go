package auth

import (
	"sync"
	"time"
)

// How long sessions last, and how many there are.
const (
	sessionIdle = 12 * time.Hour
	sessionAge  = 7 * 24 * time.Hour
	mostOpen    = 10_000
)

// Sessions are those of users who have signed in, by words that their browsers keep. They are in memory only:
// when the server ends, all do. They may be used by several goroutines at once.
type Sessions struct {
	mu   sync.Mutex
	open map[string]*session // guarded by mu
}

type session struct {
	user        User
	version     string // of the user's entry, see [Users.Find]
	begun, seen time.Time
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.seen) > sessionIdle || now.Sub(s.begun) > sessionAge
}

// Begin returns the word of a new session of a user.
func (s *Sessions) Begin(user User, version string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.open == nil {
		s.open = map[string]*session{}
	}
	if len(s.open) >= mostOpen {
		s.makeRoom(now)
	}
	word := NewWord()
	s.open[word] = &session{user, version, now, now}
	return word
}

// makeRoom ends the sessions that are over, or else the one that was used the longest ago. The lock is held.
func (s *Sessions) makeRoom(now time.Time) {
	oldest := ""
	for word, one := range s.open {
		if one.over(now) {
			delete(s.open, word)
		} else if oldest == "" || one.seen.Before(s.open[oldest].seen) {
			oldest = word
		}
	}
	if len(s.open) >= mostOpen {
		delete(s.open, oldest)
	}
}

// Find returns the user of a session that is not over, and the version they began it with.
func (s *Sessions) Find(word string) (user User, version string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, now := s.open[word], time.Now()
	switch {
	case one == nil:
		return User{}, "", false
	case one.over(now):
		delete(s.open, word)
		return User{}, "", false
	}
	one.seen = now
	return one.user, one.version, true
}

// End ends a session.
func (s *Sessions) End(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, word)
}
