package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loops/internal/humanize"
)

// Exit codes of a program that makes a call. Scripts know them from the program mcp-call, and so does the evaluator
// mcp_result.
const (
	ExitToolError = 1   // the tool, or its server, failed
	ExitUsage     = 2   // the call or .mcp.json cannot be understood
	ExitScarce    = 75  // the machine had no process, memory or descriptor for the server: nothing was called
	ExitTimeout   = 124 // no reply in time
	ExitNotFound  = 127 // no such server, tool or program, or no .mcp.json
)

// An Error explains why a call has no good result.
type Error struct {
	Code int    // the exit code that stands for it
	Text string // one line
}

func (e *Error) Error() string { return e.Text }

func failure(code int, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// A Call is one call of one tool.
type Call struct {
	Config    string    // path of .mcp.json
	Tool      string    // SERVER/TOOL
	Arguments []byte    // a JSON object; empty is {}
	Dir       string    // working directory of the server; "" is that of this process
	Env       []string  // as os.Environ: what the server gets, and .mcp.json refers to
	Stderr    io.Writer // gets what the server prints there
	Version   string    // of the program, for the server
	limits    *limits   // for tests; nil = usualLimits
}

// The protocol is negotiated. Servers of today and before know nothing but initialize; one that does not know that any
// more is asked again in the way that came after it.
var protocols = []string{"2025-11-25", ""}

// Do makes the call and returns the result object as the server gave it, on one line. The server is gone when Do
// returns, but not what it has left running.
//
// An error is an *Error. If the tool itself reports one the result is returned with it. When ctx ends the server
// is ended at once; the error then says what it has not answered, and the cause of ctx.
func (c Call) Do(ctx context.Context) (result []byte, err error) {
	arguments := json.RawMessage("{}")
	if trimmed := bytes.TrimSpace(c.Arguments); len(trimmed) > 0 {
		arguments = trimmed
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &object); err != nil || object == nil {
		return nil, failure(ExitUsage, "the arguments of %s are no JSON object: %s", c.Tool,
			humanize.Quote(string(arguments)))
	}
	target, err := c.find()
	if err != nil {
		return nil, err
	}
	// The system ends the server when the thread that started it ends, so that thread must be ours until then.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	server, session, err := c.open(ctx, target)
	if err != nil {
		return nil, err
	}
	defer server.stop(ctx)
	defer context.AfterFunc(ctx, server.conn.hangUp)() // a call may be too long for a server that does not read

	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: target.tool, Arguments: arguments})
	if answer, ok := server.conn.answer(); ok {
		return judge(ctx, session, target, answer)
	}
	refused, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || ctx.Err() != nil {
		return nil, server.explain(ctx, "tools/call", err)
	}
	if lacks := lacking(ctx, session, target); lacks != nil {
		return nil, lacks
	}
	failed := failure(ExitToolError, "server %s refused the call of %s: %s (JSON-RPC error %d)",
		humanize.Quote(target.name), humanize.Quote(target.tool), quoteLong(refused.Message), refused.Code)
	if refused.Code == jsonrpc.CodeMethodNotFound {
		failed.Code = ExitNotFound
		return nil, failed
	}
	return envelope(refused), failed
}

// open starts the server and agrees with it on a protocol.
func (c Call) open(ctx context.Context, t target) (*server, *mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "loops", Version: c.Version}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{}, // there is no user to answer what a server may ask
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	for i := 0; ; i++ {
		s, err := start(t, c.Stderr)
		if err != nil {
			return nil, nil, err
		}
		session, err := client.Connect(ctx, s, &mcp.ClientSessionOptions{ProtocolVersion: protocols[i]})
		if err == nil {
			return s, session, nil
		}
		refused, ok := errors.AsType[*jsonrpc.Error](err)
		old := ok && (refused.Code == jsonrpc.CodeMethodNotFound || refused.Code == mcp.CodeUnsupportedProtocolVersion)
		if !old || i+1 == len(protocols) {
			err = s.explain(ctx, "initialize", err)
			s.stop(ctx)
			return nil, nil, err
		}
		s.stop(ctx)
	}
}

// judge looks at the result of a call.
func judge(ctx context.Context, session *mcp.ClientSession, target target, answer json.RawMessage) ([]byte, error) {
	var line bytes.Buffer
	if err := json.Compact(&line, answer); err != nil || !bytes.HasPrefix(line.Bytes(), []byte("{")) {
		return nil, failure(ExitToolError, "server %s answered the call of %s with no object: %s",
			humanize.Quote(target.name), humanize.Quote(target.tool), humanize.Quote(string(answer)))
	}
	result, err := parseResult(line.Bytes())
	if err != nil {
		return nil, failure(ExitToolError, "server %s answered the call of %s with a malformed result: %v; it is %s",
			humanize.Quote(target.name), humanize.Quote(target.tool), err, quoteLong(line.String()))
	}
	if result.kind != "" && result.kind != "complete" {
		return nil, failure(ExitToolError, "tool %s of server %s requests input in a non-interactive run "+
			"(result type %s)",
			humanize.Quote(target.tool), humanize.Quote(target.name), humanize.Quote(result.kind))
	}
	if !result.isError {
		return line.Bytes(), nil
	}
	if lacks := lacking(ctx, session, target); lacks != nil { // many servers report that as the tool's own error
		return nil, lacks
	}
	says := ""
	if result.says != "" {
		says = ": " + quoteLong(result.says)
	}
	return line.Bytes(), failure(ExitToolError, "tool %s of server %s reports an error%s",
		humanize.Quote(target.tool), humanize.Quote(target.name), says)
}

// envelope is a result that stands for an error of the protocol.
func envelope(refused *jsonrpc.Error) []byte {
	b, err := json.Marshal(map[string]any{
		"content": []any{map[string]any{"type": "text", "text": refused.Message}},
		"isError": true,
	})
	if err != nil {
		return nil
	}
	return b
}

// lacking returns an error if the server says that it has no such tool.
func lacking(ctx context.Context, session *mcp.ClientSession, target target) error {
	ctx, cancel := context.WithTimeout(ctx, target.limits.list)
	defer cancel()
	const most = 10000
	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil || tool.Name == target.tool || len(names) == most {
			return nil
		}
		names = append(names, tool.Name)
	}
	return failure(ExitNotFound, "server %s has no tool %s%s", humanize.Quote(target.name),
		humanize.Quote(target.tool), instead(target.tool, names))
}

// instead says which name may have been meant, and which there are.
func instead(word string, names []string) string {
	text := humanize.DidYouMean(word, names)
	const most = 10
	if len(names) == 0 {
		return text + "; it has none"
	}
	shown := make([]string, 0, most+1)
	for i, name := range names {
		if i == most {
			shown = append(shown, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		shown = append(shown, humanize.Clip(name))
	}
	return text + "; it has: " + strings.Join(shown, ", ")
}

// quoteLong quotes what a server or a tool says about an error, of which more is of use than of a name.
func quoteLong(s string) string {
	const most = 400
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}
