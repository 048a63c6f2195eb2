package cli

import (
	"github.com/spf13/cobra"
)

// What the files of a project and of a person say holds where the command line and the environment say nothing,
// and, for what a loop can say of itself, where the loop does not. Here it is brought in.

// configuredColor is what the files say about colours; "" where they do not, or the command line does.
func (a *program) configuredColor() string {
	if a.colorGiven {
		return ""
	}
	p, err := a.project()
	if err != nil {
		return "" // the code that needs the project reports the error
	}
	c, _ := p.Declared()
	return c.Color
}

// fillView takes what the files say of what a run prints where the command line does not.
func (a *program) fillView(cmd *cobra.Command, v *viewFlags) {
	if cmd.Flags().Changed("quiet") || cmd.Flags().Changed("verbose") {
		return
	}
	p, err := a.project()
	if err != nil {
		return
	}
	c, _ := p.Declared()
	v.quiet, v.verbose = c.Output == "quiet", c.Output == "verbose"
}
