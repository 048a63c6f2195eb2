package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/mcpserver"
	"loops/internal/ui"
	"loops/persistence"
)

// mcpInstructions tells an agent how the tools belong together.
const mcpInstructions = `loops runs state machines written in YAML, the loops of this project. list shows them. After a change to a loop file call
validate. run starts one and returns its id at once, or waits for its end; then look at it with status and events (each
call of events goes on from next_after of the last one), and end it with stop. A run that was stopped can be resumed by a
person with "loops resume ID".`

// How much of a run's events one answer holds.
const (
	mcpEvents     = 100
	mcpEventsMost = 1000
	mcpEventBytes = 256 << 10
)

func (s *served) tools() []mcpserver.Tool {
	loop := mcpserver.Argument{Name: "name", Kind: mcpserver.Text, Required: true, About: "name of a loop, as list has it, or path of a loop file"}
	run := mcpserver.Argument{Name: "run", Kind: mcpserver.Text, Required: true, About: "id of a run (instance_id), or name of a loop: then its newest run"}
	return []mcpserver.Tool{
		{
			Name: "list", Title: "List loops and open runs", ReadOnly: true,
			About:  "Lists the loops of the project, and its runs that go on or can be resumed.",
			Result: []mcpserver.Field{{Name: "loops", Type: "array", About: "as loops list --json"}, {Name: "runs", Type: "array", About: "as loops list --running --json"}},
			Call:   s.list,
		},
		{
			Name: "validate", Title: "Check loop files", ReadOnly: true,
			About: "Checks loop files and returns every mistake with its place and what was expected. Nothing is run.",
			Arguments: []mcpserver.Argument{
				{Name: "names", Kind: mcpserver.Texts, About: "names, paths or folders of loops; all of the project if it is left out"},
				{Name: "strict", Kind: mcpserver.Flag, About: "warnings count as mistakes"},
			},
			Result: []mcpserver.Field{{Name: "valid", Type: "boolean"}, {Name: "loops", Type: "array", About: "as loops validate --json"}},
			Call:   s.validate,
		},
		{
			Name: "run", Title: "Run a loop", Destructive: true,
			About: "Starts a run of a loop in a process of its own. Returns once the run is on record, or with wait_seconds when it has ended or that time is over.",
			Arguments: []mcpserver.Argument{
				loop,
				{Name: "input", Kind: mcpserver.Text, About: "input of the loop: a text, or a JSON object of context values"},
				{Name: "context", Kind: mcpserver.Mapping, About: "context values by their keys"},
				{Name: "max_steps", Kind: mcpserver.Number, Most: 1 << 30, About: "cap on state entries; 0 = the loop's own"},
				{Name: "budget", Kind: mcpserver.Text, About: "what the run may use, instead of the loop's limits: cost=5,tokens=2M,wall=2h,steps=100,prompts=20, or some of these; cost is in US dollars"},
				{Name: "host", Kind: mcpserver.Text, About: "agent host of prompts that name none"},
				{Name: "model", Kind: mcpserver.Text, About: "model of prompts that name none"},
				{Name: "permissions", Kind: mcpserver.Text, About: "what agents may do, whatever the loop says: skip (all, without asking) or host (what their own settings allow)"},
				{Name: "wait_seconds", Kind: mcpserver.Number, Most: 3600, About: "how long to wait for the end of the run; it goes on after that"},
				{Name: "stop_with_server", Kind: mcpserver.Flag, About: "stop the run when this server ends; within the action of another run it then shares what that one has locked"},
			},
			Result: []mcpserver.Field{
				{Name: "instance_id", Type: "string", About: "id of the run, for status, events and stop"},
				{Name: "run_id", Type: "string"},
				{Name: "pid", Type: "integer"},
				{Name: "ended", Type: "boolean"},
				{Name: "status", Type: "object", About: "as loops status ID --json"},
			},
			Call: s.run,
		},
		{
			Name: "status", Title: "Say how a run stands", ReadOnly: true,
			About:     "Returns how a run stands: state, step, whether it goes on, how it ended, whether it can be resumed. The same object as loops status --json.",
			Arguments: []mcpserver.Argument{run},
			Result:    []mcpserver.Field{{Name: "instance_id", Type: "string"}, {Name: "loop", Type: "string"}, {Name: "alive", Type: "boolean"}, {Name: "resumable", Type: "boolean"}},
			Call:      s.status,
		},
		{
			Name: "stop", Title: "Stop a run", Destructive: true,
			About:     "Stops a run, or all runs of a loop that go on, and waits up to 15 seconds for it. They can be resumed.",
			Arguments: []mcpserver.Argument{{Name: "run", Kind: mcpserver.Text, Required: true, About: "id of a run (instance_id), or name of a loop: then all of its runs that go on"}},
			Result:    []mcpserver.Field{{Name: "stopped", Type: "array", About: "as loops stop --json"}},
			Call:      s.stop,
		},
		{
			Name: "history", Title: "List the runs of a loop", ReadOnly: true,
			About: "Lists the recorded runs of a loop, newest first.",
			Arguments: []mcpserver.Argument{
				loop,
				{Name: "limit", Kind: mcpserver.Number, Least: 1, Most: 1000, Default: tailRuns, About: "how many at most"},
				{Name: "since", Kind: mcpserver.Text, About: "only runs newer than this age: 45s, 30m, 1h, 2d"},
			},
			Result: []mcpserver.Field{{Name: "runs", Type: "array", About: "as loops history NAME --json"}},
			Call:   s.history,
		},
		{
			Name: "events", Title: "Read the events of a run", ReadOnly: true,
			About: "Reads the events of a run in their order, from one on: states entered, actions with their output, verdicts, routes, the end. Call it again with next_after to go on.",
			Arguments: []mcpserver.Argument{
				run,
				{Name: "after", Kind: mcpserver.Number, Most: 1 << 52, About: "only events with a greater seq; 0 = from the beginning"},
				{Name: "limit", Kind: mcpserver.Number, Least: 1, Most: mcpEventsMost, Default: mcpEvents, About: "how many at most; long ones make it fewer"},
				{Name: "event", Kind: mcpserver.Text, About: "only events of this kind, such as route, evaluate or action_complete"},
			},
			Result: []mcpserver.Field{
				{Name: "instance_id", Type: "string"},
				{Name: "events", Type: "array", About: "as loops history NAME RUN --json"},
				{Name: "next_after", Type: "integer", About: "the argument after of the next call"},
				{Name: "more", Type: "boolean", About: "there are more already"},
			},
			Call: s.events,
		},
	}
}

func (s *served) list(ctx context.Context, _ mcpserver.Values) (json.RawMessage, error) {
	loops, _, err := s.ask(ctx, "list", "--json")
	if err != nil {
		return nil, err
	}
	runs, _, err := s.ask(ctx, "list", "--running", "--json")
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]json.RawMessage{"loops": loops, "runs": runs})
}

func (s *served) validate(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	args := []string{"validate", "--json"}
	if v.Flag("strict") {
		args = append(args, "--strict")
	}
	loops, code, err := s.ask(ctx, append(append(args, "--"), v.Texts("names")...)...)
	if len(loops) == 0 {
		return nil, err // there was nothing to check
	}
	return json.Marshal(map[string]any{"valid": succeeded(code), "loops": loops})
}

func (s *served) status(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	status, _, err := s.ask(ctx, "status", "--json", "--", v.Text("run"))
	if err != nil {
		return nil, err
	}
	return json.Marshal(status) // on one line
}

func (s *served) stop(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	stopped, _, err := s.ask(ctx, "stop", "--json", "--", v.Text("run"))
	if err != nil {
		return nil, err // it names those that could not be stopped
	}
	return json.Marshal(map[string]json.RawMessage{"stopped": stopped})
}

func (s *served) history(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	args := []string{"history", "--json", "-n", strconv.Itoa(v.Number("limit"))}
	if since := v.Text("since"); since != "" {
		args = append(args, "--since="+since)
	}
	runs, _, err := s.ask(ctx, append(args, "--", v.Text("name"))...)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]json.RawMessage{"runs": runs})
}

func (s *served) events(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	run, store, err := s.find(ctx, v.Text("run"))
	if err != nil {
		return nil, err
	}
	defer store.Close()
	next, size, more := int64(v.Number("after")), 0, false
	events, damage := []any{}, []any{}
	for e, problem := range store.Events(ctx, run.ID, uint64(next)) {
		if problem != nil {
			if !project.IsDamage(problem) {
				return nil, spoken(problem)
			}
			if len(damage) < 10 {
				damage = append(damage, problem.Error())
			}
			continue
		}
		if kind := v.Text("event"); kind == "" || e.Kind == kind {
			if more = len(events) == v.Number("limit") || size > mcpEventBytes; more {
				break
			}
			events = append(events, ui.EventObject(e))
			size += len(value.AppendJSON(nil, events[len(events)-1]))
		}
		next = int64(e.Seq)
	}
	answer := value.NewMap("instance_id", string(run.ID), "events", events, "next_after", next, "more", more)
	if len(damage) > 0 {
		answer.Set("damage", damage)
	}
	return value.AppendJSON(nil, answer), nil
}

// find returns the run that arg means, the newest if there are several, and the store it is in.
func (s *served) find(ctx context.Context, arg string) (persistence.Run, *project.Records, error) {
	a := &app{IO: s.app.IO, dir: s.app.dir, store: s.app.store}
	_, store, err := a.open(ctx)
	if err != nil {
		return persistence.Run{}, nil, spoken(err)
	}
	runs, err := store.Finder().Runs(ctx, arg, 1)
	if err == nil && len(runs) == 0 {
		err = fmt.Errorf("%s has no recorded run; the tool list shows loops and open runs", arg)
	}
	if err != nil {
		store.Close()
		return persistence.Run{}, nil, spoken(err)
	}
	return runs[0], store, nil
}

// spoken is an error in the words in which commands say it.
func spoken(err error) error {
	_, text := explain(err)
	return fmt.Errorf("%s", text)
}
