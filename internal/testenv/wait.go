package testenv

import (
	"testing"
	"time"
)

// Wait waits until done returns true. It fails the test after a minute and then says what was waited for. The goroutine of the
// test must call it.
func Wait(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !Within(time.Minute, done) {
		t.Fatalf("waited a minute for %s", what)
	}
}

// Within asks done until it returns true or the limit has passed: every five milliseconds at first, every 50 later. It returns
// the last answer.
func Within(limit time.Duration, done func() bool) bool {
	pause := 5 * time.Millisecond
	for end := time.Now().Add(limit); ; pause = min(pause*5/4, 50*time.Millisecond) {
		if done() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
}
