// Package checkpointtest is the contract of [checkpoint.Store] and [checkpoint.Log] as a suite that anyone can run
// against a store of their own:
//
//	func TestMyStore(t *testing.T) {
//		checkpointtest.Run(t, func(t *testing.T) checkpoint.Store { return openMyStore(t.TempDir()) })
//	}
package checkpointtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"loops/persistence/checkpoint"
)

// A Reopener is a store that keeps its content when the process ends. Stores without it skip those cases.
type Reopener interface {
	checkpoint.Store
	// Reopen returns another store on the same content, as another process would open it.
	Reopen() (checkpoint.Store, error)
}

// A Damager is a store whose bytes the suite can spoil. Stores without it skip those cases.
type Damager interface {
	checkpoint.Store
	// Damage replaces the stored bytes of the newest checkpoint of a run, or of its log, by what f makes of them.
	Damage(run string, log bool, f func([]byte) []byte) error
}

// Run runs every case against a new store of its own: those of checkpoint.Log if the store is one, those of Reopener
// and Damager likewise.
func Run(t *testing.T, open func(t *testing.T) checkpoint.Store) {
	s := open(t)
	cases := saving
	_, isLog := s.(checkpoint.Log)
	_, isReopener := s.(Reopener)
	_, isDamager := s.(Damager)
	for _, more := range []struct {
		has   bool
		cases []test
	}{
		{isLog, logging},
		{isReopener, reopening},
		{isReopener && isLog, sharing},
		{isDamager, damaging},
		{isDamager && isLog, damagingLog},
	} {
		if more.has {
			cases = slices.Concat(cases, more.cases)
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(&T{T: t, S: open(t), ctx: t.Context()}) })
	}
}

// A test is one case.
type test struct {
	name string
	run  func(t *T)
}

// T is one running case.
type T struct {
	*testing.T
	S   checkpoint.Store
	ctx context.Context
}

func (t *T) log() checkpoint.Log { return t.S.(checkpoint.Log) }

// full is a checkpoint with every field set.
func full(run string, iteration int) *checkpoint.Checkpoint {
	return &checkpoint.Checkpoint{
		Meta: checkpoint.Meta{
			Run: run, Agent: "writer", Caller: "ada", Channel: "#build", Parent: "r0",
			Prompt: "say <hello> & \"good-bye\"\n…", ModelTier: "large",
			More: map[string]any{
				"guild": "makers", "agent_name": "ink",
				"limits": map[string]any{"hours": 1.5, "tools": []any{"go", nil}},
			},
		},
		Iteration: iteration,
		Phases:    []string{"plan", "draft"},
		Messages: []json.RawMessage{
			[]byte(`{"role":"user","content":"a<b>&c\u2028"}`),
			[]byte(`["block",1.50,1e400,null]`), []byte(`12345678901234567890`),
		},
		Data: json.RawMessage(`{"z":1,"a":{"b":[]}}`),
		Seq:  7,
	}
}

func (t *T) save(c *checkpoint.Checkpoint) {
	t.Helper()
	if err := t.S.Save(t.ctx, c); err != nil {
		t.Fatalf("save: %v", err)
	}
}

func (t *T) load(run string) *checkpoint.Checkpoint {
	t.Helper()
	c, err := t.S.Load(t.ctx, run)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return c
}

// holds wants this checkpoint in the store, whenever it was saved.
func (t *T) holds(want *checkpoint.Checkpoint) {
	t.Helper()
	t.same(t.load(want.Run), want)
}

func (t *T) same(got, want *checkpoint.Checkpoint) {
	t.Helper()
	if got == nil {
		t.Fatal("no checkpoint")
	}
	g, w := *got, *want
	if g.SavedAt.IsZero() || time.Since(g.SavedAt).Abs() > time.Hour || g.SavedAt.Location() != time.UTC {
		t.Errorf("saved at %v, want about now in UTC", g.SavedAt)
	}
	g.SavedAt, w.SavedAt = time.Time{}, time.Time{}
	if a, b := text(g), text(w); a != b {
		t.Fatalf("got  %s\nwant %s", a, b)
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (t *T) none(run string) {
	t.Helper()
	c, err := t.S.Load(t.ctx, run)
	t.is(err, checkpoint.ErrNotFound)
	if c != nil {
		t.Fatalf("a checkpoint beside %v", err)
	}
}

func (t *T) list() []checkpoint.Interrupted {
	t.Helper()
	list, err := t.S.ListInterrupted(t.ctx)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return list
}

// lists wants these runs, in any order, and no other.
func (t *T) lists(want ...string) {
	t.Helper()
	got := []string{}
	for _, i := range t.list() {
		got = append(got, i.Run)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("lists %q, want %q", got, want)
	}
}

func (t *T) append(run string, events ...checkpoint.Event) uint64 {
	t.Helper()
	n, err := t.log().Append(t.ctx, run, events...)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	return n
}

func event(kind string) checkpoint.Event {
	return checkpoint.Event{Kind: kind, Data: json.RawMessage(fmt.Sprintf(`{"of":%q}`, kind))}
}

// since returns what Since yields as words: a kind with its number, or damage.
func (t *T) since(run string, seq uint64) []string {
	t.Helper()
	return words(t, t.log(), run, seq)
}

func words(t *T, l checkpoint.Log, run string, seq uint64) []string {
	t.Helper()
	list := []string{}
	for e, err := range l.Since(t.ctx, run, seq) {
		switch {
		case errors.Is(err, checkpoint.ErrDamaged):
			list = append(list, "damaged")
		case err != nil:
			t.Fatalf("since: %v", err)
		default:
			list = append(list, fmt.Sprintf("%s%d", e.Kind, e.Seq))
		}
	}
	return list
}

func (t *T) equal(got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func (t *T) is(err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}
