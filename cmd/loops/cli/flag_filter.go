package cli

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"loops/cmd/loops/cli/complete"
	"loops/engine"
	"loops/internal/ui"
	"loops/internal/ui/filter"
)

// addFilters gives the commands with --json the flags --jq and --template, which imply it.
func addFilters(a *app, root *cobra.Command) {
	complete.Visit(root, func(cmd *cobra.Command) {
		asJSON, run := cmd.Flags().Lookup("json"), cmd.RunE
		if asJSON == nil || asJSON.Value.Type() != "bool" || run == nil {
			return
		}
		var program, text string
		cmd.Flags().StringVar(&program, "jq", "", "print what the jq program `EXPR` makes of the JSON")
		cmd.Flags().StringVar(&text, "template", "", "print what the Go template `TEXT` makes of the JSON")
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			f, err := chosenFilter(cmd, program, text)
			if err != nil {
				return err
			}
			if f == nil {
				return run(cmd, args)
			}
			if err := cmd.Flags().Set("json", "true"); err != nil {
				return err
			}
			return a.filtered(cmd, f, func() error { return run(cmd, args) })
		}
	})
}

// chosenFilter returns the filter that the flags ask for; nil where they ask for none.
func chosenFilter(cmd *cobra.Command, program, text string) (filter.Filter, error) {
	see := cmd.CommandPath() + " --help"
	jq, template := cmd.Flags().Changed("jq"), cmd.Flags().Changed("template")
	switch {
	case jq && template:
		return nil, usageError{"--jq and --template exclude each other", see}
	case jq:
		f, err := filter.JQ(program)
		if err != nil {
			return nil, usageError{"--jq: " + err.Error(), see}
		}
		return f, nil
	case template:
		f, err := filter.Template(text)
		if err != nil {
			return nil, usageError{"--" + strings.TrimPrefix(err.Error(), "template: --"), see}
		}
		return f, nil
	}
	return nil, nil
}

// filtered runs a command and prints what a filter makes of the JSON that it writes, as it comes. A filter that fails does not end
// what the command does.
func (a *app) filtered(cmd *cobra.Command, f filter.Filter, run func() error) error {
	printed, stdout := a.out, a.Out
	err, bad := f.Around(cmd.Context(), printed, func(to io.Writer) error {
		a.Out, a.out = to, ui.NewBatchedSink(to)
		return errors.Join(run(), a.out.Close())
	})
	a.Out, a.out = stdout, printed
	if err == nil && bad != nil {
		return failure(engine.Failed, "the JSON cannot be filtered: %v", bad)
	}
	return err
}
