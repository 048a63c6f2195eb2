package fsm_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"time"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/persistence"
	"loops/persistence/storetest"
)

// counter is a Runner whose actions are Go code: the text of an action is a name, and here there is only one.
type counter struct{ n int }

func (c *counter) Run(_ context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	if a.Text != "count" {
		return fsm.Result{}, fmt.Errorf("unknown action %q", a.Text)
	}
	c.n++
	return fsm.Result{Stdout: fmt.Sprint(c.n, "\n")}, nil
}

// files is a project without files. Only evaluators that read files ask for them.
type files struct{}

func (files) ReadFile(string) ([]byte, error)           { return nil, fmt.Errorf("no files here") }
func (files) WriteFile(string, []byte) error            { return fmt.Errorf("no files here") }
func (files) Write(string, func(io.Writer) error) error { return fmt.Errorf("no files here") }
func (files) Glob(context.Context, string, string) ([]string, error) {
	return nil, fmt.Errorf("no files here")
}

func (files) Stat(string) (time.Time, int64, error) {
	return time.Time{}, 0, fmt.Errorf("no files here")
}

// countLoop counts to three, where every action prints the next number.
func countLoop() *fsm.Loop {
	loop, problems := loopfile.Parse("count.yaml", []byte(`
name: count
description: counts to three
initial: up
states:
  up:
    action: count
    evaluate: {type: output_numeric, operator: ge, target: 3}
    on_yes: done
    on_no: up
  done: {terminal: true}
`), nil)
	if loop == nil {
		log.Fatal(loopfile.Render(problems, nil, false))
	}
	return loop
}

// The machine alone: actions are Go code, and what is recorded stays in memory. A program that wants processes,
// files and runs that survive it gives the machine another Runner and another store; the machine is the same.
func ExampleExecutor() {
	ctx := context.Background()
	loop := countLoop()
	store := storetest.NewMemory()
	defer store.Close()
	journal, err := store.Create(ctx, persistence.Spec{Loop: loop.Name, MaxSteps: loop.MaxSteps})
	if err != nil {
		log.Fatal(err)
	}
	machine := fsm.Start(fsm.Config{
		Loop: loop,
		World: fsm.World{
			Runner: &counter{},
			Files:  files{},
		},
		Journal: fsm.Journal{
			Recorder: journal,
			Observe: func(e fsm.Event) { // called for what is on record already
				if e.Kind == fsm.EventEvaluate {
					fmt.Println("event", e.Seq, "says", e.Get("verdict"))
				}
			},
		},
	}, value.NewMap(), time.Now())
	outcome, err := machine.Run(ctx)
	if err != nil {
		log.Fatal(err) // it could not be recorded, and so it stopped
	}
	if err := journal.Close(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.TerminatedBy, "in", outcome.FinalState, "after", outcome.Steps, "steps")
	// Output:
	// event 5 says no
	// event 10 says no
	// event 15 says yes
	// terminal in done after 3 steps
}

// stopper stops the run while its second action is at work.
type stopper struct {
	counter
	stop context.CancelCauseFunc
}

func (s *stopper) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	fmt.Println("step", a.Step, "attempt", a.Attempt)
	if a.Step == 2 && a.Attempt == 1 {
		s.stop(&fsm.Stop{Signal: "SIGINT"})
		return fsm.Result{}, context.Cause(ctx)
	}
	return s.counter.Run(ctx, a, out)
}

// A run that was stopped is resumed from its memory: the action that was cut short is started again under its
// step number.
func ExampleResume() {
	loop := countLoop()
	store := storetest.NewMemory()
	defer store.Close()
	spec := persistence.Spec{Loop: loop.Name, MaxSteps: loop.MaxSteps}
	ctx, stop := context.WithCancelCause(context.Background())
	runner := &stopper{stop: stop}
	config := fsm.Config{Loop: loop, World: fsm.World{Runner: runner, Files: files{}}}

	journal, err := store.Create(ctx, spec)
	if err != nil {
		log.Fatal(err)
	}
	config.Recorder = journal
	outcome, err := fsm.Start(config, value.NewMap(), time.Now()).Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.TerminatedBy, "in", outcome.FinalState)

	ctx = context.Background()
	if err := journal.Close(ctx); err != nil {
		log.Fatal(err)
	}
	journal, memory, err := store.Resume(ctx, journal.Run().ID, spec)
	if err != nil {
		log.Fatal(err)
	}
	defer journal.Close(ctx)
	config.Recorder = journal
	if outcome, err = fsm.Resume(config, memory).Run(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.TerminatedBy, "in", outcome.FinalState, "after", outcome.Steps, "steps")
	// Output:
	// step 1 attempt 1
	// step 2 attempt 1
	// interrupted in up
	// step 2 attempt 2
	// step 3 attempt 1
	// terminal in done after 3 steps
}
