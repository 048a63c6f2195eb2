package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An AskUser is the error of a call that needs something of the user: the client has to ask them with a form, and calls
// again with their answer (see [Said]). The agent reads its text where the client cannot do that.
type AskUser struct {
	Message string
	Form    json.RawMessage // a JSON Schema of an object without objects in it
	State   string          // comes back with the answer
	Else    string          // what the agent reads where the client has no forms
}

func (a *AskUser) Error() string { return a.Else }

// A Reply is the result of a form.
type Reply struct {
	Given  bool // else the user declined, or closed it
	Fields map[string]any
	State  string
}

type replyKey struct{}

// Said returns the answer of the user to the form of an [AskUser]; false where none was asked yet.
func Said(ctx context.Context) (Reply, bool) {
	r, ok := ctx.Value(replyKey{}).(Reply)
	return r, ok
}

// form is the name of the one thing that is asked for.
const form = "form"

// withReply hands a call the answer of the user.
func withReply(ctx context.Context, req *mcp.CallToolRequest) context.Context {
	said, ok := req.Params.InputResponses[form].(*mcp.ElicitResult)
	if !ok {
		return ctx
	}
	reply := replyOf(said)
	reply.State = req.Params.RequestState
	return context.WithValue(ctx, replyKey{}, reply)
}

func replyOf(said *mcp.ElicitResult) Reply {
	return Reply{Given: said.Action == "accept", Fields: said.Content}
}

func (a *AskUser) form() *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: form, Message: a.Message, RequestedSchema: a.Form}
}

// asking is the result that has the client ask its user; nil where it cannot.
func (a *AskUser) asking(req *mcp.CallToolRequest) *mcp.CallToolResult {
	client := req.Session.InitializeParams()
	if client == nil || client.Capabilities == nil || client.Capabilities.Elicitation == nil {
		return nil
	}
	if can := client.Capabilities.Elicitation; can.Form == nil && can.URL != nil {
		return nil
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{form: a.form()},
		RequestState:  a.State,
	}
}
