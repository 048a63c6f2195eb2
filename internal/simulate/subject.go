package simulate

import (
	"sync"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// A Subject is a loop that is to be tried out.
type Subject struct {
	project *project.Project
	Loop    *fsm.Loop
	Values  *value.Map // the context it would begin with
	library fsm.Library
}

// Subject finds a loop and the context that run would give it.
func (d *Desk) Subject(name string, input *string, pairs []string, over project.Overrides, quiet bool) (*Subject,
	error,
) {
	p := d.Project
	l, err := engine.Load(p, name, d.Warn(quiet))
	if err != nil {
		return nil, d.Shown(err)
	}
	lib, err := p.Library()
	if err != nil {
		return nil, err
	}
	l, _ = over.Apply(l)
	values, err := engine.Seed(l, input, pairs)
	if err != nil {
		return nil, err
	}
	engine.New(p, d.Options).Unused(l, input, pairs, d.Warn(quiet))
	engine.Fill(values, l, engine.PlannedRunDir(p, l))
	return &Subject{
		p, l, values,
		&readOnce{lib: lib.Subloops(over, nil), loops: map[[2]string]func() (*fsm.Loop, error){}},
	}, nil
}

// State returns a state by its name, or says that there is none.
func (r *Subject) State(name string, see engine.Operation) (*fsm.State, error) {
	if st := r.Loop.States[name]; st != nil {
		return st, nil
	}
	return nil, engine.Misuse(see, "there is no state %s in %s%s", humanize.Quote(name), r.project.Short(r.Loop.File),
		humanize.DidYouMean(name, r.Loop.Order))
}

// A readOnce is a library whose files do not change while it is used: nothing is run that could change them.
type readOnce struct {
	lib   fsm.Library
	loops map[[2]string]func() (*fsm.Loop, error) // by name and the file that uses it
}

// Loop implements [fsm.Library].
func (r *readOnce) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	key := [2]string{name, from.File}
	if r.loops[key] == nil {
		r.loops[key] = sync.OnceValues(func() (*fsm.Loop, error) { return r.lib.Loop(name, from) })
	}
	return r.loops[key]()
}
