package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
)

// A model is a store as it should be, small enough to be right by reading: it remembers only what was recorded in
// it. Random operations are done on it and on the store, and whatever the store says is compared.
type model struct {
	t    *T
	rng  *rand.Rand
	runs map[persistence.ID]*modelRun
	ids  []persistence.ID // in the order of their creation, so that the same seed does the same
	log  []string         // what was done
}

type modelRun struct {
	loop     string
	status   persistence.Status
	archived bool
	held     persistence.Journal // nil: no process owns it
	memory   *fsm.Snapshot       // never changed once it is here; nil: nothing was recorded
	events   []string
	spoilt   bool // what was materialised of it was made unreadable
}

// modelled are cases of random operations, by seed.
func modelled() (tests []test) {
	for seed := range uint64(testenv.Some(2, 6)) {
		tests = append(tests, test{fmt.Sprintf("it agrees with a plain model, seed %d", seed), func(t *T) {
			m := &model{t: t, rng: rand.New(rand.NewPCG(seed, 1)), runs: map[persistence.ID]*modelRun{}}
			for range 100 {
				m.operate()
				if t.Failed() {
					t.Fatalf("after %s", strings.Join(m.log, ", "))
				}
			}
			for _, id := range m.ids {
				m.compare(id)
				if r := m.runs[id]; r.held != nil {
					t.close(r.held)
				}
			}
			if t.Failed() {
				t.Fatalf("after %s", strings.Join(m.log, ", "))
			}
		}})
	}
	return tests
}

func (m *model) did(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

// operate does one thing.
func (m *model) operate() {
	if len(m.ids) == 0 || len(m.ids) < 5 && m.rng.IntN(12) == 0 {
		m.create()
		return
	}
	id := m.ids[m.rng.IntN(len(m.ids))]
	r := m.runs[id]
	if r.held != nil {
		switch n := m.rng.IntN(20); {
		case n < 13:
			m.record(id, r)
		case n == 13:
			m.end(id, r)
		case n < 17:
			m.letGo(id, r)
		default:
			m.refused(id)
		}
		return
	}
	switch m.rng.IntN(4) {
	case 0:
		m.interrupt(id, r)
	case 1:
		m.archive(id, r)
	default:
		m.resume(id, r)
	}
	m.compare(id)
	m.list()
}

func (m *model) create() {
	spec := m.t.spec([]string{"a", "b", "a-b"}[m.rng.IntN(3)])
	spec.StartedAt = start.Add(time.Duration(m.rng.IntN(3)) * time.Second)
	j, err := m.t.S.Create(m.t.ctx, spec)
	m.t.must(err)
	id := j.Run().ID
	m.did("create %s", id)
	if m.runs[id] != nil {
		m.t.Errorf("%s was there already", id)
	}
	m.runs[id] = &modelRun{loop: spec.Loop, status: persistence.Running, held: j}
	m.ids = append(m.ids, id)
	first := snap(spec.Loop, 1)
	first.StartedAt = spec.StartedAt
	m.write(id, m.runs[id], m.t.enter(first))
}

// write records a batch and expects its events to get the next numbers.
func (m *model) write(id persistence.ID, r *modelRun, b *fsm.Batch) {
	kept := copyOf(b.Snapshot)
	m.t.record(r.held, b)
	for i, e := range b.Events {
		if want := uint64(len(r.events) + 1); e.Seq != want {
			m.t.Errorf("event %d of a batch of %s has number %d, want %d", i+1, id, e.Seq, want)
		}
		r.events = append(r.events, string(e.AppendJSON(nil)))
	}
	if kept != nil {
		r.memory, r.status = kept, persistence.Running
		if kept.Outcome != nil {
			r.status = persistence.StatusOf(*kept.Outcome)
		}
	}
}

func (m *model) record(id persistence.ID, r *modelRun) {
	b := &fsm.Batch{Checkpoint: m.rng.IntN(3) == 0}
	switch m.rng.IntN(6) {
	case 0:
		m.did("output")
		b = m.t.output("one", "two")
	case 1:
		m.did("events")
		b.Events = []fsm.Event{m.t.event(fsm.EventWarning, "text", "é\n")}
	default:
		s := copyOf(r.memory)
		s.Outcome = nil
		m.did("step%s", m.evolve(s))
		b.Snapshot = s
		for range 1 + m.rng.IntN(3) {
			b.Events = append(b.Events, m.t.event(fsm.EventRoute, "to", s.Current))
		}
	}
	m.write(id, r, b)
	if m.rng.IntN(4) == 0 {
		m.compare(id)
	}
}

func (m *model) end(id persistence.ID, r *modelRun) {
	by := []string{fsm.EndTerminal, fsm.EndInterrupted, fsm.EndMaxSteps, fsm.EndHandoff, fsm.EndError}[m.rng.IntN(5)]
	m.did("end %s by %s", id, by)
	m.write(id, r, m.t.ended(copyOf(r.memory), by))
	m.t.close(r.held)
	r.held, r.archived = nil, true
	m.compare(id)
}

func (m *model) letGo(id persistence.ID, r *modelRun) {
	m.did("let go of %s", id)
	m.t.close(r.held)
	r.held, r.archived = nil, r.memory.Outcome != nil
	if d, ok := m.t.S.(Damager); ok && !r.archived && m.rng.IntN(2) == 0 {
		m.did("spoil its state")
		m.t.must(d.SpoilState(id))
		r.spoilt = true
	}
	m.compare(id)
}

// refused are what may not be done to a run that is owned.
func (m *model) refused(id persistence.ID) {
	var err error
	switch m.rng.IntN(3) {
	case 0:
		m.did("resume %s, which is held", id)
		_, _, err = m.t.S.Resume(m.t.ctx, id, m.t.spec(m.runs[id].loop))
	case 1:
		m.did("interrupt %s, which is held", id)
		err = m.t.S.Interrupt(m.t.ctx, id, start, "test")
	default:
		m.did("archive %s, which is held", id)
		err = m.t.S.Archive(m.t.ctx, id)
	}
	var held *persistence.HeldError
	if !errors.As(err, &held) {
		m.t.Errorf("error is %v, want a *HeldError", err)
	}
}

func (m *model) resume(id persistence.ID, r *modelRun) {
	m.did("resume %s", id)
	j, s, err := m.t.S.Resume(m.t.ctx, id, m.t.spec(r.loop))
	var no *persistence.NotResumableError
	if !r.status.Resumable() {
		if !errors.As(err, &no) {
			m.t.Errorf("error is %v, want a *NotResumableError", err)
		}
		return
	}
	m.t.must(err)
	m.t.same(s, r.memory)
	r.held, r.archived = j, false
	if j.Run().ID != id {
		m.t.Errorf("resumed as %s, want %s", j.Run().ID, id)
	}
}

func (m *model) interrupt(id persistence.ID, r *modelRun) {
	m.did("interrupt %s", id)
	err := m.t.S.Interrupt(m.t.ctx, id, start, "test")
	if r.archived || r.status != persistence.Running {
		if !errors.Is(err, persistence.ErrNotFound) {
			m.t.Errorf("error is %v, want %v", err, persistence.ErrNotFound)
		}
		return
	}
	m.t.must(err)
	r.status, r.archived = persistence.Interrupted, true
}

func (m *model) archive(id persistence.ID, r *modelRun) {
	m.did("archive %s", id)
	err := m.t.S.Archive(m.t.ctx, id)
	if (err == nil) != (r.archived || r.status != persistence.Running) {
		m.t.Errorf("error is %v for a run that is %s", err, r.status)
	}
	r.archived = r.archived || err == nil
}

// compare reads everything about a run.
func (m *model) compare(id persistence.ID) {
	r := m.runs[id]
	m.t.memory(id, r.memory)
	after := m.rng.IntN(len(r.events) + 1)
	events := m.t.events(id, uint64(after))
	if len(events) != len(r.events)-after {
		m.t.Errorf("%s has %d events behind %d, want %d", id, len(events), after, len(r.events)-after)
		return
	}
	for i, e := range events {
		if got, want := string(e.AppendJSON(nil)), r.events[after+i]; got != want {
			m.t.Errorf("event %d of %s is\n%s\nwant\n%s", after+i+1, id, got, want)
		}
	}
}

func (m *model) list() {
	q := persistence.Query{Live: m.rng.IntN(2) == 0}
	if m.rng.IntN(2) == 0 {
		q.Loop = []string{"a", "b", "a-b"}[m.rng.IntN(3)]
	}
	want := map[persistence.ID]bool{}
	for id, r := range m.runs {
		if !(q.Live && r.archived) && (q.Loop == "" || q.Loop == r.loop) {
			want[id] = true
		}
	}
	list := m.t.runs(q)
	if !slices.IsSortedFunc(list, func(a, b persistence.Run) int { return strings.Compare(b.RunID, a.RunID) }) {
		m.t.Errorf("not newest first: %+v", list)
	}
	for _, l := range list {
		r := m.runs[l.ID]
		if r == nil || !want[l.ID] {
			m.t.Errorf("%s is listed", l.ID)
			continue
		}
		delete(want, l.ID)
		if l.Status != r.status || l.Archived != r.archived || l.Held != (r.held != nil) || l.Loop != r.loop ||
			l.State != r.memory.Current ||
			l.Step != r.memory.Step || len(l.Damage) > 0 && !r.spoilt || l.Resumable != r.status.Resumable() {
			m.t.Errorf("listed as %+v, want %+v at %s, step %d", l, *r, r.memory.Current, r.memory.Step)
		}
	}
	if len(want) > 0 {
		m.t.Errorf("not listed: %v", slices.Sorted(maps.Keys(want)))
	}
}

// evolve changes a memory that no one else has, at some depth, and says how.
func (m *model) evolve(s *fsm.Snapshot) (how string) {
	for s.Child != nil && m.rng.IntN(4) > 0 {
		how += " in"
		s = s.Child.Memory
	}
	n, text := m.rng.IntN(3), fmt.Sprint("text ", m.rng.IntN(1000))
	key := []string{"k", "l", "é"}[n]
	for range 1 + m.rng.IntN(3) {
		change := m.rng.IntN(21)
		how += fmt.Sprint(" ", change)
		switch change {
		case 0:
			s.Step++
			s.Current, s.Previous, s.Phase = fmt.Sprint("s", s.Step), s.Current, fsm.PhaseActing
		case 1:
			s.Captured.Set(key, value.NewMap("output", text, "none", nil, "list", []any{int64(n), 0.5}))
		case 2:
			s.Captured.Delete(key)
		case 3:
			s.Context.Set(key, text)
		case 4:
			s.Context = value.NewMap("input", text)
		case 5:
			s.Messages = append(s.Messages, text)
		case 6:
			s.Edges = value.CountsOf(map[string]int{key: n, "a->b": s.Step})
		case 7:
			s.Edges = s.Edges.Without(key)
		case 8:
			s.Retries, s.Holds = nil, map[string]int{key: n}
		case 9:
			s.Result, s.Phase = &fsm.Result{Stdout: strings.Repeat(text, 1+n*4000), ExitCode: n}, fsm.PhaseActed
		case 10:
			s.Result, s.Phase, s.PrevResult = nil, fsm.PhasePending, value.NewMap("output", text)
		case 11:
			s.StallRing = append(s.StallRing, fsm.StallRecord{State: key, ExitCode: n})
		case 12:
			s.StallRing = s.StallRing[:len(s.StallRing)/2]
		case 13:
			s.Evaluators = map[string]fsm.Repeat{key: {Hash: text, Count: n}}
		case 14:
			inner := snap(text, n)
			s.Child = &fsm.Child{Memory: inner, Name: key, Timeout: time.Duration(n)}
		case 15:
			if s.Child != nil {
				s.Child.Log = append(s.Child.Log, strings.Repeat(text, 1+n*400))
			}
		case 16:
			s.Child = nil
		case 17:
			s.Branches = append(slices.Clip(s.Branches),
				&fsm.BranchMemory{
					Name:  fmt.Sprintf("%s%d", key, m.rng.Int()),
					Child: &fsm.Child{Memory: snap(text, n), Name: key},
				})
		case 18: // a branch ends
			if i := m.anyBranch(s); i >= 0 {
				s.Branches = slices.Clone(s.Branches)
				s.Branches[i] = &fsm.BranchMemory{Name: s.Branches[i].Name, End: value.NewMap("verdict", text)}
			}
		case 19: // an item ends
			if i := m.anyBranch(s); i >= 0 {
				s.Branches = slices.Delete(slices.Clone(s.Branches), i, i+1)
			}
		case 20:
			if i := m.anyBranch(s); i >= 0 && s.Branches[i].Child != nil {
				how += m.evolve(s.Branches[i].Child.Memory)
			}
		}
	}
	return how
}

// anyBranch returns the index of one of the branches, -1 where there are none.
func (m *model) anyBranch(s *fsm.Snapshot) int {
	if len(s.Branches) == 0 {
		return -1
	}
	return m.rng.IntN(len(s.Branches))
}

// copyOf returns a memory that shares nothing that can change; records never do.
func copyOf(s *fsm.Snapshot) *fsm.Snapshot {
	if s == nil {
		return nil
	}
	c := *s
	c.Context, c.Captured = s.Context.Clone(), s.Captured.Clone()
	c.Messages, c.StallRing = slices.Clone(s.Messages), slices.Clone(s.StallRing)
	c.Retries, c.Throttles, c.Holds = maps.Clone(s.Retries), maps.Clone(s.Throttles), maps.Clone(s.Holds)
	c.RateLimits, c.APIErrors, c.InfraErrors = maps.Clone(s.RateLimits), maps.Clone(s.APIErrors),
		maps.Clone(s.InfraErrors)
	c.StallCounts, c.StallPrints, c.Evaluators = maps.Clone(s.StallCounts), maps.Clone(s.StallPrints),
		maps.Clone(s.Evaluators)
	if s.Child != nil {
		child := *s.Child
		child.Log, child.Memory = slices.Clone(child.Log), copyOf(child.Memory)
		c.Child = &child
	}
	c.Branches = nil
	for _, b := range s.Branches {
		b := *b
		if b.Child != nil {
			child := *b.Child
			child.Memory = copyOf(child.Memory)
			b.Child = &child
		}
		c.Branches = append(c.Branches, &b)
	}
	return &c
}
