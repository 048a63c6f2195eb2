package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/terminal"
)

type storeRolesOptions struct {
	allow, deny []string
	dryRun      bool
}

func newStoreRolesCommand(a *program) *cobra.Command {
	var o storeRolesOptions
	cmd := &cobra.Command{
		Use:   "roles",
		Short: "Make the roles of a database, and say who may submit",
		Long: `roles makes three roles in the database of PostgreSQL where the runs are recorded, and the tables if need be. Users of the
database are made members of them:

  loops_submit   may submit runs to the queues that --allow lists, and read nothing
  loops_worker   may carry runs: read and write the tables
  loops_read     may read the views loops_runs, loops_queues and loops_workers

It is given by the owner of the tables, who may make roles, and again after an upgrade of loops. --allow makes the user a
member of loops_submit, too; GRANT loops_worker TO USER makes a worker. All is done, or nothing.` + exitHelp(exitOK, exitFailed, exitUsage, exitRecord),
		Example: `  loops store roles --allow default=ann --allow nightly=ann
  loops store roles --deny nightly=ann
  loops store roles --dry-run`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return runStoreRoles(cmd.Context(), a, o) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.allow, "allow", nil, "let a user submit to a queue: `QUEUE=USER`, *=USER for all")
	flags.StringArrayVar(&o.deny, "deny", nil, "take that back: `QUEUE=USER`")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the statements as SQL, and do nothing")
	return cmd
}

func runStoreRoles(ctx context.Context, a *program, o storeRolesOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	statements, err := app.ApplyGrants(ctx, p, o.allow, o.deny, o.dryRun)
	switch {
	case err != nil:
		return a.refused(err)
	case o.dryRun:
		terminal.SayLines(a.out, terminal.Block(strings.Join(statements, ";\n")+";"))
	default:
		terminal.Say(a.out, "The roles loops_submit, loops_worker and loops_read are up to date.\n")
	}
	return nil
}
