package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/lookup"
	"loops/internal/mcpserver"
	"loops/internal/mcptools"
	"loops/internal/phrase"
	"loops/internal/rehearse"
	"loops/internal/tryout"
	"loops/internal/ui/actionlog"
	"loops/persistence"
)

// object returns the result of a tool that is one object.
func object(v any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return value.AppendJSON(nil, v), nil
}

// named returns the result of a tool whose answer has to be in an object: the protocol wants one.
func named(key string, v any, err error) (json.RawMessage, error) {
	return object(value.NewMap(key, v), err)
}

func (s *served) list(ctx context.Context, _ mcpserver.Values) (json.RawMessage, error) {
	loops, err := s.ask(ctx, func(_ context.Context, a *app) error { return runList(a, listOptions{json: true}) })
	if err != nil {
		return nil, err
	}
	runs, err := s.ask(ctx, func(ctx context.Context, a *app) error {
		return runListRunning(ctx, a, listOptions{running: true, json: true})
	})
	return object(value.NewMap("loops", loops, "runs", runs), err)
}

func (s *served) validate(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	loops, err := s.ask(ctx, func(_ context.Context, a *app) error {
		return runValidate(a, validateOptions{names: v.Texts("names"), strict: v.Flag("strict"), format: "json"})
	})
	if loops == nil {
		return nil, err // there was nothing to check
	}
	return object(value.NewMap("valid", err == nil, "loops", loops), nil)
}

func (s *served) status(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	return object(s.statusOf(ctx, v.Text("run")))
}

func (s *served) statusOf(ctx context.Context, run string) (any, error) {
	return s.ask(ctx, func(ctx context.Context, a *app) error { return runStatus(ctx, a, run, true) })
}

func (s *served) stop(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	stopped, err := s.ask(ctx, func(ctx context.Context, a *app) error {
		return runStop(ctx, a, stopOptions{name: v.Text("run"), json: true, grace: engine.StopGrace})
	})
	return named("stopped", stopped, err) // the error names those that could not be stopped
}

func (s *served) pause(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	paused, err := s.ask(ctx, func(ctx context.Context, a *app) error {
		return runPause(ctx, a, pauseOptions{name: v.Text("run"), json: true})
	})
	return named("paused", paused, err)
}

func (s *served) unpause(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	unpaused, err := s.ask(ctx, func(ctx context.Context, a *app) error {
		return runUnpause(ctx, a, pauseOptions{name: v.Text("run"), json: true})
	})
	return named("unpaused", unpaused, err)
}

func (s *served) signal(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	o := signalOptions{run: v.Text("run"), name: v.Text("event"), from: "MCP", json: true}
	if v.Has("data") {
		data, err := json.Marshal(v.Mapping("data"))
		if err != nil {
			return nil, err
		}
		o.data, o.hasData = string(data), true
	}
	return object(s.ask(ctx, func(ctx context.Context, a *app) error { return runSignal(ctx, a, o) }))
}

func (s *served) history(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	runs, err := s.ask(ctx, func(ctx context.Context, a *app) error {
		return runHistory(ctx, a, historyOptions{name: v.Text("name"), tail: v.Number("limit"), since: v.Text("since"), json: true})
	})
	return named("runs", runs, err)
}

func (s *served) explain(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	return object(s.ask(ctx, func(ctx context.Context, a *app) error {
		return runExplain(ctx, a, explainOptions{name: v.Text("run"), step: v.Text("step"), json: true})
	}))
}

// logs returns the end of what the actions of a run wrote.
func (s *served) logs(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	tail := &lastBytes{most: v.Number("bytes")}
	return object(s.ask(ctx, func(ctx context.Context, a *app) error {
		p, store, err := a.open(ctx)
		if err != nil {
			return err
		}
		defer store.Close()
		f := store.Finder()
		run, err := lookup.OneRun(ctx, f, v.Text("run"))
		if err != nil {
			return err
		}
		if _, err := a.logsOf(ctx, p, f, run, actionlog.Options{State: v.Text("state"), Stderr: v.Flag("stderr")}, tail); err != nil {
			return err
		}
		return a.reply(value.NewMap("instance_id", string(run.ID), "text", strings.ToValidUTF8(string(tail.kept), "\uFFFD"), "bytes_before", tail.lost))
	}))
}

func (s *served) simulate(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	o := tryout.Simulation{
		Name: v.Text("name"), Context: contextPairs(v), Scenario: v.Text("scenario"), Seed: uint64(v.Number("seed")), //nolint:gosec // it is not negative
		Runs: v.Number("runs"), MaxSteps: v.Number("max_steps"), Quiet: true, JSON: true,
	}
	if v.Has("input") {
		input := v.Text("input")
		o.Input = &input
	}
	script := v.Text("script")
	switch known := rehearse.Scenarios(); {
	case o.Scenario != "" && script != "":
		return nil, errors.New("scenario and script exclude each other: give one of them, or neither for verdicts by chance")
	case o.Runs > 1 && (o.Scenario != "" || script != ""):
		return nil, errors.New("runs is for verdicts by chance: with scenario or script every other run would be the same")
	case o.Scenario != "" && !slices.Contains(known, o.Scenario):
		return nil, fmt.Errorf("scenario: expected %s, not %s%s", strings.Join(known, ", "), phrase.Quote(o.Scenario), phrase.DidYouMean(o.Scenario, known))
	case script != "":
		o.Script, o.Source = "-", "script"
	}
	o.Describe()
	return object(s.ask(ctx, func(ctx context.Context, a *app) error {
		a.In = strings.NewReader(script)
		return runSimulate(ctx, a, &o)
	}))
}

func (s *served) events(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	return object(s.ask(ctx, func(ctx context.Context, a *app) error {
		run, store, err := a.findRun(ctx, v.Text("run"))
		if err != nil {
			return err
		}
		defer store.Close()
		page, err := mcptools.EventsPage(ctx, store, run, v)
		if err != nil {
			return err
		}
		return a.reply(page)
	}))
}

// findRun returns the run that arg means, the newest if there are several, and the store it is in.
func (a *app) findRun(ctx context.Context, arg string) (persistence.Run, *project.Records, error) {
	_, store, err := a.open(ctx)
	if err != nil {
		return persistence.Run{}, nil, err
	}
	runs, err := store.Finder().Runs(ctx, arg, 1)
	if err == nil && len(runs) == 0 {
		err = fmt.Errorf("%s has no recorded run; the tool list shows loops and open runs", arg)
	}
	if err != nil {
		store.Close()
		return persistence.Run{}, nil, err
	}
	return runs[0], store, nil
}

// calls are what the tools do.
func (s *served) calls() mcptools.Calls {
	return mcptools.Calls{
		List: s.list, Validate: s.validate, Run: s.run, Resume: s.resume, Status: s.status, Stop: s.stop, History: s.history, Events: s.events,
		Explain: s.explain, Logs: s.logs, Simulate: s.simulate, Pause: s.pause, Unpause: s.unpause, Signal: s.signal,
	}
}

// contextPairs are the values of the argument context as KEY=VALUE.
func contextPairs(v mcpserver.Values) []string {
	values := v.Mapping("context")
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, key+"="+contextText(values[key]))
	}
	return pairs
}
