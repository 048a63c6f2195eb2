package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/terminal"
	"loops/internal/view"
)

type trustOptions struct {
	forget             string
	dryRun, list, json bool
}

func newTrustCommand(a *program) *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust [NAME|PATH]",
		Short: "Have a loop run that others wrote",
		Long: `trust shows the loop NAME, with what it would run, write, reach and spend, and has it run in this project as it is: also by
schedules, webhooks, workers and agents, where they run as this user. It does so for every file that the loop is made of, and for
.loops/config.yaml. A file that others change afterwards is asked about again.

Nothing is asked about files that you wrote: where git has the file as it is, its author is you, by your user.email;
where git does not have it, or the repository has no remote, the file is yours or root's. Loops that come with this program, and
those that a key of dispatch.keys signed, run as well. Else run shows the loop and asks, and without a terminal it ends with code 13.
LOOPS_TRUST=1 has every loop run, as in CI. What is trusted is kept below $XDG_STATE_HOME/loops/trust, never in a project.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitInvalid, exitNotFound, exitUntrusted),
		Example: `  loops trust nightly
  loops trust nightly --dry-run      only show it
  loops trust --list
  loops trust --forget nightly`,
		Args: func(_ *cobra.Command, args []string) error {
			if n := len(args); n > 1 || n == 1 == (o.list || o.forget != "") {
				return usageError{"trust takes the NAME of a loop, or --list, or --forget NAME", "loops trust --help"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runTrust(cmd.Context(), a, o, args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.list, "list", false, "print the loops of the project that are trusted")
	flags.StringVar(&o.forget, "forget", "", "have the loop `NAME` be asked about again")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only show the loop")
	flags.BoolVarP(&o.json, "json", "j", false, "print JSON")
	return cmd
}

func runTrust(ctx context.Context, a *program, o trustOptions, args []string) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	if o.list {
		all, err := p.Trusted()
		if err != nil {
			return failure(engine.Failed, "%v", err)
		}
		return view.PrintTrusted(a.page(), all, o.json)
	}
	if id, _ := a.getenv(engine.EnvRunID); id != "" && !o.dryRun {
		return failure(engine.Untrusted, "an action of a run (%s) cannot say which loops are trusted; do it in a "+
			"shell of your own", id)
	}
	if o.forget != "" {
		return a.forgetTrust(ctx, p, o)
	}
	lib, err := p.Library()
	if err != nil {
		return err
	}
	path, err := lib.Find(args[0])
	if err != nil {
		return err
	}
	err = p.CheckTrust(ctx, path)
	foreign, untrusted := errors.AsType[*project.UntrustedError](err)
	switch {
	case untrusted && !o.json:
		a.page().PrintForeign(foreign)
	case err != nil && !untrusted:
		return err
	case !untrusted && !o.json:
		terminal.Say(a.out, "%s runs without being asked about.\n", p.Short(path))
	}
	if o.dryRun || !untrusted && !o.json {
		return nil
	}
	t, err := p.Trust(ctx, path)
	switch {
	case err != nil:
		return failure(engine.Failed, "%v", err)
	case o.json:
		return terminal.WriteJSON(a.out, view.TrustedLoop(t))
	}
	terminal.Say(a.out, "\nTrusted %s as it is.\n", p.Short(path))
	return nil
}

func (a *program) forgetTrust(ctx context.Context, p *project.Project, o trustOptions) error {
	known, err := p.ForgetTrust(ctx, o.forget)
	switch {
	case err != nil:
		return failure(engine.Failed, "%v", err)
	case o.json:
		return terminal.WriteJSON(a.out, api.ForgottenTrust{Name: o.forget, Forgotten: known})
	case !known:
		return failure(engine.NotFound, "no loop %s is trusted here", o.forget)
	}
	terminal.Say(a.out, "Forgot %s; it is asked about before it runs again.\n", o.forget)
	return nil
}

// showForeign shows a loop that did not begin because others wrote it, and reports whether its user says that it may.
func (a *program) showForeign(ctx context.Context, err error) bool {
	foreign, ok := errors.AsType[*project.UntrustedError](err)
	if !ok || foreign.Unknown != "" || !terminal.CanAsk(a.In, a.Err) {
		return false
	}
	if id, _ := a.getenv(engine.EnvRunID); id != "" {
		return false // an agent with a terminal is no user
	}
	a.page().PrintForeign(foreign)
	if !(&terminal.YesNo{In: a.In, Err: a.Err}).Ask(ctx, "\nRun it, now and whenever it is as it is now?") {
		return false
	}
	if err := foreign.TrustSeen(ctx); err != nil {
		terminal.Say(a.Err, "loops: %v\n", err)
		return false
	}
	return true
}

// vet asks about a loop of others before another process begins the run.
func (a *program) vet(ctx context.Context, r engine.Request) error {
	if r.Start == nil {
		return nil
	}
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	err = e.Vet(ctx, *r.Start)
	if _, untrusted := errors.AsType[*project.UntrustedError](err); !untrusted || a.showForeign(ctx, err) {
		return nil // what else is wrong, the other process says
	}
	return a.refused(err)
}
