package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/trigger"
	"loops/internal/app"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

type unitOptions struct {
	manager string
	yes     bool
}

func newScheduleFireCommand(a *program) *cobra.Command {
	return &cobra.Command{
		Use: "fire", Short: "Fire schedules that are due now", Args: arguments(0, 0, ""),
		Example: "  loops schedule fire",
		Long: `fire does once what loops serve does all the time: it starts the runs of schedules that are due, in the background, each time once. It is for a
timer that calls it each minute; see loops schedule install.` + exitHelp(exitOK, exitFailed, exitUsage, exitRecord),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := trigger.Watch{
				Open: a.project, Begin: (&served{app: a}).beginDetached, Say: func(text string) {
					terminal.SayLine(a.Err, "loops: "+text)
				},
				Tell: func(f trigger.Firing) { terminal.SayLine(a.Out, f.Loop+": "+view.FiringLine(f)) },
			}
			return a.shown(w.Once(cmd.Context()))
		},
	}
}

func newScheduleInstallCommand(a *program) *cobra.Command {
	var o unitOptions
	cmd := &cobra.Command{
		Use: "install", Short: "Have schedules fired without a server", Args: arguments(0, 0, ""),
		Example: "  loops schedule install\n  loops schedule install --manager cron --yes",
		Long: `install has systemd, or cron, call loops schedule fire each minute for this project, as you. It shows what it would write; with
--yes it writes that. With systemd, loginctl enable-linger has it run while you are not signed in. To undo it: systemctl --user disable --now NAME.timer, or remove the line from the crontab.` +
			exitHelp(exitOK, exitFailed, exitUsage),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.install(cmd, a, "schedule", []string{"schedule", "fire"}, app.EachMinuteUnit)
		},
	}
	o.flags(cmd, app.ServiceManagers)
	return cmd
}

func newServeInstallCommand(a *program) *cobra.Command {
	var o unitOptions
	cmd := &cobra.Command{
		Use: "install", Short: "Have the service manager run this server",
		Example: "  loops serve install --yes -- --listen 127.0.0.1:8080",
		Long: `install has systemd, or launchd on macOS, run loops serve for this project, as you: now, and when you sign in. What follows -- are flags of
loops serve. It shows what it would write; with --yes it writes that. Its address is in the log: journalctl --user -u NAME; loops serve token prints it, too.` +
			exitHelp(exitOK, exitFailed, exitUsage),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.install(cmd, a, "serve", append([]string{"serve"}, args...), app.AlwaysUnit)
		},
	}
	o.flags(cmd, app.UnitServers())
	return cmd
}

func (o *unitOptions) flags(cmd *cobra.Command, managers []string) {
	cmd.Flags().StringVar(&o.manager, "manager", managers[0], "what is to start it: `MANAGER` is "+
		strings.Join(managers, " or "))
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "write it, instead of showing it")
}

// install shows what has a manager start a command line of loops, or does it.
func (o *unitOptions) install(cmd *cobra.Command, a *program, what string, args []string,
	plan func(app.UnitJob, string) (app.UnitPlan, error),
) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	j, err := app.UnitJobOf(what, p.Dir, a.store, args, a.getenv)
	if err != nil {
		return failure(engine.Failed, "%s", oneLine(err))
	}
	todo, err := plan(j, o.manager)
	if err != nil {
		return usageError{"--manager: " + err.Error(), cmd.CommandPath() + " --help"}
	}
	if !o.yes {
		var shown strings.Builder
		harmless, err := plan(j.Shown(persistence.Redacted, argvShown(j.Args)), o.manager)
		if err != nil {
			return failure(engine.Failed, "%s", oneLine(err))
		}
		harmless.Show(&shown)
		for line := range strings.Lines(shown.String()) {
			terminal.SayLine(a.Out, strings.TrimSuffix(line, "\n"))
		}
		terminal.Say(a.Out, "\nNothing was written. To do it: add --yes\n")
		return nil
	}
	if err := todo.Apply(cmd.Context(), a.Env); err != nil {
		return failure(engine.Failed, "%s", oneLine(err))
	}
	terminal.SayLine(a.Out, "Installed "+j.Name+".")
	return nil
}
