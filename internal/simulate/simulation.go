package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/terminal"
)

// DeskSimulation says which loop is walked through, and what its actions come to.
type DeskSimulation struct {
	Name                    string
	Source                  string // what messages call the script; "" = its file
	Input                   *string
	Context                 []string
	Scenario, Script        string
	Seed                    uint64
	Runs                    int
	MaxSteps, MaxIterations int
	Quiet, Verbose, JSON    bool

	how api.Tried // what the flags say
}

// Describe notes what decides, for JSON.
func (o *DeskSimulation) Describe() {
	switch {
	case o.Scenario != "":
		o.how.Scenario = o.Scenario
	case o.Script != "":
		o.how.Script = o.Script
	default:
		o.how.Seed = new(int64(o.Seed)) //nolint:gosec // checked above
	}
}

// Simulate walks through a loop, and shows the way or adds up the ends of many. With JSON nothing is shown: it
// returns an [api.Simulated] or [api.SimulatedRuns], also beside an error that ended the walk.
func (d *Desk) Simulate(ctx context.Context, o *DeskSimulation) (any, error) {
	over := project.Overrides{MaxSteps: o.MaxSteps, MaxIterations: o.MaxIterations}
	r, err := d.Subject(o.Name, o.Input, o.Context, over, o.Quiet)
	if err != nil {
		return nil, err
	}
	if err := engine.Preflight(r.project, r.Loop, r.Values); err != nil {
		return nil, err
	}
	walk := func(replies Replies, observe func(fsm.Event)) (fsm.Outcome, error) {
		return d.walk(ctx, r, replies, observe)
	}
	if o.Runs > 1 {
		var tally Tally
		for n := range uint64(o.Runs) { //nolint:gosec // it is not negative
			outcome, err := walk(Random(o.Seed+n), nil)
			if err != nil {
				return nil, simulationError(o, fmt.Errorf("with --seed %d: %w", o.Seed+n, err))
			}
			tally.Add(o.Seed+n, outcome)
		}
		return d.printTally(r, o, &tally), nil
	}
	replies, err := d.replies(r, o)
	if err != nil {
		return nil, err
	}
	p := newSimulationPrinter(d, r, o)
	outcome, err := walk(replies, p.event)
	if err != nil && outcome.TerminatedBy == "" {
		p.flush()
		return nil, simulationError(o, err)
	}
	return p.finish(outcome), simulationError(o, err)
}

// replies returns what the actions of a single run come to.
func (d *Desk) replies(r *Subject, o *DeskSimulation) (Replies, error) {
	if s, ok := Scenario(o.Scenario); ok {
		return s, nil
	}
	if o.Script == "" {
		return Random(o.Seed), nil
	}
	text, err := d.Read("script", o.Script, 4<<20)
	if err != nil {
		return nil, err
	}
	script, wrong := ParseScript(text, Reachable(r.Loop, r.library))
	if len(wrong) == 0 {
		return script.Replies(), nil
	}
	lines := make([]string, len(wrong))
	for i, w := range wrong {
		lines[i] = lineOfScript(o, w)
	}
	return nil, engine.Refuse(engine.Usage, "%s", terminal.BlockOf("loops: ", lines))
}

func lineOfScript(o *DeskSimulation, e *ScriptError) string {
	name := cmp.Or(o.Source, o.Script)
	if name == "-" {
		name = "standard input"
	}
	return fmt.Sprintf("%s:%d: %s", name, e.Line, e.Text)
}

// simulationError gives what ended a simulation before the run its exit code.
func simulationError(o *DeskSimulation, err error) error {
	if mistake, ok := errors.AsType[*ScriptError](err); ok {
		return engine.Refuse(engine.Usage, "%s", lineOfScript(o, mistake))
	}
	if errors.Is(err, ErrEndless) {
		return engine.Refuse(engine.Failed, "%v; -n caps the steps of the loop itself", err)
	}
	return err
}
