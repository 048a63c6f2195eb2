package engine_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"loops/engine"
	"loops/fsm"
)

func TestALookAtAURL(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up")) })
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	mux.Handle("/moved", http.RedirectHandler("/ready", http.StatusFound))
	mux.Handle("/circle", http.RedirectHandler("/circle", http.StatusFound))
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", 1<<20)))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	gone := httptest.NewServer(mux)
	gone.Close()
	for _, c := range []struct {
		address string
		follow  bool
		want    fsm.Answered
	}{
		{server.URL + "/ready", true, fsm.Answered{Status: 200, Body: "up"}},
		{server.URL + "/busy", true, fsm.Answered{Status: 503}},
		{server.URL + "/moved", true, fsm.Answered{Status: 200, Body: "up"}},
		{server.URL + "/moved", false, fsm.Answered{Status: 302, Body: "<a href=\"/ready\">Found</a>.\n\n"}},
		{server.URL + "/circle", true, fsm.Answered{Status: 302, Body: "<a href=\"/circle\">Found</a>.\n\n"}},
		{server.URL + "/large", true, fsm.Answered{Status: 200, Body: strings.Repeat("x", 64<<10)}},
	} {
		if got, err := (engine.Watcher{}).URL(t.Context(), c.address, c.follow); err != nil || got != c.want {
			t.Errorf("%s (follow %v): %.80v, %v; want %.80v", c.address, c.follow, got, err, c.want)
		}
	}
	if got, err := (engine.Watcher{}).URL(t.Context(), gone.URL, true); err != nil ||
		!strings.Contains(got.Problem, "refused") || got.Status != 0 {
		t.Errorf("a server that is gone: %+v, %v", got, err)
	}
	for _, address := range []string{"ftp://example.org/", "http://", "localhost:8080", "http://%zz"} {
		if got, err := (engine.Watcher{}).URL(t.Context(), address, true); err == nil {
			t.Errorf("%s came to %+v, and no error", address, got)
		}
	}
}
