// Package storetest is the contract of [persistence.Store] as a suite that anyone can run against a store: see
// [Run]. Scrub is tried where it is supported, and damage where a store is a [Damager], an [EventSpoiler] or a
// [CommandSpoiler].
package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
)

// A Damager is a store whose recorded bytes the suite can spoil. Stores without one skip those cases.
type Damager interface {
	EventSpoiler
	// CutEvents removes the last n bytes of a run's history, and all that was written after them, as a crash does.
	CutEvents(id persistence.ID, n int64) error
	// SpoilState makes the materialised memory of a run unreadable.
	SpoilState(id persistence.ID) error
}

// An EventSpoiler is a store whose recorded events the suite can spoil one by one.
type EventSpoiler interface {
	persistence.Store
	// SpoilEvent makes the event of this number unreadable.
	SpoilEvent(id persistence.ID, seq uint64) error
}

// A test is one case.
type test struct {
	name string
	run  func(t *T)
}

// Run runs every case against a new store of its own. The cases run in parallel: open may be called at once.
func Run(t *testing.T, open func(t *testing.T) persistence.Store) { run(t, open, 1) }

// RunSome runs every third case, and all of them with -torture, against a store that [Run] tries with other settings.
func RunSome(t *testing.T, open func(t *testing.T) persistence.Store) {
	run(t, open, testenv.Some(3, 1))
}

// run runs every nth case.
func run(t *testing.T, open func(t *testing.T) persistence.Store, nth int) {
	cases := slices.Concat(creating, remembering, nesting, living, commanding, sharing, telling, listing,
		guaranteeing, stepping, removing, modelled(), defining, rewinding)
	s := open(t) // a store without bytes has none to spoil
	if _, err := s.Scrub(t.Context(), "fix-20261121T100000", scrub, alone); !errors.Is(err, errors.ErrUnsupported) {
		cases = append(cases, scrubbing...)
	}
	if _, ok := s.(EventSpoiler); ok {
		cases = append(cases, spoiling...)
	}
	if _, ok := s.(CommandSpoiler); ok {
		cases = append(cases, misheard...)
	}
	if _, ok := s.(Damager); ok {
		cases = append(cases, damaging...)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close the store: %v", err)
	}
	for i, c := range cases {
		if i%nth != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close the store: %v", err)
				}
			})
			c.run(&T{T: t, S: s, ctx: t.Context()})
		})
	}
}

// T is one running case.
type T struct {
	*testing.T
	S   persistence.Store
	ctx context.Context
	n   int
}

var start = time.Date(2026, 11, 21, 10, 34, 5, 123456000, time.UTC)

func (t *T) spec(loop string) persistence.Spec {
	return persistence.Spec{
		Loop: loop, File: loop + ".yaml", SHA256: "abc", Definition: []byte("name: " + loop + "\n"), MaxSteps: 50,
		Owner: persistence.Owner{Host: "here", Boot: "b", PID: os.Getpid(), Start: 1}, StartedAt: start,
		Options: value.NewMap("max_steps", int64(50)),
	}
}

func (t *T) create(loop string) persistence.Journal {
	t.Helper()
	j, err := t.S.Create(t.ctx, t.spec(loop))
	if err != nil {
		t.Fatalf("create %s: %v", loop, err)
	}
	return j
}

func (t *T) resume(id persistence.ID, loop string) (persistence.Journal, *fsm.Snapshot) {
	t.Helper()
	j, s, err := t.S.Resume(t.ctx, id, t.spec(loop))
	if err != nil {
		t.Fatalf("resume %s: %v", id, err)
	}
	return j, s
}

func (t *T) record(j persistence.Journal, b *fsm.Batch) {
	t.Helper()
	if err := j.Record(t.ctx, b); err != nil {
		t.Fatalf("record: %v", err)
	}
}

func (t *T) close(j persistence.Journal) {
	t.Helper()
	if err := j.Close(t.ctx); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// snap is the memory at a step of a run of the loop.
func snap(loop string, step int) *fsm.Snapshot {
	return &fsm.Snapshot{
		Loop: loop, Phase: fsm.PhaseActing, Current: fmt.Sprintf("s%d", step), Step: step, Attempt: 1, StartedAt: start,
		Elapsed: time.Duration(step) * time.Second, Captured: value.NewMap(), Context: value.NewMap("input", "x"),
	}
}

func (t *T) event(kind string, fields ...any) fsm.Event {
	t.n++
	e := fsm.Event{Kind: kind, Time: start.Add(time.Duration(t.n) * time.Millisecond)}
	for i := 0; i+1 < len(fields); i += 2 {
		e.Fields = append(e.Fields, fsm.Field{Key: fields[i].(string), Value: fields[i+1]})
	}
	return e
}

// enter is a checkpoint before the action of a step.
func (t *T) enter(s *fsm.Snapshot) *fsm.Batch {
	return &fsm.Batch{Snapshot: s, Checkpoint: true, Events: []fsm.Event{
		t.event(fsm.EventStateEnter, "state", s.Current, "iteration", int64(s.Step)),
		t.event(fsm.EventActionStart, "action", "true"),
	}}
}

func (t *T) output(lines ...string) *fsm.Batch {
	b := &fsm.Batch{}
	for _, l := range lines {
		b.Events = append(b.Events, t.event(fsm.EventActionOutput, "line", l))
	}
	return b
}

// ended is the last batch of a run.
func (t *T) ended(s *fsm.Snapshot, by string) *fsm.Batch {
	s.Outcome = &fsm.Outcome{TerminatedBy: by, FinalState: s.Current, Steps: s.Step}
	return &fsm.Batch{
		Snapshot: s, Checkpoint: true,
		Events: []fsm.Event{t.event(fsm.EventLoopComplete, "terminated_by", by)},
	}
}

// crashed makes a run that recorded n steps and whose owner released it without an end.
func (t *T) crashed(loop string, n int) persistence.ID {
	t.Helper()
	j := t.create(loop)
	for i := 1; i <= n; i++ {
		t.record(j, t.enter(snap(loop, i)))
	}
	id := j.Run().ID
	t.close(j)
	return id
}

// finished makes a run that ended.
func (t *T) finished(loop, by string) persistence.ID {
	t.Helper()
	j := t.create(loop)
	t.record(j, t.enter(snap(loop, 1)))
	t.record(j, t.ended(snap(loop, 1), by))
	id := j.Run().ID
	t.close(j)
	return id
}

func (t *T) runs(q persistence.Query) []persistence.Run {
	t.Helper()
	rs, err := t.S.Runs(t.ctx, q)
	if err != nil {
		t.Fatalf("runs: %v", err)
	}
	return rs
}

// one returns the run with this ID from the list of all.
func (t *T) one(id persistence.ID) persistence.Run {
	t.Helper()
	for _, r := range t.runs(persistence.Query{}) {
		if r.ID == id {
			t.found(r)
			return r
		}
	}
	t.Fatalf("run %s is not listed", id)
	return persistence.Run{}
}

// found wants a run to be found by its ID as it is listed.
func (t *T) found(listed persistence.Run) {
	t.Helper()
	listed.Bytes = 0 // which only a listing looks at
	for _, c := range []struct {
		q    persistence.Query
		want bool
	}{
		{persistence.Query{ID: listed.ID}, true},
		{persistence.Query{ID: listed.ID, Loop: listed.Loop, Limit: 1}, true},
		{persistence.Query{ID: listed.ID, Loop: listed.Loop + "x"}, false},
		{persistence.Query{ID: listed.ID, Live: true}, !listed.Archived || listed.Leftover},
		{persistence.Query{ID: listed.ID + "x"}, false},
	} {
		switch runs := t.runs(c.q); {
		case len(runs) > 1, c.want != (len(runs) == 1):
			t.Errorf("%+v finds %d runs", c.q, len(runs))
		case c.want && !listed.Held && !reflect.DeepEqual(runs[0], listed): // one that continues may change in between
			t.Errorf("%s is found as\n%+v\nand listed as\n%+v", listed.ID, runs[0], listed)
		}
	}
}

func (t *T) events(id persistence.ID, after uint64) (es []fsm.Event) {
	t.Helper()
	for e, err := range t.S.Events(t.ctx, id, after) {
		if err != nil {
			t.Fatalf("events of %s: %v", id, err)
		}
		es = append(es, e)
	}
	if after == 0 {
		t.tail(id, es)
	}
	return es
}

// tail compares the events of a run, read from the newest backwards, with those read forwards.
func (t *T) tail(id persistence.ID, es []fsm.Event) {
	t.Helper()
	n := len(es)
	for e, err := range t.S.Tail(t.ctx, id) {
		if err != nil {
			t.Fatalf("newest events of %s: %v", id, err)
		}
		if n--; n < 0 || string(e.AppendJSON(nil)) != string(es[n].AppendJSON(nil)) {
			t.Fatalf("%d events before the oldest of %s comes %s", n, id, e.AppendJSON(nil))
		}
	}
	if n != 0 {
		t.Fatalf("read backwards, the oldest %d events of %s are not there", n, id)
	}
}

// memory compares what the store remembers of a run.
func (t *T) memory(id persistence.ID, want *fsm.Snapshot) {
	t.Helper()
	got, err := t.S.Snapshot(t.ctx, id)
	if err != nil {
		t.Fatalf("snapshot of %s: %v", id, err)
	}
	t.same(got, want)
	got, err = t.reading(id).Memory(t.ctx)
	t.must(err)
	t.same(got, want)
}

// same compares two snapshots field by field; an empty map is as good as none.
func (t *T) same(got, want *fsm.Snapshot) {
	t.Helper()
	t.sameFields("", reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem())
}

func (t *T) sameFields(in string, g, w reflect.Value) {
	t.Helper()
	for i := range g.NumField() {
		a, b := g.Field(i), w.Field(i)
		name := in + g.Type().Field(i).Name
		switch x := a.Interface().(type) {
		case *fsm.Child, *fsm.Snapshot:
			if a.IsNil() || b.IsNil() {
				if a.IsNil() != b.IsNil() {
					t.Errorf("%s = %+v, want %+v", name, x, b.Interface())
				}
				continue
			}
			t.sameFields(name+".", a.Elem(), b.Elem())
		case []*fsm.BranchMemory:
			y := b.Interface().([]*fsm.BranchMemory)
			if len(x) != len(y) {
				t.Errorf("%s has %d entries, want %d", name, len(x), len(y))
				continue
			}
			for i := range x {
				t.sameFields(fmt.Sprintf("%s[%d].", name, i), reflect.ValueOf(x[i]).Elem(),
					reflect.ValueOf(y[i]).Elem())
			}
		case *value.Map:
			if y := b.Interface().(*value.Map); string(value.AppendJSON(nil, orEmpty(x))) !=
				string(value.AppendJSON(nil, orEmpty(y))) {
				t.Errorf("%s = %s, want %s", name, value.AppendJSON(nil, x), value.AppendJSON(nil, y))
			}
		case time.Time:
			if y := b.Interface().(time.Time); !x.Equal(y) {
				t.Errorf("%s = %v, want %v", name, x, y)
			}
		default:
			if (a.Kind() == reflect.Map || a.Kind() == reflect.Slice) && a.Len() == 0 && b.Len() == 0 {
				continue
			}
			if !reflect.DeepEqual(x, b.Interface()) {
				t.Errorf("%s = %+v, want %+v", name, x, b.Interface())
			}
		}
	}
}

func orEmpty(m *value.Map) *value.Map {
	if m == nil {
		return value.NewMap()
	}
	return m
}

func (t *T) isHeld(err error) {
	t.Helper()
	var held *persistence.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("error is %v, want a *HeldError", err)
	}
}

func (t *T) is(err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}
