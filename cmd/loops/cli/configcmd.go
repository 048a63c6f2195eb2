package cli

import (
	"github.com/spf13/cobra"
)

// newConfigCommand is "loops config", whose help is the reference of the settings.
func newConfigCommand(a *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Explain settings, and print the current ones",
		Long: `Settings are in YAML files: .loops/config.yaml for a project, and $XDG_CONFIG_HOME/loops/config.yaml, or
~/.config/loops/config.yaml, for all projects of a user. From the lowest to the highest precedence:

  the defaults
  .ll/ll-config.json of little-loops
  the user's file
  the project's file
  the environment: loops help environment
  the command line

Files are merged key by key: hosts by their names, and the lists of notify are joined. The word none removes what a lower
file sets. What a loop sets itself (host, model, backoff, budget) wins over files and the environment, except for
permissions: host.

loops help settings lists the keys. A mistake in a file keeps every run from starting; "loops validate" and "loops config
show" print it.` + exitHelp(exitOK, exitUsage),
		Example: `  loops config show --origin
  loops validate`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.addStore(newConfigShowCommand(a)))
	return cmd
}
