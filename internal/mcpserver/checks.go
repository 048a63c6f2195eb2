package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/simulate"
)

func validate(_ context.Context, s *Session, v Values) (any, error) {
	q := s.Checks
	q.Words, q.Strict = v.Texts("names"), v.Flag("strict")
	found, err := app.Check(s.Project, q)
	if err != nil {
		return nil, err // there was nothing to check
	}
	return api.CheckedAll{Valid: found.Valid(), Loops: found.Objects(s.Project)}, nil
}

func simulateTool(ctx context.Context, s *Session, v Values) (any, error) {
	o := simulate.DeskSimulation{
		Name: v.Text("name"), Context: ContextPairs(v), Scenario: v.Text("scenario"), Seed: uint64(v.Number("seed")), //nolint:gosec // it is not negative
		Runs: v.Number("runs"), MaxSteps: v.Number("max_steps"), Quiet: true, JSON: true,
	}
	if v.Has("input") {
		input := v.Text("input")
		o.Input = &input
	}
	script := v.Text("script")
	switch known := simulate.Scenarios(); {
	case o.Scenario != "" && script != "":
		return nil, errors.New("scenario and script exclude each other: give one of them, or neither for " +
			"verdicts by chance")
	case o.Runs > 1 && (o.Scenario != "" || script != ""):
		return nil, errors.New("runs is for verdicts by chance: with scenario or script every other run " +
			"would be the same")
	case o.Scenario != "" && !slices.Contains(known, o.Scenario):
		return nil, fmt.Errorf("scenario: expected %s, not %s%s", strings.Join(known, ", "),
			humanize.Quote(o.Scenario), humanize.DidYouMean(o.Scenario, known))
	case script != "":
		o.Script, o.Source = "-", "script"
	}
	o.Describe()
	desk, err := s.Desk(script)
	if err != nil {
		return nil, err
	}
	return desk.Simulate(ctx, &o)
}

// ContextPairs are the values of the argument context as KEY=VALUE.
func ContextPairs(v Values) []string {
	values := v.Mapping("context")
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, key+"="+contextText(values[key]))
	}
	return pairs
}

// contextText is a context value as the flag takes it: a text as it is, anything else as JSON.
func contextText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
