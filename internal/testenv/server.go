package testenv

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A VendorAPI stands in for the API of a vendor. It is safe for concurrent use.
type VendorAPI struct {
	URL string // http://127.0.0.1:port, or https
	CA  []byte // of its certificate, as PEM; nil where it has none

	Calls []ToolCall // of [[calls]]; set before there are requests

	mu       sync.Mutex
	requests []VendorRequest // guarded by mu
}

// A VendorRequest is one that a CLI made for an answer of the model.
type VendorRequest struct {
	Path string
	Does string // the mark that counted, see mark
	Body string

	Header http.Header
}

// An object of JSON.
type object = map[string]any

// A vendor answers requests in the protocol that a CLI uses.
type vendor interface {
	// turn reads a request; ok is false for one that asks no model.
	turn(path, body string) (t turn, ok bool)
	// refuse writes the body of a turn with a status.
	refuse(turn) object
	// answer writes a stream of events, or one object where the request asked for none.
	answer(w *stream, body string, t turn)
}

// ServeVendor starts what stands in for the vendor of a CLI, until the test ends.
func ServeVendor(t testing.TB, cli string) *VendorAPI { return serveVendor(t, cli, httptest.NewServer) }

// ServeVendorTLS is ServeVendor over TLS.
func ServeVendorTLS(t testing.TB, cli string) *VendorAPI {
	return serveVendor(t, cli, httptest.NewTLSServer)
}

func serveVendor(t testing.TB, cli string, listen func(http.Handler) *httptest.Server) *VendorAPI {
	t.Helper()
	v, ok := map[string]vendor{"claude": anthropic{}, "codex": responses{}, "gemini": gemini{}, "qwen": chat{}}[cli]
	if !ok {
		t.Fatalf("no CLI is called %s", cli)
	}
	api := &VendorAPI{}
	server := listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { api.serve(w, r, v) }))
	api.URL = server.URL
	if c := server.Certificate(); c != nil {
		api.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	}
	t.Cleanup(func() {
		server.CloseClientConnections() // an answer that hangs ends with its client
		server.Close()
	})
	return api
}

// Count says how many requests so far had a mark.
func (a *VendorAPI) Count(does string) int {
	n := 0
	for _, r := range a.Requests() {
		if r.Does == does {
			n++
		}
	}
	return n
}

// Requests returns the requests so far.
func (a *VendorAPI) Requests() []VendorRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

func (a *VendorAPI) serve(w http.ResponseWriter, r *http.Request, v vendor) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	body := string(data)
	t, ok := turn{}, false
	if r.Method == http.MethodPost {
		t, ok = v.turn(r.URL.Path, body)
	}
	if !ok {
		send(w, http.StatusNotFound, object{"error": object{"message": "not found", "type": "not_found_error"}})
		return
	}
	a.mu.Lock()
	first := !slices.ContainsFunc(a.requests, func(r VendorRequest) bool { return r.Does == t.name })
	a.requests = append(a.requests, VendorRequest{Path: r.URL.Path, Does: t.name, Body: body, Header: r.Header.Clone()})
	a.mu.Unlock()
	if t.name == "stuck" && first {
		<-r.Context().Done()
		return
	}
	if t.status != 0 {
		if t.name == "429" {
			w.Header().Set("retry-after", strconv.Itoa(int(RetryAfter.Seconds())))
		}
		send(w, t.status, v.refuse(t))
		return
	}
	if t.name == "calls" {
		switch call := nextCall(a.Calls, t.results); {
		case call != nil && len(t.results) >= mostCalls:
			t.said = []string{"in vain: " + call.Tool + ": " + t.results[len(t.results)-1]}
		case call != nil:
			t.said, t.call = nil, call
		}
	}
	v.answer(&stream{w: w, r: r}, body, t)
}

func send(w http.ResponseWriter, status int, o object) {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(status)
	w.Write(data) //nolint:errcheck // the client may be gone
}

// A stream is an answer in the form of server-sent events.
type stream struct {
	w       http.ResponseWriter
	r       *http.Request
	started bool
}

// event sends one; name may be "".
func (s *stream) event(name string, o object) {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	s.raw(name, string(data))
}

func (s *stream) raw(name, data string) {
	if !s.started {
		s.w.Header().Set("content-type", "text/event-stream")
		s.w.WriteHeader(http.StatusOK)
		s.started = true
	}
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", data)
	s.w.(http.Flusher).Flush()
}

// words sends a word every tenth of a second, for ten minutes or until the client is gone.
func (s *stream) words(say func(word string)) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := range 6000 {
		say("tick" + strconv.Itoa(i) + " ")
		select {
		case <-s.r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// cut breaks the connection off.
func (s *stream) cut() { panic(http.ErrAbortHandler) }

// parse reads a request; one that is no object is an empty one.
func parse(body string) object {
	var o object
	_ = json.Unmarshal([]byte(body), &o)
	return o
}

// text is an object as JSON.
func text(o object) string {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// tool returns the first of the names of tools that is contained in one of parts, or "".
func tool(names []string, parts ...string) string {
	for _, part := range parts {
		if i := slices.IndexFunc(names, func(n string) bool { return strings.Contains(n, part) }); i >= 0 {
			return names[i]
		}
	}
	return ""
}

// ending returns the first of the names of tools that is name, or ends in it after two underlines, or "".
func ending(names []string, name string) string {
	if i := slices.IndexFunc(names, func(n string) bool { return n == name || strings.HasSuffix(n, "__"+name) }); i >=
		0 {
		return names[i]
	}
	return ""
}

// list returns the objects of a list.
func list(v any) []object {
	items, _ := v.([]any)
	var all []object
	for _, item := range items {
		if o, ok := item.(object); ok {
			all = append(all, o)
		}
	}
	return all
}

// names returns the names of the tools of a list.
func names(v any) []string {
	var all []string
	for _, o := range list(v) {
		name, ok := o["name"].(string)
		if !ok {
			name, _ = o["type"].(string)
		}
		all = append(all, name)
	}
	return all
}
