package cli

import (
	"github.com/spf13/cobra"

	"loops/fsm/loopfile"
)

func newSchemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of loop files, for editors",
		Long: `schema prints the JSON Schema (draft 2020-12) of loop files. An editor with a YAML language server then completes
and explains keys, and underlines mistakes while you type. Write it to a file and name that file in the first line of
a loop, relative to the loop:

  # yaml-language-server: $schema=loop.schema.json

"loops validate" sees more than a schema can: whether names lead somewhere, what texts and other files hold.` +
			exitCodes(exitOK, exitFailed, exitUsage),
		Example: "  loops schema > .loops/loop.schema.json",
		Args:    arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			var types loopfile.Types
			if p, err := a.project(); err == nil {
				types = p.ActionTypes()
			}
			_, err := a.out.Write(loopfile.Schema(types))
			return err
		},
	}
}
