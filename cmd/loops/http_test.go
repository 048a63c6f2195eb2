package main_test

import (
	"encoding/json"
	"encoding/pem"
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
// request adds a line to the file requests. What it answers is in the path: /status/N, /private.git (wants a login),
// /forbidden (403 with what GitHub says), /echo, /late (429 and Retry-After, then 200), /hang (nothing),
// /picture (bytes that are no text), /who (401 to whom does not say it, else 200; the file who has what was
// said). With "tls" it speaks TLS: $SERVER_HOST is its host and port, and SSL_CERT_FILE has programs accept it.
func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	secure := len(args) == 1 && args[0] == "tls"
	if neg || len(args) != 0 && !secure {
		ts.Fatalf("usage: serve [tls]")
	}
	log := &requestLog{path: ts.MkAbs("requests")}
	mux := http.NewServeMux()
	mux.HandleFunc("/private.git/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
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
		_ = json.NewEncoder(w).Encode(map[string]any{
			"method": r.Method, "query": r.URL.RawQuery,
			"auth": r.Header.Get("Authorization"), "type": r.Header.Get("Content-Type"), "body": string(body),
		})
	})
	mux.HandleFunc("/late", func(w http.ResponseWriter, _ *http.Request) {
		if log.count("/late") == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	mux.HandleFunc("/picture", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "\x89PNG\r\n\xff\xfe\r")
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	who := &requestLog{path: ts.MkAbs("who")}
	mux.HandleFunc("/who/", func(w http.ResponseWriter, r *http.Request) {
		said := strings.TrimSpace(r.Header.Get("X-Api-Key") + " " + r.Header.Get("Authorization"))
		if said == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if _, password, ok := r.BasicAuth(); ok {
			said = "password " + password
		}
		who.write(r.Host + ": " + said)
	})
	listen := httptest.NewServer
	if secure {
		listen = httptest.NewTLSServer
	}
	server := listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.add(r)
		mux.ServeHTTP(w, r)
	}))
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ts.Setenv("SERVER", server.URL)
	ts.Setenv("SERVER_HOST", server.Listener.Addr().String())
	if c := server.Certificate(); c != nil {
		file := ts.MkAbs("server.pem")
		ts.Check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), 0o600))
		ts.Setenv("SSL_CERT_FILE", file)
	}
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
	l.write(r.Method + " " + r.URL.Path)
}

// write adds a line to the file.
func (l *requestLog) write(line string) {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return // the script misses the line
	}
	_, _ = fmt.Fprintln(f, line)
	_ = f.Close()
}

func (l *requestLog) count(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[path]
}
