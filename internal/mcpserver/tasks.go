package mcpserver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tasksExtension is the name of the extension, of which this is revision 2026-07-28: a client that declares it gets a
// task from the tools that start a run, and polls it. The server has no memory of tasks: each request reads the run.
const tasksExtension = "io.modelcontextprotocol/tasks"

// relatedTask is the key in _meta that carries the id of a task, for clients that read a result of tools/call as its
// usual type and drop other fields.
const relatedTask = "io.modelcontextprotocol/related-task"

// Tasks are what clients ask of tasks. Each function may be called at once with others. An error is that the id is
// not of a task, or that what was asked is refused.
type Tasks struct {
	Get    func(ctx context.Context, id string) (*Task, error)
	Update func(ctx context.Context, id string, replies map[string]Reply) error
	Cancel func(ctx context.Context, id string) error
}

// A TaskStatus is where a task is.
type TaskStatus string

// The statuses of tasks. Failed is not among them: the protocol has it for errors of the protocol alone.
const (
	TaskWorking   TaskStatus = "working"
	TaskInput     TaskStatus = "input_required"
	TaskCompleted TaskStatus = "completed"
	TaskCancelled TaskStatus = "cancelled"
)

// A Task is a task at one time, as the protocol has it.
type Task struct {
	ID      string     `json:"taskId"`
	Status  TaskStatus `json:"status"`
	Message string     `json:"statusMessage,omitempty"`
	Created string     `json:"createdAt"`
	Updated string     `json:"lastUpdatedAt"`
	TTL     *int64     `json:"ttlMs"` // null: the record of a run is kept until it is removed or pruned
	Poll    int64      `json:"pollIntervalMs"`

	Asks   map[string]*AskUser `json:"-"` // of TaskInput, by keys that are not used again
	Result json.RawMessage     `json:"-"` // of TaskCompleted: what the tool returns
}

// A taskResult is a task as a result: of tools/call without what belongs to its status, of tasks/get with that.
type taskResult struct {
	mcp.ResultBase
	*Task
	Type     string              `json:"resultType"`
	Requests mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result   *mcp.CallToolResult `json:"result,omitempty"`
}

// An emptyResult acknowledges a request.
type emptyResult struct {
	mcp.ResultBase
	Type string `json:"resultType"`
}

type taskParams struct {
	mcp.ParamsBase
	ID        string               `json:"taskId"`
	Responses mcp.InputResponseMap `json:"inputResponses"`
}

// complete is the type of results that are not a task.
const complete = "complete"

// addTo serves the extension.
func (t *Tasks) addTo(s *mcp.Server, tools []Tool) error {
	starts := map[string]bool{}
	for _, tool := range tools {
		starts[tool.Name] = tool.Task
	}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			call, isCall := req.(*mcp.CallToolRequest)
			if err != nil || !isCall || !starts[call.Params.Name] || !hasTasks(call) {
				return result, err
			}
			return t.created(ctx, call, result)
		}
	})
	return errors.Join(
		mcp.AddReceivingCustomMethod(s, "tasks/get", asked(t.get)),
		mcp.AddReceivingCustomMethod(s, "tasks/update", asked(t.update)),
		mcp.AddReceivingCustomMethod(s, "tasks/cancel", asked(t.cancel)),
	)
}

// created returns the task that a call has started. A call that failed, or that waited for the end itself, has its
// usual result.
func (t *Tasks) created(ctx context.Context, call *mcp.CallToolRequest, result mcp.Result) (mcp.Result, error) {
	var given struct {
		Wait int `json:"wait_seconds"`
	}
	var started struct {
		ID string `json:"instance_id"`
	}
	done, ok := result.(*mcp.CallToolResult)
	if !ok || done.IsError || json.Unmarshal(call.Params.Arguments, &given) == nil && given.Wait > 0 {
		return result, nil
	}
	text, _ := done.StructuredContent.(json.RawMessage)
	if err := json.Unmarshal(text, &started); err != nil {
		return nil, err
	}
	task, err := t.Get(ctx, started.ID)
	if err != nil {
		return nil, err
	}
	r := &taskResult{Task: task, Type: "task"}
	r.SetMeta(map[string]any{relatedTask: map[string]any{"taskId": task.ID}})
	return r, nil
}

func (t *Tasks) get(ctx context.Context, p *taskParams) (*taskResult, error) {
	task, err := t.Get(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	r := &taskResult{Task: task, Type: complete}
	if task.Status == TaskCompleted {
		r.Result = succeeded(task.Result)
	}
	if len(task.Asks) > 0 {
		r.Requests = mcp.InputRequestMap{}
		for key, ask := range task.Asks {
			r.Requests[key] = ask.form()
		}
	}
	return r, nil
}

func (t *Tasks) update(ctx context.Context, p *taskParams) (*emptyResult, error) {
	replies := map[string]Reply{}
	for key, response := range p.Responses {
		if said, ok := response.(*mcp.ElicitResult); ok {
			replies[key] = replyOf(said)
		}
	}
	return &emptyResult{Type: complete}, t.Update(ctx, p.ID, replies)
}

func (t *Tasks) cancel(ctx context.Context, p *taskParams) (*emptyResult, error) {
	return &emptyResult{Type: complete}, t.Cancel(ctx, p.ID)
}

// asked returns the handler of a method of the extension, which refuses clients that have not declared it. Errors
// become those of the protocol for parameters: that is where they come from.
func asked[R mcp.Result](do func(context.Context, *taskParams) (R, error)) func(context.Context, *mcp.ServerSession,
	*taskParams) (R, error) {
	return func(ctx context.Context, session *mcp.ServerSession, p *taskParams) (R, error) {
		var none R
		if p == nil || p.ID == "" {
			return none, invalid(errors.New("taskId is missing"))
		}
		if !hasTasks(&mcp.ServerRequest[*taskParams]{Session: session, Params: p}) {
			needed := &mcp.ClientCapabilities{Extensions: map[string]any{tasksExtension: struct{}{}}}
			return none, &jsonrpc.Error{
				Code:    mcp.CodeMissingRequiredClientCapabilities,
				Message: "the client has not declared the extension " + tasksExtension,
				Data:    encode(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: needed}),
			}
		}
		r, err := do(ctx, p)
		if err != nil {
			return none, invalid(err)
		}
		return r, nil
	}
}

// invalid returns an error of the protocol: the parameters mean nothing here.
func invalid(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
}

// hasTasks reports whether the client of a request has declared the extension.
func hasTasks(req interface {
	ClientCapabilities() *mcp.ClientCapabilities
},
) bool {
	can := req.ClientCapabilities()
	if can == nil {
		return false
	}
	_, ok := can.Extensions[tasksExtension]
	return ok
}
