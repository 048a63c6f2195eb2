package app

import (
	"context"
	"errors"
	"fmt"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/persistence"
)

// A RecordedLoop is the definition of a loop as one of its runs recorded it.
type RecordedLoop struct {
	Loop *fsm.Loop
	Def  *project.Definition
	Run  persistence.Run
}

// Recorded returns the definition that the newest run of a loop recorded, or the run that is named; nil where
// there is none. It is asked where no file of the project is meant: the loop may have been run by its path.
func Recorded(ctx context.Context, p *project.Project, arg string) (*RecordedLoop, error) {
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
	return &RecordedLoop{l, def, *run}, nil
}

// LoopOf returns the loop that a run recorded; nil where it is not known.
func LoopOf(ctx context.Context, open func() (*project.Project, error), id persistence.ID) *fsm.Loop {
	p, err := open()
	if err != nil {
		return nil
	}
	if r, err := Recorded(ctx, p, string(id)); err == nil && r != nil {
		return r.Loop
	}
	return nil
}

// Child returns the loop that a state runs, as it was recorded.
func (r *RecordedLoop) Child(name string, from *fsm.Loop) (*fsm.Loop, error) {
	if caller := r.Def.Of(from.File); caller != nil {
		if known := r.Def.Of(caller.Meant(name)); known != nil {
			return known.Load()
		}
	}
	return nil, fmt.Errorf("the run recorded no loop %s", name)
}

// Document returns the definition of a loop that was recorded, by its file.
func (r *RecordedLoop) Document(file string) (*value.Map, error) {
	known := r.Def.Of(file)
	if known == nil {
		return nil, fmt.Errorf("the run recorded no loop of the file %s", file)
	}
	return loopfile.Document(file, known.Text())
}
