package cli

import (
	"github.com/spf13/cobra"
)

// storeHelp says which stores there are.
const storeHelp = `Runs are recorded where --store says, else where the environment variable LOOPS_STORE says, else where the key store of
the config says ("loops help config"), else in files:

  dir                          files under .loops, which little-loops can read
  sqlite:PATH                  one file of SQLite; a PATH that is not absolute is relative to the project directory
  postgres://USER@HOST/NAME    a database of PostgreSQL, with the parameters that its clients know

A database belongs to one project. One of PostgreSQL can give each project a schema of its own with the parameter
search_path; it is created if it does not exist. The URL of a database can have the parameter lease: how long the owner
of a run may be silent before another process takes the run over, such as ?lease=1m (default: 30s).

Loop files, and the working folders of runs, are under .loops in any case. Runs in different stores do not see each
other's scopes. What an action of a run starts is recorded in the same store as the run.`

func newStoreCommand(a *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Explain where runs are recorded, copy them, and say who may",
		Long:  storeHelp + exitHelp(exitOK, exitUsage),
		Example: `  loops run fix --store sqlite:.loops/runs.db
  LOOPS_STORE=postgres://me@db.example/runs loops list --running
  loops store copy dir sqlite:.loops/runs.db`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStoreCopyCommand(a), a.addStore(newStoreRolesCommand(a)))
	return cmd
}
