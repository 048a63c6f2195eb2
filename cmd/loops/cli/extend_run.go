package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/app"
	"loops/internal/terminal"
	"loops/internal/view"
)

type extendOptions struct {
	name string
	by   engine.Extend
	json bool
}

func newExtendCommand(a *program) *cobra.Command {
	var o extendOptions
	cmd := &cobra.Command{
		Use:   "extend NAME|RUN LIMIT=N...",
		Short: "Raise the limits of a running run",
		Long: `extend raises limits of the run RUN, or of every running run of the loop NAME, by N: steps, passes, cost (US
dollars), tokens,
prompts or time. The action in flight is not interrupted. The new limits are recorded before the command returns, so a
run whose process dies is resumed with them.

To raise a limit of a run that has stopped at it: loops resume --extend LIMIT=N.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops extend fix steps=20
  loops extend fix-20261121T103405 cost=2 time=1h`,
		Args: arguments(2, -1, "NAME of a loop or id of a RUN, and LIMIT=N, such as steps=20"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if err := o.by.Set(strings.Join(args[1:], ",")); err != nil {
				return usageError{err.Error(), "loops extend --help"}
			}
			return runExtend(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array")
	return cmd
}

func runExtend(ctx context.Context, a *program, o extendOptions) error {
	return a.ask(func(s *app.Service) error {
		var each app.Each
		if !o.json {
			each = func(e engine.Effect) {
				for _, line := range view.ExtendedLines(a.page(), e) {
					terminal.SayLine(a.out, line)
				}
			}
		}
		told, err := s.Extend(ctx, o.name, o.by, each)
		if o.json && told != nil {
			return a.withJSON(told.ExtendObjects(a.page()), err)
		}
		return err
	})
}

// checkExtend refuses a limit that another flag sets.
func checkExtend(f *engine.Extend, cmd *cobra.Command, budget project.Budget) error {
	for _, k := range engine.ExtendKinds {
		if f.By[k.Name] == 0 {
			continue
		}
		other := ""
		if _, set := budget.Limits[k.Key]; set {
			other = "--budget"
		}
		if k.Flag != "" && cmd.Flags().Changed(k.Flag) {
			other = "--" + k.Flag
		}
		if other != "" {
			return usageError{
				fmt.Sprintf("--extend %s and %s exclude each other: one raises the limit, the other sets it", k.Name,
					other), cmd.CommandPath() + " --help",
			}
		}
	}
	return nil
}
