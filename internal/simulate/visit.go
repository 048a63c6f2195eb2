package simulate

import (
	"context"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// A Visited is the result of doing one state.
type Visited struct {
	Action    *fsm.Action // that was done, expanded; nil = none was, or those of branches or items were
	Result    *fsm.Result // what came of it; nil = it could not be attempted
	Evaluator string      // "" = nothing was evaluated
	Verdict   string
	Details   *value.Map  // of the verdict
	Next      string      // the state it would go to; "" = the run would end here
	Waits     *fsm.Wait   // it would keep waiting for this; nil = it would not
	Notes     []fsm.Event // the other events of a run
	Outcome   fsm.Outcome // of the run that had only this state; it has how the run would end where Next is ""
}

// VisitState does one state of a loop for real, by the Runner and the Files of cfg, and decides where to go
// from there, with the given context, as if a run had just begun in it. A state that waits looks once. Nothing
// is recorded, and evaluators write no files. The state is no end and runs no sub-loop. The error is that of
// [fsm.Executor.Run].
func VisitState(ctx context.Context, cfg fsm.Config, state string, values *value.Map) (Visited, error) {
	st := cfg.Loop.States[state]
	v := &visit{runner: cfg.Runner, waits: st.Await != nil, several: st.Each != nil || st.Branches != nil}
	cfg.Loop = alone(cfg.Loop, state)
	cfg.Runner, cfg.Recorder, cfg.Files = v, v, forgetful{cfg.Files}
	awake := make(chan struct{})
	close(awake) // where it would go is known before the wait
	cfg.Wake, cfg.Run = awake, runOf(cfg.Loop)
	ctx, v.leave = context.WithCancelCause(ctx)
	defer v.leave(nil)
	outcome, err := fsm.Start(cfg, values, time.Now()).Run(ctx)
	v.seen.Outcome = outcome
	return v.seen, err
}

// alone returns a loop in which a run ends when it leaves the state.
func alone(l *fsm.Loop, state string) *fsm.Loop {
	own := *l
	own.Initial, own.MaxSteps, own.OnMaxSteps, own.MaxIterations, own.Timeout, own.Backoff, own.Budget = state, 1, "",
		0, 0, 0, nil
	own.States = make(map[string]*fsm.State, len(l.States))
	for name, st := range l.States {
		own.States[name] = &fsm.State{
			Name: name, Pos: st.Pos, Terminal: true, Failure: st.Failure,
			OnMaintain: st.OnMaintain,
		}
	}
	own.States[state] = l.States[state]
	return &own
}

// A visit is the Runner and Recorder of a run of one state.
type visit struct {
	runner fsm.Runner
	seen   Visited
	waits  bool // the state does, and says so
	leave  context.CancelCauseFunc

	several bool // the actions are those of its branches or items
}

// Run implements [fsm.Runner].
func (v *visit) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	res, err := v.runner.Run(ctx, a, out)
	if !a.Quiet && !v.several {
		v.seen.Action = &a
		if err == nil {
			v.seen.Result = &res
		}
	}
	return res, err
}

// Record implements [fsm.Recorder].
func (v *visit) Record(_ context.Context, b *fsm.Batch) error {
	for _, e := range b.Events {
		if e.Depth > 0 { // inside a branch or an item
			continue
		}
		switch e.Kind {
		case fsm.EventEvaluate:
			v.seen.Evaluator, _ = e.Get("type").(string)
			v.seen.Verdict, _ = e.Get("verdict").(string)
			v.seen.Details = new(value.Map)
			for _, f := range e.Fields {
				if f.Key != "type" && f.Key != "verdict" {
					v.seen.Details.Set(f.Key, f.Value)
				}
			}
		case fsm.EventRoute:
			if v.seen.Next == "" {
				v.seen.Next, _ = e.Get("to").(string)
			}
		case fsm.EventLoopStart, fsm.EventStateEnter, fsm.EventActionStart, fsm.EventActionOutput,
			fsm.EventActionComplete, fsm.EventLoopComplete:
		case fsm.EventNote, fsm.EventWaitCheck, fsm.EventHumanRequested, fsm.EventHumanReminded,
			fsm.EventHumanEscalated:
			if text := e.Get("message"); !v.waits && text != fsm.WaitEnded && text != fsm.LookAsked { // no user woke it
				v.seen.Notes = append(v.seen.Notes, e)
			}
		default:
			v.seen.Notes = append(v.seen.Notes, e)
		}
	}
	if m := b.Snapshot; m != nil && m.Outcome == nil && m.Awaiting != nil && m.Awaiting.Looks > 0 {
		v.seen.Waits = m.Waiting() // one look is enough
		v.leave(&fsm.Stop{})
	}
	return nil
}
