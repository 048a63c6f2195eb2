package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"loops/engine"
	"loops/engine/project"
)

// A program opens a project, starts a loop, is notified of each state that it enters, and gets its outcome.
func ExampleEngine_Start() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, ".loops"), 0o755); err != nil {
		log.Fatal(err)
	}
	const loop = `name: greet
description: greets until it was heard
initial: greet
states:
  greet: {action: "echo hello", capture: said, next: heard}
  heard: {action: "test \"${captured.said.output}\" = hello", on_yes: done, on_no: greet, on_error: greet}
  done: {terminal: true}
`
	if err := os.WriteFile(filepath.Join(dir, ".loops", "greet.yaml"), []byte(loop), 0o644); err != nil {
		log.Fatal(err)
	}
	p, err := project.Open(dir, project.Options{})
	if err != nil {
		log.Fatal(err)
	}
	e := engine.New(p, engine.Options{})
	ctx := context.Background()
	run, err := e.Start(ctx, engine.StartRequest{Loop: "greet"}, engine.ObserverFunc(func(n engine.Notice) {
		if r, ok := n.(engine.Recorded); ok && r.Event.Kind == "state_enter" {
			fmt.Println(r.Event.Get("state"))
		}
	}))
	if err != nil {
		log.Fatal(err)
	}
	result, err := run.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	e.Close() // now the observer has received all notices
	fmt.Println("ended by", result.Outcome.TerminatedBy)
	// Output:
	// greet
	// heard
	// ended by terminal
}
