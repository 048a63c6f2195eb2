package cli

import (
	"context"

	"loops/engine/project"

	"github.com/spf13/cobra"
)

// addStore gives a command that touches runs its flag --store.
func (a *program) addStore(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.store, "store", "",
		"where runs are recorded: `URL` is dir, sqlite:PATH or postgres://USER@HOST/NAME (default: $"+
			project.EnvStore+", the config, or dir)")
	return cmd
}

// open returns the project and its records, to look at.
func (a *program) open(ctx context.Context) (*project.Project, *project.Records, error) {
	p, err := a.project()
	if err != nil {
		return nil, nil, err
	}
	r, err := p.Records(ctx, false)
	return p, r, err
}
