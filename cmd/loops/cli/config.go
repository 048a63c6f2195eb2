package cli

import (
	"errors"
	"path/filepath"

	"loops/internal/config"
)

// config reads what a project's people declared. A mistake in it keeps every run from starting, whether or not it would
// matter to this one: half a config would choose another agent than the one that was meant.
func (a *app) config(p project) (*config.Config, error) {
	file := filepath.Join(p.Loops, config.Name)
	c, err := config.Load(file)
	var wrong config.Problems
	switch {
	case errors.As(err, &wrong):
		for i := range wrong {
			wrong[i].File = p.short(file)
		}
		return nil, failure(exitInvalid, "%s has mistakes; nothing was started:\n%v", p.short(file), wrong)
	case err != nil:
		return nil, failure(exitInvalid, "%s cannot be read: %v", p.short(file), errnoText(err))
	}
	return c, nil
}
