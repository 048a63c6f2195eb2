package checkpointtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"loops/persistence/checkpoint"
)

var errWhy = errors.New("why")

var saving = []test{
	{"an empty store lists and loads nothing", func(t *T) {
		t.lists()
		t.none("r1")
	}},
	{"every field comes back", func(t *T) {
		t.save(full("r1", 3))
		t.holds(full("r1", 3))
	}},
	{"a checkpoint may hold nothing but the run", func(t *T) {
		c := &checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "r1"}}
		t.save(c)
		t.holds(c)
	}},
	{"the last save wins", func(t *T) {
		for i := range 5 {
			t.save(full("r1", i))
			t.holds(full("r1", i))
		}
		t.lists("r1")
	}},
	{"runs do not touch each other", func(t *T) {
		t.save(full("r1", 1))
		t.save(full("r2", 2))
		t.holds(full("r1", 1))
		t.holds(full("r2", 2))
		t.lists("r1", "r2")
		if err := t.S.Delete(t.ctx, "r1"); err != nil {
			t.Fatal(err)
		}
		t.none("r1")
		t.holds(full("r2", 2))
	}},
	{"run ids are kept as they are", func(t *T) {
		ids := []string{
			"a", ".", "..", "../x", "a/b", `a\b`, "a%2Fb", "%", "a b", "ü", "~", ".hidden", "con", "previous.json",
			"lock",
			"new\nline", "nul\x00", strings.Repeat("x", 200), "*", "-rf",
		}
		for i, id := range ids {
			t.save(full(id, i))
		}
		for i, id := range ids {
			t.holds(full(id, i))
		}
		t.lists(ids...)
		for _, id := range ids {
			if err := t.S.Delete(t.ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		t.lists()
	}},
	{"a bad run id is ErrRunID", func(t *T) {
		for _, id := range []string{"", "\xff", strings.Repeat("x", 201)} {
			t.is(t.S.Save(t.ctx, full(id, 1)), checkpoint.ErrRunID)
			_, err := t.S.Load(t.ctx, id)
			t.is(err, checkpoint.ErrRunID)
			t.is(t.S.Delete(t.ctx, id), checkpoint.ErrRunID)
		}
		t.lists()
	}},
	{"what is not JSON is refused and changes nothing", func(t *T) {
		t.save(full("r1", 1))
		bad := full("r1", 2)
		bad.Messages[1] = json.RawMessage(`{"role":`)
		err := t.S.Save(t.ctx, bad)
		t.is(err, checkpoint.ErrNotJSON)
		if !strings.Contains(err.Error(), "message 1") {
			t.Errorf("%v does not name message 1", err)
		}
		bad.Messages[1] = json.RawMessage{}
		t.is(t.S.Save(t.ctx, bad), checkpoint.ErrNotJSON)
		bad = full("r1", 2)
		bad.Data = json.RawMessage(`nonsense`)
		t.is(t.S.Save(t.ctx, bad), checkpoint.ErrNotJSON)
		t.holds(full("r1", 1))
	}},
	{"messages and data come back byte for byte", func(t *T) {
		for _, raw := range []string{
			"{\n  \"a\": [ 1.0 ]\n\t}", `"<&>\u003c\u2028"`, "null", "1e400",
			`{"a":1,"a":2}`,
		} {
			c := full("r1", 1)
			c.Messages, c.Data = []json.RawMessage{[]byte(raw), []byte(raw)}, []byte(`{"of":`+raw+`}`)
			t.save(c)
			got := t.load("r1")
			if string(got.Messages[0]) != raw || string(got.Messages[1]) != raw ||
				string(got.Data) != `{"of":`+raw+`}` {
				t.Errorf("got %q and %q, want %q", got.Messages, got.Data, raw)
			}
		}
	}},
	{"texts that are not UTF-8 are made so", func(t *T) {
		c := full("r1", 1)
		c.Prompt, c.Phases = "a\xffb", []string{"\xff"}
		t.save(c)
		if got := t.load("r1"); got.Prompt != "a\ufffdb" || got.Phases[0] != "\ufffd" {
			t.Errorf("%q, %q", got.Prompt, got.Phases)
		}
	}},
	{"no data is no data, and a nil message is null", func(t *T) {
		c := full("r1", 1)
		c.Messages, c.Data = []json.RawMessage{nil}, nil
		t.save(c)
		if got := t.load("r1"); got.Data != nil || len(got.Messages) != 1 || string(got.Messages[0]) != "null" {
			t.Errorf("%q, %q", got.Messages, got.Data)
		}
	}},
	{"a large checkpoint comes back", func(t *T) {
		c := full("r1", 1)
		for i := range 2000 {
			c.Messages = append(c.Messages,
				json.RawMessage(fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("word ", 400))))
		}
		t.save(c)
		t.holds(c)
	}},
	{"nothing is shared with the caller", func(t *T) {
		c := full("r1", 1)
		t.save(c)
		c.Messages[0][2] = 'X'
		c.Phases[0] = "other"
		c.Data[2] = 'X'
		t.holds(full("r1", 1))
		got := t.load("r1")
		got.Messages[0][2] = 'X'
		got.Phases[0] = "other"
		got.Data[2] = 'X'
		t.holds(full("r1", 1))
	}},
	{"save changes nothing of its argument", func(t *T) {
		c := full("r1", 1)
		before := text(c)
		t.save(c)
		t.equal(text(c), before)
	}},
	{"a deleted run is gone and can begin again", func(t *T) {
		t.save(full("r1", 1))
		t.save(full("r1", 2))
		for range 2 { // what is not there can be deleted
			if err := t.S.Delete(t.ctx, "r1"); err != nil {
				t.Fatal(err)
			}
			t.none("r1")
			t.lists()
		}
		t.save(full("r1", 3))
		t.holds(full("r1", 3))
	}},
	{"interrupted runs are listed with what they are, newest first", func(t *T) {
		for _, run := range []string{"b", "a", "c"} {
			t.save(full(run, 1))
			time.Sleep(2 * time.Millisecond)
		}
		t.save(full("b", 4))
		list := t.list()
		if len(list) != 3 {
			t.Fatalf("%d runs", len(list))
		}
		for i, run := range []string{"b", "c", "a"} {
			n := 1
			if run == "b" {
				n = 4
			}
			c, got := full(run, n), list[i]
			want := checkpoint.Interrupted{Meta: c.Meta, Iteration: n, Phases: c.Phases, SavedAt: got.SavedAt}
			t.equal(got, want)
			if !got.SavedAt.Equal(t.load(run).SavedAt) {
				t.Errorf("%s saved at %v", run, got.SavedAt)
			}
		}
	}},
	{"a cancelled context does nothing and says why", func(t *T) {
		t.save(full("r1", 1))
		ctx, cancel := context.WithCancelCause(t.ctx)
		cancel(errWhy)
		t.is(t.S.Save(ctx, full("r1", 2)), errWhy)
		t.is(t.S.Save(ctx, full("r2", 2)), errWhy)
		_, err := t.S.Load(ctx, "r1")
		t.is(err, errWhy)
		t.is(t.S.Delete(ctx, "r1"), errWhy)
		_, err = t.S.ListInterrupted(ctx)
		t.is(err, errWhy)
		t.holds(full("r1", 1))
		t.lists("r1")
	}},
	{"many goroutines save, load and delete", func(t *T) {
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				own, ctx := fmt.Sprint("own", g), t.ctx
				for i := 1; i <= 8; i++ {
					if err := errors.Join(t.S.Save(ctx, full(own, i)), t.S.Save(ctx, full("both", i))); err != nil {
						t.Errorf("save: %v", err)
					}
					if c, err := t.S.Load(ctx, own); err != nil || c.Iteration != i {
						t.Errorf("load: %v, %+v", err, c)
					}
					if c, err := t.S.Load(ctx, "both"); err != nil ||
						text(c.Messages) != text(full("both", 1).Messages) {
						t.Errorf("load: %v, %+v", err, c)
					}
					if _, err := t.S.ListInterrupted(ctx); err != nil {
						t.Errorf("list: %v", err)
					}
				}
				if err := t.S.Delete(ctx, own); err != nil {
					t.Errorf("delete: %v", err)
				}
			})
		}
		wg.Wait()
		t.lists("both")
	}},
	{"saving and deleting one run at once leaves it or not", func(t *T) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range 10 {
					if err := t.S.Save(t.ctx, full("r1", i)); err != nil {
						t.Errorf("save: %v", err)
					}
					if err := t.S.Delete(t.ctx, "r1"); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
			})
		}
		wg.Wait()
		t.none("r1")
		t.lists()
	}},
}
