package sqlstore_test

import (
	"errors"
	"testing"

	"loops/persistence"
)

// TestConnectionsEndWhileReading: the server ends the connections in the middle of a history. A reader gets all of it
// or an error, never a part as if it were all.
func TestConnectionsEndWhileReading(t *testing.T) {
	t.Parallel()
	// other tests use the server too
	at := with(with(dialects[1].location(t), "durability=none"), "application_name=cut")
	s := opened(t, at)
	j := create(t, s, elsewhere)
	for n := range 1500 { // more than are read at once
		must(t, j.Record(t.Context(), step(n+2)))
	}
	id := j.Run().ID
	must(t, j.Close(t.Context()))
	want := whole(t, s, id)
	if want < 1500 {
		t.Fatalf("%d events", want)
	}
	other := opened(t, at)
	for _, after := range []int{1, 499, 500, 1000} {
		n := 0
		var last error
		for e, err := range s.Events(t.Context(), id, 0) {
			if last = err; err != nil {
				continue
			}
			if n++; e.Seq != uint64(n) {
				t.Fatalf("event %d is followed by %d", n-1, e.Seq)
			}
			if n == after {
				_, err := other.Exec(t.Context(),
					`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE pid <> pg_backend_pid() AND application_name = 'cut'`)
				must(t, err)
			}
		}
		_, damaged := errors.AsType[*persistence.DamageError](last)
		if n != want && last == nil || damaged {
			t.Errorf("cut after %d: %d of %d events, %v", after, n, want, last)
		}
	}
}

// A command opened three connections, of which it used one at a time.
func TestOneConnectionForReadingAndWriting(t *testing.T) {
	t.Parallel()
	at := with(dialects[1].location(t), "application_name=one")
	s := opened(t, at)
	j := create(t, s, elsewhere)
	must(t, j.Record(t.Context(), step(2)))
	whole(t, s, j.Run().ID)
	var n int
	must(t, s.Ask(t.Context(), &n, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'one'`))
	if n != 1 {
		t.Errorf("%d connections", n)
	}
	must(t, j.Close(t.Context()))
}
