package cli

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/terminal"
)

// addFilters gives the commands with --json the flags --jq and --template, which imply it.
func addFilters(a *program, root *cobra.Command) {
	completeVisit(root, func(cmd *cobra.Command) {
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
func chosenFilter(cmd *cobra.Command, program, text string) (terminal.Filter, error) {
	see := cmd.CommandPath() + " --help"
	jq, template := cmd.Flags().Changed("jq"), cmd.Flags().Changed("template")
	switch {
	case jq && template:
		return nil, usageError{"--jq and --template exclude each other", see}
	case jq:
		f, err := terminal.JQFilter(program)
		if err != nil {
			return nil, usageError{"--jq: " + err.Error(), see}
		}
		return f, nil
	case template:
		f, err := terminal.TemplateFilter(text)
		if err != nil {
			return nil, usageError{"--" + strings.TrimPrefix(err.Error(), "template: --"), see}
		}
		return f, nil
	}
	return nil, nil
}

// filtered runs a command and prints what a filter makes of the JSON that it writes, as it comes. A filter that
// fails does not end what the command does.
func (a *program) filtered(cmd *cobra.Command, f terminal.Filter, run func() error) error {
	printed, stdout := a.out, a.Out
	err, bad := f.Around(cmd.Context(), printed, func(to io.Writer) error {
		a.Out, a.out = to, terminal.NewBatchedSink(to)
		return errors.Join(run(), a.out.Close())
	})
	a.Out, a.out = stdout, printed
	if err == nil && bad != nil {
		return failure(engine.Failed, "the JSON cannot be filtered: %v", bad)
	}
	return err
}
