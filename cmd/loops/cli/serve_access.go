package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/auth"
	"loops/internal/config"
	"loops/internal/terminal"
)

type servePasswdOptions struct {
	role   string
	remove bool
}

func newServePasswdCommand(a *program) *cobra.Command {
	var o servePasswdOptions
	cmd := &cobra.Command{
		Use:   "passwd FILE [NAME]",
		Short: "List the users of serve --auth, add one, change one or remove one",
		Long: `passwd writes the file of users that serve --auth reads: names, roles and hashes of passwords (argon2id), with mode 0600. Without a
NAME it lists them. With one it asks for a password, or reads a line of standard input, and adds the user, or changes their password;
with --role and without input it changes only the role. A server that is running takes the file as it is from the next request on:
sessions of a user whose password or role changed end.` + exitHelp(exitOK, exitFailed, exitUsage),
		Example: `  loops serve passwd users ada --role author
  loops serve passwd users
  loops serve passwd users ada --remove`,
		Args: arguments(1, 2, "FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return runServePasswd(a, args, o) },
	}
	cmd.Flags().StringVar(&o.role, "role", "", "what the user may: `ROLE` is viewer, operator or author")
	cmd.Flags().BoolVar(&o.remove, "remove", false, "remove the user")
	return cmd
}

func runServePasswd(a *program, args []string, o servePasswdOptions) error {
	var role auth.Role
	var err error
	if o.role != "" {
		if role, err = auth.ParseRole(o.role); err != nil {
			return usageError{"--role: " + err.Error(), "loops serve passwd --help"}
		}
	}
	file := a.at(args[0])
	switch {
	case len(args) == 1 && (o.remove || o.role != ""):
		return usageError{"missing argument: NAME", "loops serve passwd --help"}
	case len(args) == 1:
		var users []auth.User
		users, err = auth.Listed(file)
		for _, u := range users {
			terminal.SayLine(a.Out, u.Name+" "+u.Role.String())
		}
	case o.remove:
		err = auth.RemoveUser(file, args[1])
	default:
		var password string
		if password, err = terminal.ReadPassword(a.In, a.Err); err == nil {
			err = auth.SetUser(file, args[1], password, role)
		}
	}
	if err != nil {
		return failure(engine.Failed, "%s", oneLine(err))
	}
	return nil
}

func newServeTokenCommand(a *program) *cobra.Command {
	var rotate bool
	cmd := &cobra.Command{
		Use:   "token [ADDRESS]",
		Short: "Print the addresses of running servers, with their tokens, or replace a token",
		Long: `token prints the address of each server of yours that is running and asks for a token, with the token. With --rotate the server gets
another one. From the next request on, the old token and each browser that signed in with it are refused. Where several
are running, ADDRESS says which: host and port, as in the address. The token is in a file of mode 0600 below $XDG_STATE_HOME/loops/serve
(or ~/.local/state), and goes with the server; one of LOOPS_SERVE_TOKEN is back after a restart.` + exitHelp(exitOK, exitFailed, exitUsage),
		Example: `  loops serve token
  loops serve token --rotate`,
		Args: arguments(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			told, err := auth.Tokens(config.StateDir(a.getenv, "serve"), strings.Join(args, ""), rotate)
			if err != nil {
				return failure(engine.Failed, "%s", oneLine(err))
			}
			for _, r := range told {
				terminal.SayLine(a.Out, r.URL())
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&rotate, "rotate", false, "replace the token")
	return cmd
}
