package cli

import (
	"github.com/spf13/cobra"
)

// noSuchCommand refuses words after a group of commands that are not one of its commands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{helpNoCommand(args[0], helpNear(cmd, args[0])), cmd.CommandPath() + " --help"}
}
