package cli

import (
	"github.com/spf13/cobra"

	"loops/fsm/loopfile"
	"loops/internal/api"
)

func newSchemaCommand(a *program) *cobra.Command {
	var command string
	var tests bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of loop files, for editors",
		Long: `schema prints the JSON Schema (draft 2020-12) of loop files. An editor with a YAML language server then completes
and explains keys, and underlines mistakes while you type. Write it to a file and name that file in the first line of
a loop, relative to the loop:

  # yaml-language-server: $schema=loop.schema.json

"loops validate" finds more than a schema can: names that do not exist, mistakes inside texts and in other files.
--tests prints the schema of files of tests, NAME.test.yaml. --json-output prints
the schema of what a command prints with --json instead; docs/json.md shows the same.` +
			exitHelp(exitOK, exitFailed, exitUsage),
		Example: "  loops schema > .loops/loop.schema.json\n  loops schema --json-output runs",
		Args:    arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if tests && command != "" {
				return usageError{"--tests and --json-output exclude each other", "loops schema --help"}
			}
			if tests {
				_, err := a.out.Write(loopfile.SuiteSchema())
				return err
			}
			if command != "" {
				text, err := api.SchemaText(command)
				if err != nil {
					return usageError{"--json-output: " + err.Error(), "loops schema --help"}
				}
				_, err = a.out.Write(text)
				return err
			}
			var types loopfile.Types
			if p, err := a.project(); err == nil {
				types = p.ActionTypes()
			}
			_, err := a.out.Write(loopfile.Schema(types))
			return err
		},
	}
	cmd.Flags().BoolVar(&tests, "tests", false, "print the schema of files of tests")
	cmd.Flags().StringVar(&command, "json-output", "", "print the schema of what `COMMAND` prints with --json")
	return cmd
}
