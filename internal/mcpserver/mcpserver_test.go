package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loops/internal/testenv"
)

var all = Tool{Name: "all", Arguments: []Argument{
	{Name: "name", Kind: Text, Required: true, About: "name of a loop"},
	{Name: "limit", Kind: Number, Least: 1, Most: 9, Default: 5},
	{Name: "strict", Kind: Flag},
	{Name: "names", Kind: Texts},
	{Name: "values", Kind: Mapping},
}}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, wrong string }{
		{`{"name": "a"}`, ""},
		{`{"name": "a", "limit": 9, "strict": true, "names": ["b"], "values": {"c": [1]}}`, ""},
		{`{"name": "a", "limit": null, "strict": null}`, ""},
		{``, "name is missing: name of a loop"},
		{`[]`, "the arguments of all are no JSON object"},
		{`{"name": " "}`, "name is empty: name of a loop"},
		{`{"name": 1}`, "name: expected a text, not 1"},
		{`{"name": "a", "limit": 10}`, "limit: expected a whole number from 1 to 9, not 10"},
		{`{"name": "a", "limit": 1.5}`, "limit: expected a whole number from 1 to 9, not 1.5"},
		{`{"name": "a", "limit": "3"}`, `limit: expected a whole number from 1 to 9, not "3"`},
		{`{"name": "a", "strict": "yes"}`, `strict: expected true or false, not "yes"`},
		{`{"name": "a", "names": "b"}`, `names: expected a list of texts, not "b"`},
		{`{"name": "a", "values": [1]}`, `values: expected an object, not [1]`},
		{`{"name": "a", "names": "` + strings.Repeat("b", 80) + `"}`, `names: expected a list of texts, not "` +
			strings.Repeat("b", 59) + "…"},
		{`{"nam": "a"}`, "name is missing: name of a loop\nall has no argument \"nam\"; did you mean \"name\"?; it " +
			"has name, limit, strict, names, values"},
	} {
		values, err := all.check(json.RawMessage(c.given))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.wrong {
			t.Errorf("%s:\n got %q\nwant %q", c.given, got, c.wrong)
		}
		if c.wrong == "" && (values.Text("name") != "a" || values.Number("limit") == 0) {
			t.Errorf("%s: %v", c.given, values)
		}
	}
}

// pair returns a client that talks to a server, and what ends the server: its context, and its input.
func pair(t *testing.T, tool Tool) (client *mcp.ClientSession, end context.CancelFunc, input io.Closer,
	ended chan error,
) {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ctx, end := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	s := Server{Name: "test", Version: "1", Tools: []Tool{tool}, patience: time.Millisecond}
	go func() { ended <- s.Serve(ctx, fromClient, toClient) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(); _ = client.Close() })
	return client, end, toServer, ended
}

func call(t *testing.T, client *mcp.ClientSession, arguments any) *mcp.CallToolResult {
	t.Helper()
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "all", Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCalls(t *testing.T) {
	t.Parallel()
	tool := all
	tool.Result = []Field{{Name: "said", Type: "string"}}
	tool.Call = func(_ context.Context, v Values) (json.RawMessage, error) {
		if v.Flag("strict") {
			return nil, errors.New("this is what went wrong; do that")
		}
		return json.RawMessage(`{"said": "` + v.Text("name") + `"}`), nil
	}
	client, _, _, _ := pair(t, tool)
	r := call(t, client, map[string]any{"name": "a"})
	if m, _ := r.StructuredContent.(map[string]any); r.IsError || m["said"] != "a" || text(r) != `{"said": "a"}` {
		t.Errorf("%+v %s", r, text(r))
	}
	if r = call(t, client, map[string]any{"name": "a", "strict": true}); !r.IsError ||
		text(r) != "this is what went wrong; do that" {
		t.Errorf("%+v %s", r, text(r))
	}
	if r = call(t, client, map[string]any{}); !r.IsError || text(r) != "name is missing: name of a loop" {
		t.Errorf("%+v %s", r, text(r))
	}
}

func text(r *mcp.CallToolResult) string {
	if len(r.Content) != 1 {
		return ""
	}
	c, _ := r.Content[0].(*mcp.TextContent)
	return c.Text
}

// A call that takes long ends with the server, however that ends.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"context", "input"} {
		t.Run(how, func(t *testing.T) {
			began, over := make(chan struct{}), make(chan struct{})
			tool := all
			tool.Call = func(ctx context.Context, _ Values) (json.RawMessage, error) {
				close(began)
				<-ctx.Done()
				close(over)
				return nil, ctx.Err()
			}
			client, end, input, ended := pair(t, tool)
			go func() {
				_, _ = client.CallTool(t.Context(),
					&mcp.CallToolParams{Name: "all", Arguments: map[string]any{"name": "a"}})
			}()
			<-began
			if how == "context" {
				end()
			} else {
				_ = input.Close()
			}
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(testenv.Patience):
				t.Fatal("it serves on")
			}
			select {
			case <-over:
			case <-time.After(testenv.Patience):
				t.Error("the call goes on")
			}
		})
	}
}
