package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The test program is also the server of the tests: one made with the library servers are made with.
const serverVariable = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(m.Run())
}

func serve() error {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, do func(arguments json.RawMessage) (string, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type": "object"}`)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := do(req.Params.Arguments)
				result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
				if err != nil {
					result.IsError = true
				}
				return result, nil
			})
	}
	add("echo", func(a json.RawMessage) (string, error) { return string(a), nil })
	add("fail", func(json.RawMessage) (string, error) { return "the disk is full\nof things", errors.New("failed") })
	add("where", func(json.RawMessage) (string, error) {
		dir, err := os.Getwd()
		return fmt.Sprintf("%s %q %s %s %d", dir, os.Args[1:], os.Getenv("TOKEN"), os.Getenv("KEPT"), os.Getpid()), err
	})
	add("big", func(json.RawMessage) (string, error) { return strings.Repeat("äx\n", 1<<20), nil })
	add("noisy", func(json.RawMessage) (string, error) {
		_, err := fmt.Fprint(os.Stderr, strings.Repeat("complaint\n", 1<<20))
		return "said", err
	})
	add("die", func(json.RawMessage) (string, error) { os.Exit(5); return "", nil })
	type sum struct{ A, B int }
	mcp.AddTool(s, &mcp.Tool{Name: "add"},
		func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, struct{ Sum int }, error) {
			return nil, struct{ Sum int }{in.A + in.B}, nil
		})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

// A scene is a project with a configuration.
type scene struct {
	t      *testing.T
	dir    string
	call   Call
	stderr bytes.Buffer
}

const (
	shortLimit = 100 * time.Millisecond
	longLimit  = 10 * time.Minute // a limit that no machine is slow enough for
)

// patient returns limits for servers: how long they may take after the end of their input, and after TERM.
func patient(input, term time.Duration) *limits {
	return &limits{input: input, term: term, death: longLimit, list: longLimit}
}

// newScene returns a folder with that configuration, and a call of its tools.
func newScene(t *testing.T, config string) *scene {
	t.Helper()
	s := &scene{t: t, dir: t.TempDir()}
	s.call = Call{
		Config: filepath.Join(s.dir, ".mcp.json"), Dir: s.dir, Env: os.Environ(), Stderr: &s.stderr,
		Version: "test", limits: patient(shortLimit, longLimit),
	}
	s.write(".mcp.json", config)
	return s
}

func (s *scene) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// do makes a call, and checks that the server is gone if it wrote its pid.
func (s *scene) do(ctx context.Context, tool, arguments string) (string, *Error) {
	s.t.Helper()
	s.call.Tool, s.call.Arguments = tool, []byte(arguments)
	result, err := s.call.Do(ctx)
	if b, e := os.ReadFile(filepath.Join(s.dir, "pid")); e == nil {
		pid, e := strconv.Atoi(strings.TrimSpace(string(b)))
		if e != nil {
			s.t.Fatal(e)
		}
		if e := syscall.Kill(pid, 0); !errors.Is(e, syscall.ESRCH) {
			s.t.Errorf("the server still runs: %v", e)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if err == nil {
		return string(result), nil
	}
	var failed *Error
	if !errors.As(err, &failed) || failed.Code == 0 || failed.Text == "" || strings.Contains(failed.Text, "\n") {
		s.t.Fatalf("error %T %v", err, err)
	}
	return string(result), failed
}

// check compares the outcome of a call; text has to be part of the error.
func (s *scene) check(result string, err *Error, wantResult string, code int, text string) {
	s.t.Helper()
	text = strings.ReplaceAll(text, "DIR", s.dir)
	if result != wantResult {
		s.t.Errorf("result %.300q, want %.300q", result, wantResult)
	}
	switch {
	case code == 0 && err != nil:
		s.t.Errorf("error %d: %s", err.Code, err.Text)
	case code != 0 && (err == nil || err.Code != code || err.Text != text):
		s.t.Errorf("error\n%+v\nwant\n%d: %s", err, code, text)
	}
}

func entryOf(command string, args ...string) string {
	b, err := json.Marshal(map[string]any{"command": command, "args": args})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func goServer(more string) string {
	return fmt.Sprintf(`{"command": %q, "env": {"MCP_TEST_SERVER": "yes"%s}}`, os.Args[0], more)
}

func TestServerOfTheLibrary(t *testing.T) {
	t.Parallel()
	const many = "; it has: add, big, die, echo, fail, noisy, where"
	for _, c := range []struct {
		name, tool, arguments string
		result                string
		code                  int
		text                  string
	}{
		{
			"echo", "go/echo", `{"x": [1.50, "<ä&>", null]}`,
			`{"content":[{"type":"text","text":"{\"x\":[1.50,\"\u003cä\u0026\u003e\",null]}"}]}`, 0, "",
		},
		{"no arguments", "go/echo", "", `{"content":[{"type":"text","text":"{}"}]}`, 0, ""},
		{"blank arguments", "go/echo", " \n ", `{"content":[{"type":"text","text":"{}"}]}`, 0, ""},
		{
			"structured", "go/add", `{"A": 2, "B": 3}`,
			`{"content":[{"type":"text","text":"{\"Sum\":5}"}],"structuredContent":{"Sum":5}}`, 0, "",
		},
		{"big", "go/big", "", `{"content":[{"type":"text","text":"` + strings.Repeat(`äx\n`, 1<<20) + `"}]}`, 0, ""},
		{
			"tool error", "go/fail", "",
			`{"content":[{"type":"text","text":"the disk is full\nof things"}],"isError":true}`, 1,
			`tool "fail" of server "go" reports an error: "the disk is full\nof things"`,
		},
		{
			"bad arguments", "go/add", `{"A": "x"}`,
			`{"content":[{"type":"text","text":"validating \"arguments\": validating root: validating /properties/A: type: x has type \"string\", want \"integer\""}],"isError":true}`,
			1,
			`tool "add" of server "go" reports an error: "validating \"arguments\": validating root: validating /properties/A: type: x has type \"string\", want \"integer\""`,
		},
		{"no such tool", "go/ecko", "", "", 127, `server "go" has no tool "ecko"; did you mean "echo"?` + many},
		{"nothing like it", "go/x/y", "", "", 127, `server "go" has no tool "x/y"` + many},
		{"dies", "go/die", "", "", 1, `server "go" ended with exit code 5 before it answered tools/call`},
		{"arguments are no object", "go/echo", "[1]", "", 2, `the arguments of go/echo are no JSON object: "[1]"`},
		{"arguments are null", "go/echo", "null", "", 2, `the arguments of go/echo are no JSON object: "null"`},
		{"arguments are no JSON", "go/echo", "{x", "", 2, `the arguments of go/echo are no JSON object: "{x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, `{"mcpServers": {"go": `+goServer("")+`}}`)
			result, err := s.do(context.Background(), c.tool, c.arguments)
			// The text of the library may change, ours may not.
			s.check(result, err, c.result, c.code, c.text)
		})
	}
}

func TestStderrIsPassedOn(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{"mcpServers": {"go": `+goServer("")+`}}`)
	result, err := s.do(context.Background(), "go/noisy", "")
	s.check(result, err, `{"content":[{"type":"text","text":"said"}]}`, 0, "")
	if got := s.stderr.String(); got != strings.Repeat("complaint\n", 1<<20) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestLongArguments(t *testing.T) {
	t.Parallel()
	s := newScene(t, `{"mcpServers": {"go": `+goServer("")+`}}`)
	long := strings.Repeat("y", 3<<20)
	result, err := s.do(context.Background(), "go/echo", `{"x":"`+long+`"}`)
	s.check(result, err, `{"content":[{"type":"text","text":"{\"x\":\"`+long+`\"}"}]}`, 0, "")
}

func TestPlaceAndEnvironment(t *testing.T) {
	t.Parallel()
	s := newScene(t,
		`{"mcpServers": {"go": {"command": "${BIN}", "args": ["a ${X} $X", "${NONE:-d e}", "${EMPTY:-d}", "${", "${a b}", "${X", "${NEST}"], "cwd": "sub",
		"env": {"MCP_TEST_SERVER": "1", "TOKEN": "t${X}t"}}}}`)
	if err := os.Mkdir(filepath.Join(s.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.call.Env = append(s.call.Env, "BIN="+os.Args[0], "X=old", "X=x", "EMPTY=", "KEPT=kept", "TOKEN=outer",
		"NEST=${X}")
	result, err := s.do(context.Background(), "go/where", "")
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Content []struct{ Text string } }
	if err := json.Unmarshal([]byte(result), &got); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s/sub %q txt kept ", s.dir, []string{"a x $X", "d e", "", "${", "${a b}", "${X", "${X}"})
	if text := got.Content[0].Text; !strings.HasPrefix(text, want) {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// soon is a context for calls that must not take for ever.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(context.Background(), longLimit, errors.New("the test took too long"))
	t.Cleanup(cancel)
	return ctx
}
