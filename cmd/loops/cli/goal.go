package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/app"
	"loops/internal/simulate"
	"loops/internal/terminal"
)

type goalOptions struct {
	goal app.Goal
	yes  bool
	view viewFlags
}

func newGoalCommand(a *program) *cobra.Command {
	var o goalOptions
	cmd := &cobra.Command{
		Use:   "goal TEXT",
		Short: "Have an agent work until a check passes",
		Long: `goal writes a loop .loops/goal-….yaml for a goal, proves it, shows both, and runs it after Enter. An agent works until the
check passes. The check has to fail before the first prompt. Tests are protected from the agent, a sandbox limits what it
touches, and a budget what it uses; a run that stands still ends.

The check is --check, or else what the project declares as its tests: the script test of package.json, the target test of
a Makefile, go.mod, pyproject.toml that names pytest, Cargo.toml. If there are several, a terminal asks; elsewhere that is an
error. No model chooses it.

Without a terminal and without --yes the loop is written and not run.` + exitRunHelp(exitMeaning{Code: exitInvalid, Text: "a loop that this one is made of is not valid"}),
		Example: `  loops goal "npm test passes"
  loops goal "the parser reads empty files" --check 'go test ./parser' --host claude
  loops goal "make lint is clean" --check 'make lint' --protect 'Makefile' --protect '.golangci.yml' --budget cost=2 --yes`,
		Args: arguments(1, 1, "TEXT of the goal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.goal.Text = args[0]
			const see = "loops goal --help"
			flags := cmd.Flags()
			switch {
			case flags.Changed("check") && strings.TrimSpace(o.goal.Check) == "":
				return usageError{"--check is empty: leave it out to have what the project declares as its tests", see}
			case flags.Changed("host") && strings.TrimSpace(o.goal.Host) == "":
				return usageError{"--host is empty: leave it out to have what is the default", see}
			}
			if err := o.view.check(cmd.CommandPath()); err != nil {
				return err
			}
			a.fillView(cmd, &o.view)
			return runGoal(cmd.Context(), a, &o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.goal.Check, "check", "", "the `SCRIPT` that exits with 0 where the goal is reached")
	flags.StringVar(&o.goal.Host, "host", "", "agent `HOST` that works (default: that of the project, or the first "+
		"that is installed)")
	flags.Var(&o.goal.Budget, "budget", "what the run may use, instead of cost=5,tokens=2M,prompts=20: "+
		project.BudgetForms)
	flags.StringArrayVar(&o.goal.Protect, "protect", nil,
		"files that the agent may not change, as a `GLOB`, instead of tests; can be repeated")
	flags.BoolVarP(&o.yes, "yes", "y", false, "run it without asking")
	flags.BoolVarP(&o.view.quiet, "quiet", "q", false, "print errors only, and the reason of a failure")
	flags.BoolVarP(&o.view.verbose, "verbose", "v", false, "print whole actions, all output and details of verdicts")
	return cmd
}

func runGoal(ctx context.Context, a *program, o *goalOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	ask, shown := &terminal.YesNo{In: a.In, Err: a.Err}, !o.view.quiet
	p, name, err := o.goal.Write(ctx, ask, p, a.dir)
	if err != nil {
		return a.refused(err)
	}
	a.opened = p
	if o.goal.WarnUnprotected(a.Err, p); shown {
		o.goal.Print(a.out, p)
	}
	if err := a.proveGoal(ctx, name, shown); err != nil {
		return err
	}
	if shown {
		o.goal.PrintProtected(a.out, p)
	}
	if !o.yes {
		a.out.Flush() // the question comes after what it is about
		line, ok := ask.Line(ctx, "\nEnter runs it, Ctrl-C leaves it there: ")
		if ok = ok && (strings.TrimSpace(line) == "" || terminal.IsYes(line)); !ok {
			terminal.Say(a.out, "\nTo run it:\n  %s\n", a.command("run", name))
			return nil
		}
	}
	a.begunAs("run", name)
	return a.carryRequest(ctx, o.view, engine.Request{Start: &engine.StartRequest{Loop: name}})
}

// proveGoal proves the loop that was written, and prints what holds of its runs.
func (a *program) proveGoal(ctx context.Context, name string, shown bool) error {
	d, err := a.desk()
	if err != nil {
		return err
	}
	_, good, err := d.Prove(ctx, &simulate.DeskProof{Name: name, Quiet: true, JSON: !shown})
	switch {
	case err != nil:
		return err
	case !good:
		return failure(engine.Failed, "%s is not run: it has no bound, or a property does not hold", name)
	}
	return nil
}
