package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/terminal"
)

type newOptions struct {
	name, from   string
	list, stdout bool
	json         bool
}

func newNewCommand(a *program) *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use:   "new NAME --from PATTERN",
		Short: "Write a new loop from a pattern",
		Long: `new writes .loops/NAME.yaml from a pattern: a short loop with comments that say what to change. It runs as it is;
agent and agent-with-judge want an agent CLI (loops doctor) and a git repository. Existing files are never overwritten.

The first line of the file tells an editor with a YAML language server where the schema is, so that it completes and
checks keys. new writes the schema to .loops/.schema, and anew where it has changed. In a git repository without a
.loops/.gitignore it writes one that names what loops records, and not the loops.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "the loop was written"},
			exitMeaning{Code: exitFailed, Text: "there is such a loop, or it cannot be written"},
			exitMeaning{
				Code: exitUsage,
				Text: "bad command line, such as an unknown pattern or a name that makes no file name",
			}),
		Example: `  loops new --list
  loops new tidy --from fix-until-clean
  loops new fix-tests --from agent
  loops new team/deploy --from sequence --stdout`,
		Args: arguments(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.name = args[0]
			}
			return runNew(a, o, len(args) > 0)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.from, "from", "", "the `PATTERN` to start from")
	flags.BoolVar(&o.list, "list", false, "list the patterns, and write nothing")
	flags.BoolVarP(&o.json, "json", "j", false, "print JSON")
	flags.BoolVar(&o.stdout, "stdout", false, "print the loop, and write nothing")
	return cmd
}

func runNew(a *program, o newOptions, named bool) error {
	switch {
	case o.json && o.stdout:
		return usageError{"--stdout prints the loop as YAML: leave out --json", "loops new --help"}
	case o.list && o.json:
		return terminal.WriteJSON(a.out, app.StarterObjects())
	case o.list:
		return app.ListStarters(a.out)
	case !named:
		return usageError{"missing argument: NAME of the new loop", "loops new --help"}
	case o.from == "":
		return usageError{
			"missing flag: --from PATTERN (" + strings.Join(app.StarterNames, ", ") + ")",
			"loops new --list",
		}
	}
	text, err := app.StarterText(o.from, o.name)
	if err != nil {
		return a.refused(err)
	}
	if o.stdout {
		_, err := a.out.Write([]byte(text))
		return err
	}
	p, err := a.project()
	if err != nil {
		return err
	}
	files, err := app.WriteLoop(p, o.from, o.name, text)
	if err != nil {
		return err
	}
	if o.json {
		return terminal.WriteJSON(a.out, api.Written{Loop: o.name, File: files[0], Pattern: o.from, Parts: files[1:]})
	}
	for _, part := range files[1:] {
		terminal.Say(a.out, "Wrote %s, which it runs.\n", p.Short(part))
	}
	terminal.Say(a.out, "Wrote %s. To run it:\n  %s\nAfter every change, to be shown all mistakes:\n  %s\n",
		p.Short(files[0]), a.prefixed(app.FirstCommand(text)), a.command("validate", o.name))
	return nil
}

// prefixed returns a command line of loops with -C if this one had it.
func (a *program) prefixed(line string) string {
	return strings.TrimSuffix(a.command("."), ".") + strings.TrimPrefix(line, "loops ")
}
