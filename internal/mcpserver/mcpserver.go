// Package mcpserver serves tools and pages to an agent by the Model Context Protocol. A [Server] knows the
// protocol and checks arguments. [Tools] are the tools of loops: their names, arguments, results and
// descriptions for agents, and what each does. How a process for a run is started is passed to them.
package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Server is a set of tools and resources. It is not changed while it serves.
type Server struct {
	Name, Version string
	Instructions  string // for the agent: how the tools belong together
	Tools         []Tool
	Resources     []Resource
	Pages         []Page
	Tasks         *Tasks // nil = no tool is a task

	patience time.Duration // 0 = as usual
}

// A Tool is one thing an agent can ask for.
type Tool struct {
	Name, Title string
	About       string // for the agent: what it does, and what comes back
	Arguments   []Argument
	Result      []Field // what the object has that it returns
	ReadOnly    bool
	Destructive bool // what it ends or changes may be wanted
	Task        bool // it returns the id of a task as instance_id, and clients that have tasks get that task

	// Call does it, and may be called at once with others. Its result is one JSON object. An error is a result,
	// too: the agent reads it. The context ends when the agent does not want the answer any more, or when
	// serving ends.
	Call func(ctx context.Context, values Values) (json.RawMessage, error)
}

// A Resource is a page that an agent can read.
type Resource struct {
	URI, Name, Title string
	About            string // for the agent: what it describes
	MIME             string
	Text             string
}

// A Page is a resource that is made when it is read, one for each name.
type Page struct {
	URI, Name, Title string // URI has {name} where the name is
	About            string // for the agent: what it describes
	MIME             string
	Read             func(ctx context.Context, name string) (string, error)
}

// A Field is a part of what a tool returns.
type Field struct {
	Name, Type string // a type of JSON Schema
	About      string
}

// Serve speaks the protocol on in and out, one message a line, until in ends or ctx does; neither is an error. When in
// ends, the calls that are under way have five seconds to be answered. A line that is no message is answered with an
// error, and the next one is read. All calls have returned when Serve does. It closes in, but not out.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	offers := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if len(s.Resources) > 0 {
		offers.Resources = &mcp.ResourceCapabilities{}
	}
	if s.Tasks != nil {
		offers.AddExtension(tasksExtension, nil)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: s.Name, Version: s.Version},
		&mcp.ServerOptions{Instructions: s.Instructions, Capabilities: offers})
	for i := range s.Tools {
		tool := &s.Tools[i]
		server.AddTool(tool.declaration(), tool.handler(ctx))
	}
	for _, r := range s.Resources {
		server.AddResource(&mcp.Resource{
			URI: r.URI, Name: r.Name, Title: r.Title, Description: r.About,
			MIMEType: r.MIME, Size: int64(len(r.Text)),
		}, r.read)
	}
	for _, p := range s.Pages {
		server.AddResourceTemplate(&mcp.ResourceTemplate{
			URITemplate: p.URI, Name: p.Name, Title: p.Title,
			Description: p.About, MIMEType: p.MIME,
		}, p.read)
	}
	if s.Tasks != nil {
		if err := s.Tasks.addTo(server, s.Tools); err != nil {
			return err
		}
	}
	shared := &together{out: out}
	transport := answering{
		&mcp.IOTransport{Reader: newMessages(in, shared), Writer: shared},
		cmp.Or(s.patience, patience),
	}
	err := server.Run(ctx, transport)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (t *Tool) declaration() *mcp.Tool {
	no, destructive := false, t.Destructive
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.About, InputSchema: t.inputSchema(),
		OutputSchema: t.outputSchema(),
		Annotations: &mcp.ToolAnnotations{
			Title: t.Title, ReadOnlyHint: t.ReadOnly, DestructiveHint: &destructive,
			OpenWorldHint: &no,
		},
	}
}

func (r Resource) read(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.URI, MIMEType: r.MIME, Text: r.Text}}}, nil
}

func (p Page) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	before, after, _ := strings.Cut(p.URI, "{name}")
	name, err := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(uri, before), after))
	if err != nil {
		return nil, invalid(err)
	}
	text, err := p.Read(ctx, name)
	if err != nil {
		return nil, invalid(err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: p.MIME, Text: text}}}, nil
}

// handler calls the tool. Its context ends with that of the server, too.
func (t *Tool) handler(serving context.Context) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(serving, cancel)()
		values, err := t.check(req.Params.Arguments)
		if err != nil {
			return failed(err), nil
		}
		result, err := t.Call(withReply(ctx, req), values)
		if ask, ok := errors.AsType[*AskUser](err); ok {
			if asking := ask.asking(req); asking != nil {
				return asking, nil
			}
		}
		if err != nil {
			return failed(err), nil
		}
		return succeeded(result), nil
	}
}

func succeeded(result json.RawMessage) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(result)}},
		StructuredContent: result,
	}
}

// failed is an error that the agent sees: one of the protocol would be hidden from it by most clients.
func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}, IsError: true}
}

func (t *Tool) outputSchema() json.RawMessage {
	type property struct {
		Type  any    `json:"type"`
		About string `json:"description,omitempty"`
	}
	properties := make(map[string]property, len(t.Result))
	required := make([]string, 0, len(t.Result))
	for _, f := range t.Result {
		properties[f.Name] = property{f.Type, f.About}
		required = append(required, f.Name)
	}
	return encode(map[string]any{"type": "object", "properties": properties, "required": required})
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and lists of them
	}
	return b
}
