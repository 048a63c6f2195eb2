package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const good = `{"version": "1.3.0", "commit": "abc", "date": "2026-11-23T10:00:00Z", "url": "https://example.org"}`
	file(LatestFile, good)
	mux := http.NewServeMux()
	mux.HandleFunc("/dist/latest.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(good)) })
	mux.HandleFunc("/moved/latest.json", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/dist/latest.json", http.StatusFound)
	})
	mux.HandleFunc("/large/latest.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat(" ", maximum+1)))
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	for _, c := range []struct{ from, want string }{
		{dir, ""},
		{filepath.Join(dir, LatestFile), ""},
		{s.URL + "/dist", ""},
		{s.URL + "/dist/", ""},
		{s.URL + "/dist/latest.json", ""},
		{s.URL + "/moved", ""},
		{s.URL + "/none", "/none/latest.json: the server answers 404 Not Found"},
		{s.URL + "/large", "/large/latest.json has more than 65536 bytes; it is no latest.json of a release"},
		{filepath.Join(dir, "none"), "none: no such file or directory"},
		{file("text", "hello"), "text is no latest.json of a release: invalid character 'h' looking for " +
			"beginning of value"},
		{file("empty.json", "{}"), `empty.json names no version, but ""`},
		{file("word.json", `{"version": "newest"}`), `word.json names no version, but "newest"`},
		{os.DevNull, "read /dev/null: not a regular file"},
	} {
		r, err := FindRelease(t.Context(), c.from)
		switch {
		case c.want == "" && (err != nil || r.Version != "1.3.0" || r.URL != "https://example.org"):
			t.Errorf("%s: %+v, %v", c.from, r, err)
		case c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)):
			t.Errorf("%s: %v\nwant %s", c.from, err, c.want)
		}
	}
}

func TestNewer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		release, program string
		newer, known     bool
	}{
		{"1.3.0", "1.2.9", true, true},
		{"1.3.0", "v1.2.9", true, true},
		{"1.3.0", "1.3.0", false, true},
		{"1.3.0", "1.10.0", false, true},
		{"1.3.0", "1.3.0-rc.1", true, true},
		{"1.3.0-rc.1", "1.3.0", false, true},
		{"1.3.0", "0.0.0-20261123103721-905eb4351b85", true, true},
		{"1.3.0", "devel-905eb4351b85", false, false},
		{"1.3.0", "devel", false, false},
	} {
		newer, known := Release{Version: c.release}.Newer(c.program)
		if newer != c.newer || known != c.known {
			t.Errorf("%s over %s: %v, %v", c.release, c.program, newer, known)
		}
	}
}
