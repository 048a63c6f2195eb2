package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/app"
)

func newUnblockCommand(a *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "unblock NAME",
		Short: "Continue the runs that a login, a bill or a program suspended",
		Long: `unblock says that you did what suspended runs need, such as a login: all runs that were suspended by NAME continue in the
background, and other runs use it again. NAME is an agent (claude), a model of one (claude/haiku), the server of a tool
(mcp:github), a server of git (git:example.com) or the host of an address (api.example.com), as loops list --suspended
shows it. loops serve, loops schedule and loops sweep --wake ask an agent every five minutes and do the same when it answers.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  claude auth login
  loops unblock claude`,
		Args: arguments(1, 1, "NAME, what runs were suspended by"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ask(func(s *app.Service) error {
				return s.PrintUnblocked(cmd.Context(), args[0], asJSON,
					func(ctx context.Context, request engine.Request) error {
						_, err := (&served{app: a}).beginDetached(ctx, request,
							[]string{"resume", request.Resume.Run, "--park"})
						return err
					})
			})
		},
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print a JSON object")
	return cmd
}
