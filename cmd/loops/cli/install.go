package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/terminal"
)

func newInstallCommand(a *program) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "install NAME",
		Short: "Copy a loop of the catalog into the project",
		Long: `install copies the file of a loop of the catalog, the folder that the environment variable LOOPS_CATALOG or the setting
catalog names, to the same place below .loops. From then on its name means the copy, also for loops that run it.

Libraries of fragments and loops that it inherits from stay in the catalog, where the copy finds them. A copy that would
no longer find something, because it is beside the original, is not made.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "done"},
			exitMeaning{Code: exitFailed, Text: "the project has a loop of that name, or the copy cannot be written"},
			exitMeaning{Code: exitUsage, Text: "bad command line, or there is no catalog"},
			exitMeaning{Code: exitInvalid, Text: "the copy would not be valid"},
			exitMeaning{Code: exitNotFound, Text: "no such loop in the catalog"}),
		Example: `  loops install fix-quality
  loops list --json | jq -r '.[] | select(.catalog).name'`,
		Args: arguments(1, 1, "NAME of a loop of the catalog"),
		RunE: func(_ *cobra.Command, args []string) error { return runInstall(a, args[0], json) },
	}
	cmd.Flags().BoolVarP(&json, "json", "j", false, "print JSON")
	return cmd
}

func runInstall(a *program, name string, json bool) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	copied, err := app.InstallExample(p, name)
	if lacks, ok := errors.AsType[*app.IncompleteError](err); ok {
		fmt.Fprint(a.Err, a.render(p, lacks.Problems))
	}
	if err != nil {
		return err
	}
	if json {
		return terminal.WriteJSON(a.out, api.Installed{Loop: name, File: copied.To, From: copied.From})
	}
	terminal.Say(a.out, "Wrote %s, a copy of %s. To run it:\n  %s\n", p.Short(copied.To), p.Short(copied.From),
		a.command("run", name))
	return nil
}
