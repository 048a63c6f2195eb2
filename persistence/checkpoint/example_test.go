package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"loops/persistence/checkpoint"
)

// tempDir stands for the folder in which a program keeps its data.
func tempDir() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "checkpoint-example-")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// review is a pipeline of three phases. It continues where an earlier process was killed.
func review(ctx context.Context, store checkpoint.Store, crash string) error {
	run := checkpoint.NewRun(store, checkpoint.Meta{Run: "review-17", Agent: "reviewer"}, 0)
	c, err := run.Resume(ctx)
	if err != nil {
		return err
	}
	for _, phase := range c.Remaining("read", "think", "write") {
		if phase == crash {
			return errors.New("killed")
		}
		fmt.Println(phase)
		c.Complete(phase)
		if _, err := run.Save(ctx, c); err != nil {
			return err
		}
	}
	return run.Complete(ctx)
}

// A pipeline that remembers which phases it has completed.
func Example() {
	dir, remove := tempDir()
	defer remove()
	store, err := checkpoint.OpenDir(filepath.Join(dir, "runs"))
	check(err)
	ctx := context.Background()

	fmt.Println(review(ctx, store, "write")) // a process that is killed before the last phase
	fmt.Println(review(ctx, store, ""))      // the next one
	// Output:
	// read
	// think
	// killed
	// write
	// <nil>
}

type Message struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// The messages of a conversation are of whatever type the caller has.
func ExamplePack() {
	c := &checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "chat-1"}}
	var err error
	c.Messages, err = checkpoint.Pack([]Message{{"user", "Is it done?"}, {"agent", "Not yet."}})
	check(err)

	messages, err := checkpoint.Unpack[Message](c.Messages)
	check(err)
	fmt.Println(messages[1].Role, "says:", messages[1].Text)
	// Output: agent says: Not yet.
}

// At its start a program continues with what was interrupted.
func ExampleDir_ListInterrupted() {
	dir, remove := tempDir()
	defer remove()
	store, err := checkpoint.OpenDir(dir)
	check(err)
	ctx := context.Background()
	check(store.Save(ctx, &checkpoint.Checkpoint{
		Meta:      checkpoint.Meta{Run: "r1", Agent: "coder", Channel: "#build", Prompt: "make the tests pass"},
		Iteration: 3, Phases: []string{"plan"},
	}))

	list, err := store.ListInterrupted(ctx)
	check(err)
	for _, i := range list {
		fmt.Printf("%s of %s for %s: iteration %d, completed %v\n", i.Run, i.Agent, i.Channel, i.Iteration, i.Phases)
		run := checkpoint.NewRun(store, i.Meta, time.Second)
		c, err := run.Resume(ctx)
		check(err)
		fmt.Println("continuing with:", c.Prompt)
		check(run.Complete(ctx))
	}
	list, err = store.ListInterrupted(ctx)
	check(err)
	fmt.Println(len(list), "left")
	// Output:
	// r1 of coder for #build: iteration 3, completed [plan]
	// continuing with: make the tests pass
	// 0 left
}

type Request struct{ ID, User, Text string }

// A factory knows how to take the meta of a run from its inputs.
func ExampleFactory() {
	factory := checkpoint.Factory[Request]{
		Store:    new(checkpoint.Memory),
		Interval: time.Minute,
		Meta: func(r Request) checkpoint.Meta {
			return checkpoint.Meta{Run: r.ID, Caller: r.User, Prompt: r.Text, Agent: "helper", ModelTier: "small"}
		},
	}
	run := factory.New(Request{"r7", "ada", "Why is the sky blue?"})
	c, err := run.Resume(context.Background())
	check(err)
	fmt.Println(c.Run, c.Caller, c.ModelTier, "saved before:", !c.SavedAt.IsZero())
	// Output: r7 ada small saved before: false
}

// Inputs that are a map need no function of one's own.
func ExampleMetaFromMap() {
	factory := checkpoint.Factory[map[string]any]{Store: new(checkpoint.Memory), Meta: checkpoint.MetaFromMap}
	run := factory.New(map[string]any{"run": 41, "agent": "sorter", "parent": "r40", "files": 12})
	fmt.Printf("%+v\n", run.Meta())
	// Output: {Run:41 Agent:sorter Caller: Channel: Parent:r40 Prompt: ModelTier: More:map[files:12]}
}

// Save may be called after every step: it writes at most once in an interval. SaveNow writes in any case.
func ExampleRun_Save() {
	store := new(checkpoint.Memory)
	run := checkpoint.NewRun(store, checkpoint.Meta{Run: "r1"}, time.Hour)
	ctx := context.Background()
	c := &checkpoint.Checkpoint{}
	for c.Iteration = 1; c.Iteration <= 3; c.Iteration++ {
		saved, err := run.Save(ctx, c)
		fmt.Println("iteration", c.Iteration, "saved:", saved, err)
	}
	check(run.SaveNow(ctx, c)) // the program is asked to stop
	last, err := store.Load(ctx, "r1")
	check(err)
	fmt.Println("continues at iteration", last.Iteration)
	// Output:
	// iteration 1 saved: true <nil>
	// iteration 2 saved: false <nil>
	// iteration 3 saved: false <nil>
	// continues at iteration 4
}

// A run that has ended has no checkpoint any more, and a straggler cannot bring it back.
func ExampleRun_Fail() {
	store := new(checkpoint.Memory)
	run := checkpoint.NewRun(store, checkpoint.Meta{Run: "r1"}, 0)
	ctx := context.Background()
	_, err := run.Save(ctx, &checkpoint.Checkpoint{Iteration: 1})
	check(err)
	check(run.Fail(ctx)) // continuing would not help; Complete does the same after a success

	_, err = run.Save(ctx, &checkpoint.Checkpoint{Iteration: 2})
	fmt.Println(errors.Is(err, checkpoint.ErrEnded), err)
	_, err = store.Load(ctx, "r1")
	fmt.Println(errors.Is(err, checkpoint.ErrNotFound), err)
	// Output:
	// true run r1 cannot be saved: the run has ended
	// true run r1: nothing is saved
}

// Without a store everything works and nothing is kept, so the pipeline need not know.
func ExampleRun_withoutStore() {
	run := checkpoint.NewRun(nil, checkpoint.Meta{Run: "r1"}, 0) // is nil
	ctx := context.Background()
	c, err := run.Resume(ctx)
	check(err)
	saved, err := run.Save(ctx, c)
	fmt.Println(saved, err)
	fmt.Println(run.Complete(ctx))
	// Output:
	// false <nil>
	// <nil>
}

// Whatever else a run must remember goes into Data.
func ExampleCheckpoint_data() {
	store := new(checkpoint.Memory)
	ctx := context.Background()
	type progress struct{ Seen, Failed []string }
	data, err := json.Marshal(progress{Seen: []string{"a.go", "b.go"}, Failed: []string{"b.go"}})
	check(err)
	check(store.Save(ctx, &checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "r1"}, Data: data}))

	c, err := store.Load(ctx, "r1")
	check(err)
	var p progress
	check(json.Unmarshal(c.Data, &p))
	fmt.Printf("%+v\n", p)
	// Output: {Seen:[a.go b.go] Failed:[b.go]}
}

// A damaged checkpoint is reported, and the one before takes its place. The events since then are still in the log.
func ExampleDir_Load_damaged() {
	dir, remove := tempDir()
	defer remove()
	store, err := checkpoint.OpenDir(dir)
	check(err)
	ctx := context.Background()
	run := checkpoint.NewRun(store, checkpoint.Meta{Run: "r1"}, 0)
	c := &checkpoint.Checkpoint{}
	for _, step := range []string{"fetched", "sorted"} {
		c.Seq, err = run.Append(ctx, checkpoint.Event{Kind: step})
		check(err)
		_, err = run.Save(ctx, c)
		check(err)
	}
	check(os.Truncate(filepath.Join(dir, "r1", "checkpoint.json"), 20)) // a disk goes bad

	c, err = run.Resume(ctx)
	var damage *checkpoint.DamageError
	switch {
	case errors.As(err, &damage) && c != nil:
		fmt.Println(filepath.Base(damage.File), "is damaged:", damage.What)
	case err != nil:
		log.Fatal(err)
	}
	fmt.Println("continuing behind event", c.Seq)
	for e, err := range run.Since(ctx, c.Seq) {
		check(err)
		fmt.Println("done since:", e.Seq, e.Kind)
	}
	// Output:
	// checkpoint.json is damaged: its checksum does not hold
	// continuing behind event 1
	// done since: 2 sorted
}

// Events are numbered without a gap, so that a program that watches can ask for what it has not seen.
func ExampleDir_Append() {
	dir, remove := tempDir()
	defer remove()
	store, err := checkpoint.OpenDir(dir)
	check(err)
	ctx := context.Background()
	_, err = store.Append(ctx, "r1", checkpoint.Event{Kind: "started"})
	check(err)
	last, err := store.Append(ctx, "r1",
		checkpoint.Event{Kind: "tool", Data: json.RawMessage(`{"name":"grep"}`)},
		checkpoint.Event{Kind: "tool", Data: json.RawMessage(`{"name":"sed"}`)})
	check(err)
	fmt.Println("last:", last)

	for e, err := range store.Since(ctx, "r1", 1) {
		check(err)
		fmt.Println(e.Seq, e.Kind, string(e.Data))
	}
	check(store.Clear(ctx, "r1")) // when no program will ask any more
	// Output:
	// last: 3
	// 2 tool {"name":"grep"}
	// 3 tool {"name":"sed"}
}

// What shell scripts do with loops stage, a Go program can do too.
func ExampleStages() {
	dir, remove := tempDir()
	defer remove()
	stages := checkpoint.OpenStages(filepath.Join(dir, "work"))
	ctx := context.Background()
	begun, err := stages.Begin(ctx)
	check(err)
	fmt.Println(begun.Resume, begun.Completed)

	check(stages.Save(ctx, "fetch", []byte(`{"files": 3}`)))
	begun, err = stages.Begin(ctx) // of the next process
	check(err)
	fmt.Println(begun.Resume, begun.Completed)
	value, err := stages.Load(ctx, "fetch")
	check(err)
	fmt.Println(string(value))

	check(stages.Done(ctx))
	_, err = stages.Load(ctx, "fetch")
	fmt.Println(err)
	// Output:
	// false []
	// true [fetch]
	// {"files": 3}
	// stage fetch: nothing is saved
}

// A store of one's own: here one that reports every save. Package checkpointtest checks such a store.
func ExampleStore() {
	store := reporting{new(checkpoint.Memory)}
	check(store.Save(context.Background(), &checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "r1"}, Iteration: 2}))
	// Output: saved r1 at iteration 2
}

// A store of one's own that keeps bytes somewhere can keep them in the form of this package.
func ExampleEncode() {
	b, err := checkpoint.Encode(&checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "r1"}, Iteration: 2}, time.Now())
	check(err)
	c, err := checkpoint.Decode(b, "r1")
	check(err)
	fmt.Println("iteration", c.Iteration)

	b[30] ^= 1
	_, err = checkpoint.Decode(b, "r1")
	fmt.Println(errors.Is(err, checkpoint.ErrDamaged), err)
	// Output:
	// iteration 2
	// true damaged: its checksum does not hold
}

type reporting struct{ checkpoint.Store }

func (s reporting) Save(ctx context.Context, c *checkpoint.Checkpoint) error {
	err := s.Store.Save(ctx, c)
	if err == nil {
		fmt.Println("saved", c.Run, "at iteration", c.Iteration)
	}
	return err
}
