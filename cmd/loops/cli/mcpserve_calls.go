package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loops/fsm/value"
	"loops/internal/mcpserver"
	"loops/internal/mcptools"
	"loops/internal/phrase"
	"loops/internal/rehearse"
	"loops/internal/tryout"
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

func (s *served) validate(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	loops, err := s.ask(ctx, func(_ context.Context, a *app) error {
		return runValidate(a, validateOptions{names: v.Texts("names"), strict: v.Flag("strict"), format: "json"})
	})
	if loops == nil {
		return nil, err // there was nothing to check
	}
	return object(value.NewMap("valid", err == nil, "loops", loops), nil)
}

// statusOf returns how a run stands.
func (s *served) statusOf(ctx context.Context, run string) (any, error) {
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	defer session.Close()
	status, err := session.Status(ctx, run)
	if err == nil {
		err = status.Unread()
	}
	if err != nil {
		return nil, session.InWords(err)
	}
	return status.Object(), nil
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

// host is what the tools act through.
func (s *served) host() *mcptools.Host {
	return &mcptools.Host{Session: s.session, Run: s.run, Resume: s.resume, Validate: s.validate, Simulate: s.simulate}
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
