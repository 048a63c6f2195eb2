package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLines(t *testing.T) {
	t.Parallel()
	const (
		ask     = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		noJSON  = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not JSON: expected one message of JSON-RPC a line"}}`
		batch   = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not taken: send one message a line"}}`
		long    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is too long: a message has at most 16 MiB"}}`
		message = `"error":{"code":-32600,"message":"the line is no message of JSON-RPC: expected an object with \"jsonrpc\": \"2.0\", and a method or the answer to one"}}`
	)
	for _, c := range []struct{ in, on, answer string }{
		{"", "", ""},
		{"\n \r\n", "", ""},
		{ask + "\n" + ask, ask + "\n" + ask + "\n", ""},
		{" " + ask + " \r\n", ask + "\n", ""},
		{"hello\n" + ask + "\n", ask + "\n", noJSON + "\n"},
		{ask + ask + "\n" + ask + "\n", ask + "\n", noJSON + "\n"},
		{ask + "\n" + ask[:9], ask + "\n", noJSON + "\n"},
		{"[" + ask + "]\n" + ask + "\n", ask + "\n", batch + "\n"},
		{"[]\n", "", batch + "\n"},
		{"42\n" + ask + "\n", ask + "\n", `{"jsonrpc":"2.0","id":null,` + message + "\n"},
		{`{"id":7,"method":"ping"}` + "\n", "", `{"jsonrpc":"2.0","id":7,` + message + "\n"},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}` + "\n", "", `{"jsonrpc":"2.0","id":null,` + message + "\n"},
		{strings.Repeat(" ", 9000) + ask + "\n" + ask + "\n", ask + "\n", long + "\n"},
	} {
		var answers bytes.Buffer
		m := newMessages(io.NopCloser(strings.NewReader(c.in)), &answers)
		m.most = 8192
		on, err := io.ReadAll(m)
		if string(on) != c.on || answers.String() != c.answer || err != nil {
			t.Errorf("%q: %v\n  hands on %q\n      want %q\n   answers %q\n      want %q", c.in, err, on, c.on,
				answers.String(), c.answer)
		}
	}
}

// A script pipes requests and a line that is no JSON into a server, and its input ends at once: what it asked
// before and after is answered.
func TestServesOn(t *testing.T) {
	t.Parallel()
	tool := all
	asked := make(chan struct{}, 2)
	tool.Call = func(ctx context.Context, v Values) (json.RawMessage, error) {
		asked <- struct{}{}
		for len(asked) < cap(asked) && ctx.Err() == nil { // both are under way when the input ends
			runtime.Gosched()
		}
		return json.RawMessage(`{}`), ctx.Err()
	}
	input := strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"all","arguments":{"name":"before"}}}
this is not JSON
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"all","arguments":{"name":"after"}}}
`)
	var output bytes.Buffer
	s := Server{Name: "test", Version: "1", Tools: []Tool{tool}, patience: time.Minute}
	if err := s.Serve(t.Context(), io.NopCloser(input), &output); err != nil {
		t.Fatal(err)
	}
	var got []string
	answers := json.NewDecoder(&output)
	for answers.More() {
		var m struct {
			ID    json.RawMessage
			Error struct{ Code int }
		}
		if err := answers.Decode(&m); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s:%d", m.ID, m.Error.Code))
	}
	slices.Sort(got)
	if want := []string{"1:0", "2:0", "3:0", "null:-32700"}; !slices.Equal(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
}
