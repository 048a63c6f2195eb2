package cli

import (
	"context"
	"errors"
	"fmt"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/ui"
	"loops/persistence"
)

// A recordedLoop is the definition of a loop as one of its runs recorded it.
type recordedLoop struct {
	loop *fsm.Loop
	def  *project.Definition
	run  persistence.Run
}

// recorded returns the definition that the newest run of a loop recorded, or the run that is named; nil where there is none. It is asked where no
// file of the project is meant: the loop may have been run by its path.
func (a *app) recorded(ctx context.Context, p *project.Project, arg string) (*recordedLoop, error) {
	store, err := p.Records(ctx, false)
	if err != nil {
		if _, none := errors.AsType[*project.NoDatabaseError](err); none {
			return nil, nil
		}
		return nil, err
	}
	defer store.Close()
	f := store.Finder()
	run, err := f.Named(ctx, arg)
	if err == nil && run == nil {
		var runs []persistence.Run
		if runs, err = f.Loop(ctx, arg, 1); len(runs) > 0 {
			run = &runs[0]
		}
	}
	if err != nil || run == nil {
		return nil, err
	}
	def, err := store.ReadDefinition(ctx, run.ID)
	if err != nil && !errors.Is(err, persistence.ErrNotFound) {
		return nil, store.Failed(err)
	}
	main := def.Main()
	if main == nil {
		return nil, nil
	}
	l, err := main.Load()
	if err != nil {
		return nil, err
	}
	return &recordedLoop{l, def, *run}, nil
}

// orRecorded is [app.recorded] where err says that there is no file of that name; else it returns err.
func (a *app) orRecorded(ctx context.Context, p *project.Project, arg string, err error) (*recordedLoop, error) {
	if _, missing := errors.AsType[*project.LoopNotFoundError](err); !missing {
		return nil, err
	}
	r, problem := a.recorded(ctx, p, arg)
	switch {
	case problem != nil:
		return nil, problem
	case r == nil:
		return nil, err
	}
	if project.IsNamed(r.run, arg) {
		return r, nil
	}
	ui.Say(a.Err, "loops: no loop of the project has this name; this is %s as run %s recorded it\n", p.Short(r.loop.File), r.run.ID)
	return r, nil
}

// child returns the loop that a state runs, as it was recorded.
func (r *recordedLoop) child(name string, from *fsm.Loop) (*fsm.Loop, error) {
	if caller := r.def.Of(from.File); caller != nil {
		if known := r.def.Of(caller.Meant(name)); known != nil {
			return known.Load()
		}
	}
	return nil, fmt.Errorf("the run recorded no loop %s", name)
}
