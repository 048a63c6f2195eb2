package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"loops/internal/api"
	"loops/internal/humanize"
	"loops/persistence/checkpoint"
)

// Stages are the stages of a script in a directory. A note says what is damaged there, and what happens to it.
type Stages struct{ in *checkpoint.Stages }

// OpenStages returns the stages in a directory.
func OpenStages(dir string) Stages { return Stages{checkpoint.OpenStages(dir)} }

// CheckStage returns why a text is no name of a stage.
func CheckStage(name string) error { return checkpoint.CheckStage(name) }

// Begin begins a script, or continues one.
func (s Stages) Begin(ctx context.Context) (o api.StagesBegun, note string, err error) {
	b, err := s.in.Begin(ctx)
	o = api.StagesBegun{Resume: b.Resume, RunDate: b.RunDate, Completed: b.Completed}
	if errors.Is(err, checkpoint.ErrDamaged) {
		then := "; starting afresh"
		if b.Resume {
			then = "; to be done again"
		}
		return o, humanize.OneLine(err) + then, nil
	}
	return o, "", err
}

// Save saves the value of a stage.
func (s Stages) Save(ctx context.Context, name string, val []byte) (note string, err error) {
	err = s.in.Save(ctx, name, val)
	damage, _ := errors.AsType[*checkpoint.DamageError](err)
	switch {
	case errors.Is(err, checkpoint.ErrNotJSON):
		return "", fmt.Errorf("stage %s was not saved, its value is %s", name, humanize.OneLine(err))
	case damage != nil && damage.Kept != "":
		return humanize.OneLine(err) + "; it is kept as " + filepath.Base(damage.Kept) +
			", and a new one begins with stage " + name, nil
	case err != nil:
		return "", fmt.Errorf("stage %s was not saved: %s", name, humanize.OneLine(err))
	}
	return "", nil
}

// Load returns the value of a completed stage; done reports whether there is one.
func (s Stages) Load(ctx context.Context, name string) (val []byte, done bool, err error) {
	val, err = s.in.Load(ctx, name)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return nil, false, nil
	case errors.Is(err, checkpoint.ErrDamaged):
		return nil, false, fmt.Errorf("%s; after loops stage begin it can be done again", humanize.OneLine(err))
	}
	return val, true, err
}

// Done clears all stages.
func (s Stages) Done(ctx context.Context) (note string, err error) {
	if err = s.in.Done(ctx); errors.Is(err, checkpoint.ErrDamaged) {
		return humanize.OneLine(err) + "; it is removed, but the values of its stages stay as files that " +
			"count for nothing", nil
	}
	return "", err
}
