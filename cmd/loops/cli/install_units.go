package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"loops/cmd/loops/cli/commandline"
	"loops/cmd/loops/cli/exitcode"
	"loops/engine"
	"loops/engine/trigger"
	"loops/internal/install"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence/sqlstore"
)

type unitOptions struct {
	manager string
	yes     bool
}

func newScheduleFireCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "fire", Short: "Fire schedules that are due now", Args: arguments(0, 0, ""), Example: "  loops schedule fire",
		Long: `fire does once what loops serve does all the time: it starts the runs of schedules that are due, in the background, each time once. It is for a
timer that calls it each minute; see loops schedule install.` + exitcode.Help(exitcode.OK, exitcode.Failed, exitcode.Usage, exitcode.Record),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := trigger.Watch{
				Open: a.project, Begin: (&served{app: a}).beginDetached, Say: func(text string) { ui.SayLine(a.Err, "loops: "+text) },
				Tell: func(f trigger.Firing) { ui.SayLine(a.Out, f.Loop+": "+views.FiringLine(f)) },
			}
			return a.shown(w.Once(cmd.Context()))
		},
	}
}

func newScheduleInstallCommand(a *app) *cobra.Command {
	var o unitOptions
	cmd := &cobra.Command{
		Use: "install", Short: "Have schedules fired without a server", Args: arguments(0, 0, ""), Example: "  loops schedule install\n  loops schedule install --manager cron --yes",
		Long: `install has systemd, or cron, call loops schedule fire each minute for this project, as you. It shows what it would write; with
--yes it writes that. With systemd, loginctl enable-linger has it run while you are not signed in. To undo it: systemctl --user disable --now NAME.timer, or remove the line from the crontab.` +
			exitcode.Help(exitcode.OK, exitcode.Failed, exitcode.Usage),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.install(cmd, a, "schedule", []string{"schedule", "fire"}, install.EachMinute)
		},
	}
	o.flags(cmd, install.Managers)
	return cmd
}

func newServeInstallCommand(a *app) *cobra.Command {
	var o unitOptions
	cmd := &cobra.Command{
		Use: "install", Short: "Have the service manager run this server", Example: "  loops serve install --yes -- --listen 127.0.0.1:8080",
		Long: `install has systemd, or launchd on macOS, run loops serve for this project, as you: now, and when you sign in. What follows -- are flags of
loops serve. It shows what it would write; with --yes it writes that. Its address is in the log: journalctl --user -u NAME; loops serve token prints it, too.` +
			exitcode.Help(exitcode.OK, exitcode.Failed, exitcode.Usage),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.install(cmd, a, "serve", append([]string{"serve"}, args...), install.Always)
		},
	}
	o.flags(cmd, install.Servers())
	return cmd
}

func (o *unitOptions) flags(cmd *cobra.Command, managers []string) {
	cmd.Flags().StringVar(&o.manager, "manager", managers[0], "what is to start it: `MANAGER` is "+strings.Join(managers, " or "))
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "write it, instead of showing it")
}

// install shows what has a manager start a command line of loops, or does it.
func (o *unitOptions) install(cmd *cobra.Command, a *app, what string, args []string, plan func(install.Job, string) (install.Plan, error)) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	j, err := install.JobOf(what, p.Dir, a.store, args, a.getenv)
	if err != nil {
		return failure(engine.Failed, "%s", oneLine(err))
	}
	todo, err := plan(j, o.manager)
	if err != nil {
		return usageError{"--manager: " + err.Error(), cmd.CommandPath() + " --help"}
	}
	if !o.yes {
		var shown strings.Builder
		harmless, err := plan(j.Shown(sqlstore.Redacted, commandline.Shown(j.Args)), o.manager)
		if err != nil {
			return failure(engine.Failed, "%s", oneLine(err))
		}
		harmless.Show(&shown)
		for line := range strings.Lines(shown.String()) {
			ui.SayLine(a.Out, strings.TrimSuffix(line, "\n"))
		}
		ui.Say(a.Out, "\nNothing was written. To do it: add --yes\n")
		return nil
	}
	if err := todo.Apply(cmd.Context(), a.Env); err != nil {
		return failure(engine.Failed, "%s", oneLine(err))
	}
	ui.SayLine(a.Out, "Installed "+j.Name+".")
	return nil
}
