package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loops/internal/testenv"
	"loops/persistence/checkpoint"
)

func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }

// A spy is a store that counts saves, fails on demand and can be slow.
type spy struct {
	checkpoint.Memory
	mu    sync.Mutex
	err   error
	slow  time.Duration
	saves int
}

func (s *spy) Save(ctx context.Context, c *checkpoint.Checkpoint) error {
	if s.slow > 0 {
		testenv.Pass(s.slow)
	}
	s.mu.Lock()
	s.saves++
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.Memory.Save(ctx, c)
}

func (s *spy) Delete(ctx context.Context, run string) error {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.Memory.Delete(ctx, run)
}

var errFull = errors.New("disk full")

func TestThrottle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &spy{}
		r := checkpoint.NewRun(s, checkpoint.Meta{Run: "r1"}, time.Minute)
		c := &checkpoint.Checkpoint{}
		step := func(wait time.Duration, fail error, wantSaved bool, wantSaves int) {
			t.Helper()
			testenv.Pass(wait)
			s.err = fail
			c.Iteration++
			saved, err := r.Save(t.Context(), c)
			if !errors.Is(err, fail) || wantSaves > 0 && s.saves != wantSaves || saved != wantSaved {
				t.Fatalf("saved %v, %v, %d saves, want %v, %v, %d", saved, err, s.saves, wantSaved, fail, wantSaves)
			}
		}
		step(0, errFull, false, 1) // the first is written; it failed, so the next one is too
		step(0, nil, true, 2)
		step(0, nil, false, 2)
		step(59*time.Second, nil, false, 2)
		step(time.Second, nil, true, 3)
		step(time.Minute, errFull, false, 4)
		step(time.Second, errFull, false, 5) // the clock has not moved
		step(time.Second, nil, true, 6)
		step(59*time.Second, nil, false, 6)
		if err := r.SaveNow(t.Context(), c); err != nil || s.saves != 7 {
			t.Fatalf("save now: %v, %d saves", err, s.saves)
		}
		step(59*time.Second, nil, false, 7) // counted from there
		step(time.Second, nil, true, 8)
		s.slow = 5 * time.Minute
		step(time.Minute, nil, true, 9)
		s.slow = 0
		step(59*time.Second, nil, false, 9) // counted from the end of a slow save
		step(time.Second, nil, true, 10)
		got, err := s.Load(t.Context(), "r1")
		if err != nil || got.Iteration != c.Iteration {
			t.Fatalf("%v, %+v", err, got)
		}
	})
}

func TestNoInterval(t *testing.T) {
	t.Parallel()
	s := &spy{}
	r := checkpoint.NewRun(s, checkpoint.Meta{Run: "r1"}, 0)
	for range 5 {
		if saved, err := r.Save(t.Context(), &checkpoint.Checkpoint{}); err != nil || !saved {
			t.Fatalf("%v, %v", saved, err)
		}
	}
}

// Save does not wait for a save that is under way, SaveNow does, and nothing is written after Complete.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &spy{slow: time.Minute}
		r := checkpoint.NewRun(s, checkpoint.Meta{Run: "r1"}, 0)
		start := time.Now()
		go func() { _, _ = r.Save(t.Context(), &checkpoint.Checkpoint{Iteration: 1}) }()
		synctest.Wait()
		if saved, err := r.Save(t.Context(), &checkpoint.Checkpoint{Iteration: 2}); saved || err != nil ||
			time.Since(start) > 0 {
			t.Fatalf("%v, %v after %v", saved, err, time.Since(start))
		}
		if err := r.SaveNow(t.Context(), &checkpoint.Checkpoint{Iteration: 3}); err != nil ||
			time.Since(start) != 2*time.Minute {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		go func() { _, _ = r.Save(t.Context(), &checkpoint.Checkpoint{Iteration: 4}) }()
		synctest.Wait()
		late := make(chan error)
		go func() { late <- r.SaveNow(t.Context(), &checkpoint.Checkpoint{Iteration: 5}) }()
		synctest.Wait()
		if err := r.Complete(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-late; !errors.Is(err, checkpoint.ErrEnded) {
			t.Errorf("a save behind the end: %v", err)
		}
		if _, err := s.Load(t.Context(), "r1"); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*checkpoint.Run, context.Context) error{
		"complete": (*checkpoint.Run).Complete, "fail": (*checkpoint.Run).Fail,
	} {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			r := checkpoint.NewRun(s, checkpoint.Meta{Run: "r1"}, 0)
			c, err := r.Resume(t.Context())
			if err != nil || !c.SavedAt.IsZero() || c.Run != "r1" {
				t.Fatalf("%v, %+v", err, c)
			}
			if _, err := r.Save(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Append(t.Context(), checkpoint.Event{Kind: "a"}); err != nil {
				t.Fatal(err)
			}
			s.err = errFull
			if err := end(r, t.Context()); !errors.Is(err, errFull) {
				t.Fatalf("error is %v", err)
			}
			s.err = nil
			saved, err := r.Save(t.Context(), c)
			if !errors.Is(err, checkpoint.ErrEnded) || saved {
				t.Fatalf("a save behind the end: %v, %v", saved, err)
			}
			if err := r.SaveNow(t.Context(), c); !errors.Is(err, checkpoint.ErrEnded) {
				t.Fatalf("a save behind the end: %v", err)
			}
			for range 2 {
				if err := end(r, t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if list, err := s.ListInterrupted(t.Context()); err != nil || len(list) != 0 {
				t.Fatalf("%v, %v", err, list)
			}
			n := 0
			for e, err := range r.Since(t.Context(), 0) {
				if n++; err != nil || e.Kind != "a" {
					t.Errorf("%v, %+v", err, e)
				}
			}
			if n != 1 {
				t.Errorf("%d events outlived the run", n)
			}
		})
	}
}

// The meta of the handle is what is saved, and Save changes nothing of its argument.
func TestMetaOfHandle(t *testing.T) {
	t.Parallel()
	s := &spy{}
	f := checkpoint.Factory[map[string]any]{Store: s, Meta: checkpoint.MetaFromMap}
	r := f.New(map[string]any{
		"run": 17, "agent": "a", "caller": "c", "channel": "ch", "parent": "p", "prompt": "pr",
		"model_tier": "m", "other": 1, "x": nil,
	})
	want := checkpoint.Meta{
		Run: "17", Agent: "a", Caller: "c", Channel: "ch", Parent: "p", Prompt: "pr",
		ModelTier: "m", More: map[string]any{"other": 1, "x": nil},
	}
	c := &checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "wrong"}, Iteration: 3}
	if saved, err := r.Save(t.Context(), c); err != nil || !saved || c.Run != "wrong" ||
		!reflect.DeepEqual(r.Meta(), want) {
		t.Fatalf("%v, %+v, %+v", err, c, r.Meta())
	}
	got, err := r.Resume(t.Context())
	want.More["other"] = 1.0 // as encoding/json decodes it
	if err != nil || !reflect.DeepEqual(got.Meta, want) || got.Iteration != 3 {
		t.Fatalf("%v, %+v", err, got)
	}
	none := checkpoint.Factory[int]{Store: s}
	if _, err := none.New(1).Save(t.Context(), c); !errors.Is(err, checkpoint.ErrRunID) {
		t.Errorf("without a run id: %v", err)
	}
}

// What another program wrote about a run is kept, also where this package does not know the field.
func TestUnknownFieldsOfARunAreKept(t *testing.T) {
	t.Parallel()
	stored, err := checkpoint.Encode(
		&checkpoint.Checkpoint{Meta: checkpoint.Meta{Run: "r1", More: map[string]any{"guild": "makers"}}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	line, rest, _ := bytes.Cut(stored, []byte("\n"))
	line = bytes.Replace(line, []byte(`{`), []byte(`{"guild_name":"inks","seats":[1,2],"guild":"other",`), 1)
	stored = append(append(line, '\n'), rest[:bytes.LastIndex(rest[:len(rest)-1], []byte("\n"))+1]...)
	stored = fmt.Appendf(stored, "{\"crc32c\": \"%08x\"}\n", crc32.Checksum(stored, crc32.MakeTable(crc32.Castagnoli)))
	c, err := checkpoint.Decode(stored, "r1")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"guild": "makers", "guild_name": "inks", "seats": []any{1.0, 2.0}}
	if !reflect.DeepEqual(c.More, want) {
		t.Errorf("got %v, want %v", c.More, want)
	}
	again, err := checkpoint.Encode(c, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if c, err = checkpoint.Decode(again, "r1"); err != nil || !reflect.DeepEqual(c.More, want) {
		t.Errorf("saved again: %v, %v", c, err)
	}
}

// TestUnknownFieldsSurviveASave: a program that resumed a run by its id alone, and saved it, removed from the
// checkpoint all that another program had written about the run.
func TestUnknownFieldsSurviveASave(t *testing.T) {
	t.Parallel()
	s := new(checkpoint.Memory)
	old := checkpoint.Meta{
		Run: "r2", Agent: "scribe", Prompt: "write",
		More: map[string]any{"guild": "makers", "seat": "1"},
	}
	if err := s.Save(t.Context(), &checkpoint.Checkpoint{Meta: old, Iteration: 1}); err != nil {
		t.Fatal(err)
	}
	own := map[string]any{"seat": "2", "new": true}
	r := checkpoint.NewRun(s, checkpoint.Meta{Run: "r2", Prompt: "read", More: own}, 0)
	c, err := r.Resume(t.Context())
	if err != nil || !reflect.DeepEqual(c.Meta, old) {
		t.Fatalf("%v, %+v", err, c)
	}
	if _, err := r.Save(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	want := checkpoint.Meta{
		Run: "r2", Agent: "scribe", Prompt: "read",
		More: map[string]any{"guild": "makers", "seat": "2", "new": true},
	}
	got, err := s.Load(t.Context(), "r2")
	if err != nil || !reflect.DeepEqual(got.Meta, want) || !reflect.DeepEqual(r.Meta(), want) {
		t.Errorf("%v, saved %+v, want %+v", err, got.Meta, want)
	}
	if len(own) != 2 || len(old.More) != 2 {
		t.Errorf("maps of others were changed: %v, %v", own, old.More)
	}
}

// A phase that a pipeline has twice is done twice, in one life of the program and over a restart.
func TestDraftReviewDraft(t *testing.T) {
	t.Parallel()
	pipeline := []string{"draft", "review", "draft"}
	for crash := range len(pipeline) + 1 {
		s, did := new(checkpoint.Memory), []string{}
		for life := range 2 {
			r := checkpoint.NewRun(s, checkpoint.Meta{Run: "r1"}, 0)
			c, err := r.Resume(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, phase := range c.Remaining(pipeline...) {
				if life == 0 && len(did) == crash {
					break
				}
				did = append(did, phase)
				c.Complete(phase)
				if err := r.SaveNow(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !slices.Equal(did, pipeline) {
			t.Errorf("killed after %d phases, it did %v", crash, did)
		}
	}
}

// A factory begins a run where it stopped, by a clock of its own, and says when it cannot.
func TestFactoryBegins(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	s := &checkpoint.Memory{Clock: clock}
	f := &checkpoint.Factory[string]{
		Store: s, Interval: time.Minute, Clock: clock,
		Meta: func(in string) checkpoint.Meta { return checkpoint.Meta{Run: in} },
	}
	r, c, err := f.Begin(t.Context(), "r1")
	if err != nil || r == nil || !c.SavedAt.IsZero() {
		t.Fatalf("%v, %+v, %v", r, c, err)
	}
	for _, want := range []bool{true, false} {
		if saved, err := r.Save(t.Context(), c); err != nil || saved != want {
			t.Fatalf("saved %v, %v, want %v", saved, err, want)
		}
	}
	now = now.Add(time.Minute)
	if saved, err := r.Save(t.Context(), c); err != nil || !saved {
		t.Fatalf("a minute later: saved %v, %v", saved, err)
	}
	if _, c, err = f.Begin(t.Context(), "r1"); err != nil || !c.SavedAt.Equal(now) {
		t.Errorf("again: %+v, %v", c, err)
	}
	if r, c, err = f.Begin(t.Context(), ""); !errors.Is(err, checkpoint.ErrRunID) || r != nil || c != nil {
		t.Errorf("no id: %v, %v, %v", r, c, err)
	}
	var none *checkpoint.Factory[string]
	if r, c, err = none.Begin(t.Context(), ""); err != nil || r != nil || c == nil {
		t.Errorf("no factory: %v, %v, %v", r, c, err)
	}
}

// plain is a store without a log.
type plain struct{ checkpoint.Store }

func TestNoLog(t *testing.T) {
	t.Parallel()
	r := checkpoint.NewRun(plain{&spy{}}, checkpoint.Meta{Run: "r1"}, 0)
	if _, err := r.Append(t.Context(), checkpoint.Event{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("append: %v", err)
	}
	n := 0
	for _, err := range r.Since(t.Context(), 0) {
		if n++; !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("since: %v", err)
		}
	}
	if n != 1 {
		t.Errorf("since yields %d times", n)
	}
}

// Many goroutines use one handle; each Save is written or put off.
func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	s := &spy{}
	r := checkpoint.NewRun(s, checkpoint.Meta{Run: "r1"}, time.Microsecond)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				if _, err := r.Save(t.Context(), &checkpoint.Checkpoint{Iteration: i}); err != nil {
					t.Errorf("save: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := s.Load(t.Context(), "r1"); err != nil || s.saves == 0 {
		t.Errorf("%v, %d saves", err, s.saves)
	}
}
