package fsm_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/persistence"
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

func (files) ReadFile(string) ([]byte, error) { return nil, fmt.Errorf("no files here") }
func (files) WriteFile(string, []byte) error  { return fmt.Errorf("no files here") }
func (files) Stat(string) (time.Time, int64, error) {
	return time.Time{}, 0, fmt.Errorf("no files here")
}

// The machine alone: actions are Go code, and what is recorded stays in memory. A program that wants processes, files and
// resumable runs gives it another Runner and another store; the machine is the same.
func ExampleExecutor() {
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
`))
	if loop == nil {
		log.Fatal(loopfile.Render(problems, nil, false))
	}
	ctx := context.Background()
	store := persistence.NewMemory()
	defer store.Close()
	journal, err := store.Create(ctx, persistence.Spec{Loop: loop.Name, MaxSteps: loop.MaxSteps})
	if err != nil {
		log.Fatal(err)
	}
	machine := fsm.Start(fsm.Config{
		Loop: loop, Runner: &counter{}, Recorder: journal, Files: files{},
		Observe: func(e fsm.Event) { // called for what is on record already
			if e.Kind == "evaluate" {
				fmt.Println("event", e.Seq, "says", e.Get("verdict"))
			}
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
