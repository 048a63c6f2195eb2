package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/cmd/loops/cli/complete"
)

// values are the places of arguments that hold a text, which may be empty, and not the name of something.
var values = []string{"INPUT", "JSON"}

// refuseEmpty has every command below root refuse names that are empty. A script that writes loops rm "$RUN" where RUN is not
// set means no run, and above all not the newest one.
func refuseEmpty(root *cobra.Command) {
	complete.Visit(root, func(cmd *cobra.Command) {
		check := cmd.Args
		if check == nil {
			if cmd.HasSubCommands() {
				return // it takes no arguments
			}
			check = cobra.ArbitraryArgs
		}
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := emptyFlag(cmd)
			if err == nil {
				err = emptyArgument(cmd, args)
			}
			switch {
			case err == nil:
				return check(cmd, args)
			case cmd.HasParent() && cmd.Parent().Name() == "stage":
				return stageFailure(err) // its exit codes are its own
			}
			return err
		}
	})
}

// emptyArgument is the error of the first argument that is empty and stands for a name.
func emptyArgument(cmd *cobra.Command, args []string) error {
	places := complete.PlacesOf(cmd)
	for i, arg := range args {
		place := "an argument"
		if len(places) > 0 {
			place, _ = strings.CutSuffix(places[min(i, len(places)-1)], "...")
		}
		if strings.TrimSpace(arg) == "" && !slices.Contains(values, place) {
			return usageError{place + " is empty; is it a variable that is not set?", cmd.CommandPath() + " --help"}
		}
	}
	return nil
}

// emptyFlag is the error of the first flag that was given an empty text.
func emptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err != nil {
			return
		}
		given := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			given = list.GetSlice()
		}
		if len(given) == 0 || slices.ContainsFunc(given, func(text string) bool { return strings.TrimSpace(text) == "" }) {
			text := fmt.Sprintf("--%s is empty: leave it out to have what is the default; is it a variable that is not set?", f.Name)
			err = usageError{text, cmd.CommandPath() + " --help"}
		}
	})
	return err
}
