package worker

import (
	"testing"

	"loops/persistence"
)

// TestRequestWithoutHash: a row of the database that names no definition, or another one than its request, has nothing executed.
func TestRequestWithoutHash(t *testing.T) {
	for _, c := range []struct{ name, hash, request, want string }{
		{"as submit records it", "abc", `{"loop": "x", "hash": "abc"}`, ""},
		{"no hash", "", `{"loop": "x"}`, "what was submitted as run r does not say which definition it is about: submit it again"},
		{"no hash in the request", "abc", `{"loop": "x"}`, "what was submitted as run r does not say which definition it is about: submit it again"},
		{"another one in the request", "abc", `{"loop": "x", "hash": "abd"}`, "what was submitted as run r does not say which definition it is about: submit it again"},
	} {
		p := persistence.Placed{Job: persistence.Job{Run: "r", Hash: c.hash, Request: []byte(c.request)}, State: persistence.Run{Status: persistence.Queued}}
		r, _, err := requestOf(p)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want || (err == nil) != (r.Start != nil) {
			t.Errorf("%s: %q, %v, want %q", c.name, got, r.Start, c.want)
		}
	}
}
