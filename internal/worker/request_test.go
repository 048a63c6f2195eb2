package worker

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"loops/engine"
	"loops/internal/config"
	"loops/persistence"
)

// TestRequestWithoutHash: a row of the database that names no definition, or another one than its request, has
// nothing executed.
func TestRequestWithoutHash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, hash, request, want string }{
		{"as submit records it", "abc", `{"loop": "x", "hash": "abc"}`, ""},
		{"no hash", "", `{"loop": "x"}`, "what was submitted as run r does not say which definition it is about: " +
			"submit it again"},
		{
			"no hash in the request", "abc", `{"loop": "x"}`,
			"what was submitted as run r does not say which definition it is about: submit it again",
		},
		{
			"another one in the request", "abc", `{"loop": "x", "hash": "abd"}`,
			"what was submitted as run r does not say which definition it is about: submit it again",
		},
	} {
		p := persistence.Placed{
			Job:   persistence.Job{Run: "r", Hash: c.hash, Request: []byte(c.request)},
			State: persistence.Run{Status: persistence.Queued},
		}
		r, _, _, err := (&worker{}).requestOf(p)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want || (err == nil) != (r.Start != nil) {
			t.Errorf("%s: %q, %v, want %q", c.name, got, r.Start, c.want)
		}
	}
}

// A definition that came with a run is used where one of the worker's keys signed it, and what was changed
// after it was signed begins nothing.
func TestShipped(t *testing.T) {
	t.Parallel()
	key := func(name string) (string, func(string) *engine.Shipped) {
		file := filepath.Join(t.TempDir(), name)
		public, err := config.NewKey(file)
		if err != nil {
			t.Fatal(err)
		}
		private, err := config.ReadKey(file)
		if err != nil {
			t.Fatal(err)
		}
		return public, func(text string) *engine.Shipped {
			return &engine.Shipped{Text: text, Signature: config.Sign(private, []byte(text))}
		}
	}
	known, sign := key("known")
	other, signOther := key("other")
	forged := *sign("name: fix")
	forged.Text = "name: rm"
	claimed := *signOther("name: fix")
	claimed.Signature.Key = known
	for _, c := range []struct {
		name             string
		mode             string
		shipped          *engine.Shipped
		used             bool
		unaccepted, fail string
	}{
		{"none", config.AcceptSigned, nil, false, "", ""},
		{"by a known key", config.AcceptSigned, sign("name: fix"), true, "", ""},
		{"by a known key, where none is accepted", "", sign("name: fix"), false, "it came signed by " + known +
			", and dispatch.accept of this worker is not signed", ""},
		{"by another key", config.AcceptSigned, signOther("name: fix"), false, "it came signed by " + other +
			", which is not in dispatch.keys of this worker", ""},
		{
			"changed", config.AcceptSigned, &forged, false, "",
			"the definition that came with it was changed after it was signed",
		},
		{
			"changed, where none is accepted", config.AcceptCheckout, &forged, false, "",
			"the definition that came with it was changed after it was signed",
		},
		{
			"another key under the name of a known one", config.AcceptSigned, &claimed, false, "",
			"the definition that came with it was changed after it was signed",
		},
		{
			"not signed", config.AcceptSigned, &engine.Shipped{Text: "name: fix"}, false, "",
			"the definition that came with it was changed after it was signed",
		},
	} {
		w := &worker{accept: config.Accept{Mode: c.mode, Keys: []string{known}}}
		text, err := json.Marshal(engine.StartRequest{Loop: "fix", Hash: "abc", Shipped: c.shipped})
		if err != nil {
			t.Fatal(err)
		}
		for _, status := range []persistence.Status{persistence.Queued, persistence.Interrupted} {
			r, _, unaccepted,
				err := w.requestOf(persistence.Placed{
				Job:   persistence.Job{Run: "r", Hash: "abc", Request: text},
				State: persistence.Run{Status: status},
			})
			fail := ""
			if err != nil {
				fail = err.Error()
			}
			because := ""
			if unaccepted != nil {
				because = unaccepted.Error()
			}
			used := r.Start != nil && r.Start.Shipped != nil || r.Resume != nil && r.Resume.Shipped != nil
			if used != c.used || because != c.unaccepted || !strings.HasPrefix(fail, c.fail) ||
				(c.fail == "") != (fail == "") {
				t.Errorf("%s, %s: used %v, unaccepted %q, error %q", c.name, status, used, because, fail)
			}
		}
	}
}
