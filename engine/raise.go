package engine

import (
	"context"
	"sync"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
)

// args are what a command to raise limits carries: by how much each, times in seconds.
func (f *Extend) args() *value.Map {
	args := value.NewMap()
	for _, k := range ExtendKinds {
		if by := f.By[k.Name]; by > 0 {
			args.Set(k.Name, by)
		}
	}
	return args
}

// raiseOf is what a command raises limits by. Of one that is not understood, that is nothing.
func raiseOf(c persistence.Command) fsm.Raise {
	by := func(name string) float64 {
		v, _ := c.Args.Get(name)
		switch v := v.(type) {
		case int64:
			return float64(v)
		case float64:
			return v
		}
		return 0
	}
	return fsm.Raise{
		Steps: int(by("steps")), Passes: int(by("passes")), CostUSD: by("cost"), Tokens: int64(by("tokens")),
		Prompts: int(by("prompts")),
		Time:    time.Duration(by("time") * float64(time.Second)),
	}
}

// amount is what a Raise has for a limit of this name.
func amount(by fsm.Raise, name string) float64 {
	switch name {
	case "steps":
		return float64(by.Steps)
	case "passes":
		return float64(by.Passes)
	case "cost":
		return by.CostUSD
	case "tokens":
		return float64(by.Tokens)
	case "prompts":
		return float64(by.Prompts)
	}
	return by.Time.Seconds()
}

// A numberedRaise is a Raise, and the number of the command that asked for it.
type numberedRaise struct {
	n   uint64
	by  fsm.Raise
	who string // "" = it is not known
}

// raisesBehind returns what commands ask for that the run has not taken: all extensions hold, whichever segment
// they met.
func raisesBehind(commands []persistence.Command, taken uint64) (all []numberedRaise) {
	for _, c := range commands {
		if c.Kind == persistence.CommandExtend && c.N > taken {
			all = append(all, numberedRaise{c.N, raiseOf(c), from(c)})
		}
	}
	return all
}

// raises are those asked for of a run that this process carries. It may be used by several goroutines at once.
type raises struct {
	mu  sync.Mutex
	all []numberedRaise // guarded by mu; those that were not taken, in their order
}

func (r *raises) add(all ...numberedRaise) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, all...)
}

// next fits fsm.Config.Raise.
func (r *raises) next(after uint64) (uint64, fsm.Raise, string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.all) > 0 {
		first := r.all[0]
		if first.n > after {
			return first.n, first.by, first.who, true
		}
		r.all = r.all[1:]
	}
	return 0, fsm.Raise{}, "", false
}

// taken is the number of the last command that raised a limit of a run which remembers m.
func taken(m *fsm.Snapshot) uint64 {
	if m.Raised == nil {
		return 0
	}
	return m.Raised.N
}

// withRaises returns the overrides of a run with its limits as they were raised while it was running: those it
// took in its last segment, which are not in its options, and those that nothing took yet. last is the number
// of the last of them, 0 = there are none. l is the loop without overrides.
func withRaises(over project.Overrides, l *fsm.Loop, run persistence.Run, m *fsm.Snapshot,
	commands []persistence.Command,
) (_ project.Overrides, last uint64) {
	by := m.Raised.In(run.Segment + 1)
	last = taken(m)
	for _, r := range raisesBehind(commands, last) {
		by, last = by.Plus(r.by), r.n
	}
	if by == (fsm.Raise{}) {
		return over, last
	}
	held, _ := over.Apply(l)
	for _, limit := range limitsInForce(held, m) {
		if more := amount(by, limit.name); more > 0 {
			limit.raise(&over, limit.most+more)
		}
	}
	return over, last
}

// extend asks the run to raise its limits, and waits a moment until it has: it does before it looks at one.
func (a *asking) extend(ctx context.Context, by Extend) error {
	r := a.Before
	if len(by.By) == 0 {
		return misuse(OpExtend, "nothing to raise: expected %s", ExtendForms)
	}
	if !alive(r) && r.Resumable {
		return refuse(NotFound, "run %s is not running; resume it with more: %s", r.ID,
			Do(OpResume, string(r.ID), Setting{SetExtend, by.String()}))
	}
	if err := a.obeys("extend", "extended"); err != nil {
		return err
	}
	lines, err := a.raised(ctx, by)
	if err != nil {
		return err
	}
	c, err := a.record(ctx, persistence.Command{
		Kind: persistence.CommandExtend, Segment: persistence.AnySegment,
		Args: by.args(),
	})
	if uncertain(err) {
		return a.notRecorded(err, "the request to extend")
	}
	if err != nil {
		return because(NotRecorded, err, "cannot extend run "+string(r.ID)+", because that cannot be recorded")
	}
	a.rouse(persistence.CommandExtend)
	a.Raised = lines
	_, err = until(ctx, extendWait, func() (bool, error) {
		m, err := a.store.Snapshot(ctx, a.id)
		if m != nil && taken(m) >= c.N {
			a.Taken = true
		}
		if err != nil {
			err = a.store.Failed(err)
		}
		return a.Taken, err
	})
	return a.look(ctx, err)
}

// raised says what limits the run has with so much more, and refuses what would help nothing.
func (a *asking) raised(ctx context.Context, by Extend) ([]Text, error) {
	m, err := a.store.Snapshot(ctx, a.id)
	if err != nil {
		return nil, a.store.Failed(err)
	}
	commands, err := a.store.AllCommands(ctx, a.id)
	if err != nil {
		return nil, a.store.Failed(err)
	}
	def := a.store.KeptDefinition(ctx, a.id)
	if def == nil {
		return nil, refuse(Invalid, "the definition of run %s was not recorded with it, or can no longer be read, "+
			"so its limits are not known", a.id)
	}
	l, err := def.Main().Load()
	if err != nil {
		return nil, refuse(Invalid, "%v", err)
	}
	conf, err := a.e.p.Config()
	if err != nil {
		return nil, err
	}
	over := project.Overrides{Config: conf}.Over(a.Before.Options)
	over, _ = withRaises(over, l, a.Before, m, commands)
	held, _ := over.Apply(l)
	return by.raise(&over, held, m, OpExtend)
}
