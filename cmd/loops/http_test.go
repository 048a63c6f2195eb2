package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptServe starts a web server on this machine until the script ends. Its address is in $SERVER, and each
// request adds a line to the file requests. What it answers is in the path: /status/N, /forbidden (403 with what GitHub says), /echo, /late (429 and
// Retry-After, then 200), /hang (nothing), /picture (bytes that are no text).
func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: serve")
	}
	log := &requestLog{path: ts.MkAbs("requests")}
	mux := http.NewServeMux()
	mux.HandleFunc("/forbidden", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"message": "Resource not accessible by personal access token"}`))
	})
	mux.HandleFunc("/status/", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/status/"))
		w.WriteHeader(n)
		_, _ = fmt.Fprintf(w, "{\"status\": %d}\n", n)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Echo", r.Header.Get("X-Note"))
		_ = json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "query": r.URL.RawQuery, "auth": r.Header.Get("Authorization"), "type": r.Header.Get("Content-Type"), "body": string(body)})
	})
	mux.HandleFunc("/late", func(w http.ResponseWriter, _ *http.Request) {
		if log.count("/late") == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	mux.HandleFunc("/picture", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "\x89PNG\r\n\xff\xfe\r") })
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.add(r)
		mux.ServeHTTP(w, r)
	}))
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ts.Setenv("SERVER", server.URL)
}

// A requestLog is a file with a line for each request.
type requestLog struct {
	path string
	mu   sync.Mutex
	seen map[string]int
}

func (l *requestLog) add(r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[string]int{}
	}
	l.seen[r.URL.Path]++
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return // the script misses the line
	}
	_, _ = fmt.Fprintf(f, "%s %s\n", r.Method, r.URL.Path)
	_ = f.Close()
}

func (l *requestLog) count(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[path]
}
