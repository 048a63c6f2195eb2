package cli

import (
	"cmp"

	"github.com/spf13/cobra"
)

// refuseEmpty has every command below root refuse names that are empty. A script that writes loops rm "$RUN"
// where RUN is not set means no run, and above all not the newest one.
func refuseEmpty(root *cobra.Command) {
	completeVisit(root, func(cmd *cobra.Command) {
		check := cmd.Args
		if check == nil {
			if cmd.HasSubCommands() {
				return // it takes no arguments
			}
			check = cobra.ArbitraryArgs
		}
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			empty := cmp.Or(argvEmptyFlag(cmd.Flags()), argvEmptyArgument(args, completePlacesOf(cmd)))
			if empty == "" {
				return check(cmd, args)
			}
			err := usageError{empty, cmd.CommandPath() + " --help"}
			if cmd.HasParent() && cmd.Parent().Name() == "stage" {
				return stageFailure(err) // its exit codes are its own
			}
			return err
		}
	})
}
