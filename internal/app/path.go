package app

import (
	"context"
	"fmt"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/persistence"
)

// A Tell receives what is damaged in the records of a run, and what that means: "reading continues after it".
type Tell func(damage error, then string)

// readOn is what damage means where all events are read.
const readOn = "reading continues after it"

// Path reads what a run did, and gives its visits to reader.Done as they end: there can be more of them than memory has
// room for. Damage is passed to tell, and what is after it is read.
func Path(ctx context.Context, f project.Finder, r persistence.Run, reader *inspect.Reader, tell Tell) (*inspect.Path,
	error,
) {
	known, err := f.Project.Pricer()
	if err != nil {
		return nil, err
	}
	p := &inspect.Path{Run: r, Costs: &inspect.CostSheet{Prices: known}}
	persistence.CountReads(ctx, 1)
	err = eachEvent(ctx, f, r, tell, func(e fsm.Event) { p.Add(e, reader.Add(e)) })
	if err != nil {
		return nil, err
	}
	reader.Close()
	return p, nil
}

// eachEvent goes through the events of a run, past what is damaged.
func eachEvent(ctx context.Context, f project.Finder, r persistence.Run, tell Tell, each func(fsm.Event)) error {
	damage := 0
	for e, err := range f.Store.EventsOf(ctx, r, 0) {
		if project.IsDamage(err) {
			if damage++; damage <= 10 {
				tell(err, readOn)
			}
			continue
		}
		if err != nil {
			return f.Store.Failed(err)
		}
		each(e)
	}
	return nil
}

// A Rulebook has the rules that a run follows from what is recorded with the run, or from the loop files as
// they are now.
type Rulebook struct {
	def *project.Definition // as recorded with the run; nil = not, or not to be read
	// the loop files as they are now, of the sub-loops where nothing is recorded; nil = not known
	now  fsm.Library
	main *fsm.Loop // nil = not known
	subs map[string]*fsm.Loop
	Note string // what there is to say about where main is from
}

// RulebookOf returns the definition of a run: the one that is recorded with it, else the file it was made of as
// it is now.
func RulebookOf(ctx context.Context, f project.Finder, r persistence.Run) *Rulebook {
	b := &Rulebook{def: f.Store.DefinitionOf(ctx, r), subs: map[string]*fsm.Loop{}}
	l, path := f.Ran(r, b.def)
	switch {
	case l == nil:
		b.Note = "The definition it ran is not recorded, and no such loop exists now: rules are not named."
		return b
	case path != "" && r.SHA256 != l.SHA256:
		b.Note = fmt.Sprintf("The definition it ran is not recorded: rules and limits are those of %s as it is now.",
			f.Project.Short(path))
	}
	b.main = given(l, r)
	if b.def == nil {
		if lib, err := f.Project.Library(); err == nil { // what is wrong with it is said where it is used for a run
			b.now = lib.Subloops(project.Overrides{}, nil)
		}
	}
	return b
}

// given returns the loop with the cap that the run was given on the command line.
func given(l *fsm.Loop, r persistence.Run) *fsm.Loop {
	if r.MaxSteps == 0 || r.MaxSteps == l.MaxSteps {
		return l
	}
	with := *l
	with.MaxSteps = r.MaxSteps
	return &with
}

// Main returns the loop that the run is of, nil where it is not known.
func (b *Rulebook) Main() *fsm.Loop { return b.main }

// Of returns the loop that a visit belongs to, nil where it is not known.
func (b *Rulebook) Of(v *inspect.Visit) *fsm.Loop {
	l := b.main
	for i, above := range v.Above {
		if l == nil || l.States[above.State] == nil {
			return nil
		}
		name, inline := l.Ran(above.State, v.Into(i))
		switch {
		case inline != nil:
			l = inline
		case name == "":
			return nil
		case b.now != nil:
			l = b.asItIsNow(name, l)
		default:
			l = b.recorded(name, l)
		}
	}
	return l
}

// recorded returns a sub-loop that a loop names, as it is recorded with the run; nil where it is not.
func (b *Rulebook) recorded(name string, from *fsm.Loop) *fsm.Loop {
	files := b.def.Of(from.File)
	if files == nil {
		return nil
	}
	file := files.Meant(name)
	if _, loaded := b.subs[file]; !loaded {
		b.subs[file] = nil
		if known := b.def.Of(file); known != nil {
			b.subs[file], _ = known.Load() // one that a former version took may be wrong now
		}
	}
	return b.subs[file]
}

// asItIsNow returns a sub-loop that a loop names, from its file; nil where that cannot be loaded.
func (b *Rulebook) asItIsNow(name string, from *fsm.Loop) *fsm.Loop {
	key := from.File + "\x00" + name
	if _, loaded := b.subs[key]; !loaded {
		b.subs[key], _ = b.now.Loop(name, from)
	}
	return b.subs[key]
}
