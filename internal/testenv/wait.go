package testenv

import (
	"testing"
	"time"
)

// Patience is how long a test waits for what must come: the machine may be busy with other tests.
const Patience = 3 * time.Minute

// Wait waits until done returns true. It fails the test after three minutes and then says what was waited for.
// The goroutine of the test must call it.
func Wait(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !Within(Patience, done) {
		t.Fatalf("waited %v for %s", Patience, what)
	}
}

// Within asks done until it returns true or the limit has passed: every five milliseconds at first, every 50
// later, and with pauses four times as long as it takes to ask, which may start a process. It returns the last
// answer.
func Within(limit time.Duration, done func() bool) bool {
	pause := 5 * time.Millisecond
	for end := time.Now().Add(limit); ; pause = min(pause*5/4, 50*time.Millisecond) {
		begun := time.Now()
		if done() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		time.Sleep(max(pause, min(4*time.Since(begun), time.Second)))
	}
}
