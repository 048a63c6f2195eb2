package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"loops/internal/config"
)

// newConfigCommand is "loops config", whose help is the reference of the settings.
func newConfigCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "What can be set for a project and for a person",
		Long: `Settings stand in files of YAML: .loops/config.yaml for a project, and $XDG_CONFIG_HOME/loops/config.yaml, or
~/.config/loops/config.yaml, for all projects of a person. What wins, from the lowest:

  the defaults, .ll/ll-config.json of the reference tool, the person's file, the project's file, the environment
  ("loops help environment"), the command line

So a project's file wins over a person's, as in git. Files are laid over each other key by key: hosts by their names, and
the lists of notify hold together. The word none takes back what a lower file says. What a loop says of itself (host,
model, backoff, budget) wins over files and the environment, but for permissions: host.

Keys:

` + keyTable() + `

A mistake in a file keeps every run from starting: "loops validate" and "loops config show" name it. "loops help store"
says what a store is; docs/config.md has an example of every key.` + exitCodes(exitOK, exitUsage),
		Example: `  loops config show --origin
  loops validate`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.addStore(newConfigShowCommand(a)))
	return cmd
}

// keyTable lists the keys, what they mean and their defaults.
func keyTable() string {
	var b strings.Builder
	for _, k := range config.Keys() {
		text := k.Means
		if k.Default != "" {
			text += " Default: " + k.Default + "."
		}
		fmt.Fprintf(&b, "  %-22s %s\n", k.Name, text)
	}
	return strings.TrimRight(b.String(), "\n")
}
