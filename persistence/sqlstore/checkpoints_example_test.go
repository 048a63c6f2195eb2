package sqlstore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"loops/persistence/checkpoint"
	"loops/persistence/sqlstore"
)

// Checkpoints and events of a pipeline in a file of SQLite. What an earlier process was killed in continues.
func ExampleOpenCheckpoints() {
	dir, err := os.MkdirTemp("", "checkpoint-example-")
	check(err)
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := sqlstore.OpenCheckpoints(ctx, filepath.Join(dir, "pipeline.db"))
	check(err)
	defer store.Close()

	for _, crash := range []bool{true, false} { // two lives of one program
		run := checkpoint.NewRun(store, checkpoint.Meta{Run: "review-17", Agent: "reviewer"}, 0)
		c, err := run.Resume(ctx)
		check(err)
		for _, phase := range c.Remaining("read", "write") {
			c.Seq, err = run.Append(ctx, checkpoint.Event{Kind: phase})
			check(err)
			c.Complete(phase)
			_, err = run.Save(ctx, c)
			check(err)
			if crash {
				break
			}
		}
		list, err := store.ListInterrupted(ctx)
		check(err)
		for _, i := range list {
			fmt.Println(i.Run, "of", i.Agent, "has completed", i.Phases)
		}
		if !crash {
			check(run.Complete(ctx))
		}
	}
	for e, err := range store.Since(ctx, "review-17", 0) {
		check(err)
		fmt.Println("event", e.Seq, e.Kind)
	}
	// Output:
	// review-17 of reviewer has completed [read]
	// review-17 of reviewer has completed [read write]
	// event 1 read
	// event 2 write
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
