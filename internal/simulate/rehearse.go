package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
)

// A rehearsal is a run of a loop in memory, in which each action is answered and none is started. Branches and
// items run beside each other as in any run.
type rehearsal struct {
	Loop    *fsm.Loop
	Values  *value.Map // the context, which it takes over
	Library fsm.Library
	Files   fsm.Files
	Dir     string
	Getenv  func(name string) (string, bool)
	Name    fsm.RunName
	Begin   time.Time
	Answers answers
	Watch   *watchpoint // nil = nothing ends it
}

// answers decide what states come to in a rehearsal. They are called by one goroutine at a time. An error ends it.
type answers interface {
	// act returns what comes of an action.
	act(p *place, a fsm.Action) (fsm.Result, error)
	// judge returns the verdict of a state; false = its evaluator has it.
	judge(p *place, cfg *fsm.Evaluate, ev fsm.Evidence) (fsm.Verdict, bool, error)
}

// A place is where in a run something is done.
type place struct {
	at    string // address as users read it; of an item without states its own
	parts []part
	state *fsm.State // nil = it is not known
	loop  *fsm.Loop  // that the state is of; nil = it is not known
}

// A part is a step of the way to a place: a state, a branch or an item.
type part struct {
	name string // of an item #3
	each bool   // it is an item
}

// String returns the way as histories show it, with the numbers of items.
func (p *place) String() string {
	names := make([]string, len(p.parts))
	for i, x := range p.parts {
		names[i] = x.name
	}
	return strings.Join(names, " > ")
}

// A rehearsedStep is a state that was entered.
type rehearsedStep struct{ *inspect.Visit }

// apart reports whether it is inside a branch or an item.
func (s rehearsedStep) apart() bool {
	return slices.ContainsFunc(s.Within, func(name string) bool { return name != "" })
}

// rehearsed is the result of a rehearsal.
type rehearsed struct {
	outcome  fsm.Outcome
	memory   *fsm.Snapshot // the last one: captures and context are kept
	steps    []rehearsedStep
	verdicts []placedVerdict
	acts     []placedAct
}

// A placedAct is one action, and what limits it.
type placedAct struct {
	place              *place
	guarded, sandboxed bool
}

// A placedVerdict is one verdict of a state.
type placedVerdict struct {
	place   *place
	verdict string
}

// rehearse runs a loop in memory. The error is that of the answers, [ErrEndless], or the cause of ctx.
func rehearse(ctx context.Context, r rehearsal) (*rehearsed, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	loop := *r.Loop
	loop.Backoff = 0
	s := &stage{
		rehearsal: r, cancel: cancel, loops: map[string]*fsm.Loop{loop.Name: &loop},
		visits: map[string]*inspect.Visit{}, lists: map[string]string{},
	}
	s.reader.Inside = func(*inspect.Visit) {}
	s.reader.Each = s.see
	awake := make(chan struct{})
	close(awake) // nothing is waited for
	x := fsm.Start(fsm.Config{
		Loop: &loop,
		Run:  r.Name,
		Dir:  r.Dir,
		World: fsm.World{
			Runner: s, Files: r.Files, Library: s, Random: func() float64 { return 0 },
			Getenv: r.Getenv, Verdict: s.verdict,
		},
		Journal: fsm.Journal{Recorder: s, Verify: true},
		Control: fsm.Control{Wake: awake},
	}, r.Values, r.Begin)
	outcome, err := x.Run(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil:
		return &s.seen, s.failed
	case err != nil:
		return &s.seen, err
	case ctx.Err() != nil:
		return &s.seen, context.Cause(ctx)
	}
	s.seen.outcome = outcome
	return &s.seen, nil
}

// A stage is a rehearsal under way: the Runner, Recorder and Library of the executor.
type stage struct {
	rehearsal
	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards all below
	failed  error      // what ended the rehearsal before the run
	loops   map[string]*fsm.Loop
	visits  map[string]*inspect.Visit // by address as users read it
	lists   map[string]string         // by state, the address of its last visit that makes a list
	reader  inspect.Reader
	entered *inspect.Visit // by the event that is being read; nil = none was
	seq     uint64
	seen    rehearsed
}

// fail ends the rehearsal.
func (s *stage) fail(err error) error {
	if s.failed == nil {
		s.failed = err
		s.cancel(err)
	}
	return err
}

// Record implements [fsm.Recorder].
func (s *stage) Record(_ context.Context, b *fsm.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	for i := range b.Events {
		s.seq++
		b.Events[i].Seq = s.seq
		s.reader.Add(b.Events[i])
		if s.entered != nil { // its branch is known only now
			s.visits[s.entered.Number()], s.entered = s.entered, nil
		}
	}
	if len(s.seen.steps) > MostSteps {
		return s.fail(ErrEndless)
	}
	if b.Snapshot != nil && s.Watch != nil {
		if err := s.Watch.see(b.Snapshot); err != nil {
			return s.fail(err)
		}
	}
	if m := b.Snapshot; m != nil && m.Outcome != nil {
		s.seen.memory = &fsm.Snapshot{Captured: m.Captured.Clone(), Context: m.Context.Clone(), Spent: m.Spent}
	}
	return nil
}

// see takes an event with the visit that it belongs to.
func (s *stage) see(e fsm.Event, v *inspect.Visit) {
	if v == nil {
		return
	}
	switch e.Kind {
	case fsm.EventStateEnter:
		s.entered = v
		s.seen.steps = append(s.seen.steps, rehearsedStep{v})
	case fsm.EventEvaluate:
		p := s.placeOf(v)
		s.seen.verdicts = append(s.seen.verdicts, placedVerdict{&p, v.Verdict()})
	}
}

// placeOf returns where a visit is.
func (s *stage) placeOf(v *inspect.Visit) place {
	p := place{at: v.Number(), parts: partsOf(v)}
	p.loop, p.state = s.stateOf(v)
	return p
}

// partsOf returns the way to a visit.
func partsOf(v *inspect.Visit) (parts []part) {
	for i, above := range v.Above {
		parts = append(parts, part{name: above.State})
		if into := v.Into(i); into != "" {
			parts = append(parts, partInto(into))
		}
	}
	if !v.Inline {
		parts = append(parts, part{name: v.State})
	}
	return parts
}

// partInto returns a branch, or an item without its tries.
func partInto(name string) part {
	if n := fsm.ItemOf(name); n > 0 {
		return part{name: fmt.Sprintf("#%d", n), each: true}
	}
	return part{name: name}
}

// stateOf returns the state of a visit and its loop; nil where they are not known.
func (s *stage) stateOf(v *inspect.Visit) (*fsm.Loop, *fsm.State) {
	if v.Inline && len(v.Above) > 0 {
		last := len(v.Above) - 1
		l, st := s.stateOf(v.Above[last])
		if st != nil && st.Branches != nil {
			if b := st.Branches.Named(v.Into(last)); b != nil {
				return l, b.State
			}
		}
		return l, st // an item has the action of the state with the list
	}
	if l := s.loops[v.Loop]; l != nil {
		return l, l.States[v.State]
	}
	return nil, nil
}

// guards reports whether what is done at an address has a guard: of its state, or of a loop or state around it.
func (s *stage) guards(at string) bool {
	v := s.visits[at]
	if a, ok := fsm.ParseAddress(at); v == nil && ok { // an item
		a.Hops[len(a.Hops)-1].Branch = ""
		v = s.visits[a.String()]
	}
	if v == nil {
		return false
	}
	for _, x := range append(slices.Clone(v.Above), v) {
		l, st := s.stateOf(x)
		if l != nil && l.Guard.Limits() || st != nil && st.Guard.Limits() {
			return true
		}
	}
	return false
}

// find returns the place of an address.
func (s *stage) find(recorded string) (*place, error) {
	at := fsm.ShownAddress(recorded)
	if v := s.visits[at]; v != nil {
		p := s.placeOf(v)
		return &p, nil
	}
	if a, ok := fsm.ParseAddress(recorded); ok { // an item without states of its own
		last := &a.Hops[len(a.Hops)-1]
		into := last.Branch
		last.Branch = ""
		if v := s.visits[a.String()]; v != nil && into != "" {
			p := s.placeOf(v)
			p.at, p.parts = at, append(p.parts, partInto(into))
			return &p, nil
		}
	}
	return nil, fmt.Errorf("the run did something at %s, which no state was entered at", humanize.Quote(at))
}

// Run implements [fsm.Runner].
func (s *stage) Run(_ context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	res, err := s.act(a)
	if err == nil && out != nil && !a.Quiet && res.Stdout != "" { // it may wait for the machine, which may wait for us
		out(strings.TrimSuffix(res.Stdout, "\n"))
	}
	return res, err
}

func (s *stage) act(a fsm.Action) (fsm.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := a.At
	if at == "" {
		at = s.lists[a.State]
	}
	switch {
	case s.failed != nil:
		return fsm.Result{}, s.failed
	case a.Item == "/first": // it is asked whether the check fails before the first prompt
		return fsm.Result{ExitCode: 1}, nil
	case a.Git != "", at == "" && a.Quiet && a.Kind == fsm.KindShell: // git, about files that no action changes
		return fsm.Result{}, nil
	case at == "":
		return fsm.Result{},
			s.fail(fmt.Errorf("the state %s would ask a judge: its answer needs a verdict", humanize.Quote(a.State)))
	}
	p, err := s.find(at)
	if err != nil {
		return fsm.Result{}, s.fail(err)
	}
	s.seen.acts = append(s.seen.acts, placedAct{p, s.guards(p.at), len(a.Sandbox) > 0})
	res, err := s.Answers.act(p, a)
	if err != nil {
		return fsm.Result{}, s.fail(err)
	}
	return res, nil
}

// verdict decides what the answers say; see [fsm.World].
func (s *stage) verdict(l *fsm.Loop, st *fsm.State, cfg *fsm.Evaluate, ev fsm.Evidence) (fsm.Verdict, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.find(ev.At)
	if err != nil {
		_ = s.fail(err) // Record returns it
		return fsm.Verdict{Name: "error"}, true
	}
	p.loop, p.state = l, st
	v, decided, err := s.Answers.judge(p, cfg, ev)
	if err != nil {
		_ = s.fail(err)
		return fsm.Verdict{Name: "error"}, true
	}
	if !decided && cfg.Type == "for_each" {
		s.lists[st.Name] = ev.At
	}
	return v, decided
}

// Loop implements [fsm.Library].
func (s *stage) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	if s.Library == nil {
		return nil, errors.New("no loops can be found here")
	}
	found, err := s.Library.Loop(name, from)
	if err != nil {
		return nil, err
	}
	own := *found
	own.Backoff = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loops[own.Name] == nil {
		s.loops[own.Name] = &own
	}
	return &own, nil
}
