package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/app"
)

type runOptions struct {
	name    string
	input   *string // positional; nil = none
	context []string
	over    project.Overrides
	dryRun  bool
	view    viewFlags
	lock    lockFlags
	tree    flagWorkTree

	background bool
	builtin    bool // the loop is in the catalog
}

func newRunCommand(a *program) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:     "run NAME|PATH [INPUT]",
		Aliases: []string{"r"},
		Short:   "Run a loop until it is done",
		Long: `run runs a loop from its initial state until it ends, and records every step under .loops.

NAME is a file .loops/NAME.yaml, or one in the folder that the environment variable LOOPS_CATALOG names; a PATH has a
slash or ends in .yaml. INPUT is put into the context: a JSON object sets those of its keys that the loop's context has;
one that has none of them, and any other text, becomes ${context.input} (or the loop's input_key). Actions run in the
project directory, the one that holds .loops.

Ctrl-C, SIGTERM or SIGHUP ends the running action, and the run stops so that it can be resumed; a second signal, or
Ctrl-\ (SIGQUIT), kills the action at once. An action that has not ended after five seconds is killed. A run whose process
was killed is resumed in the same way.

On a terminal, the output of an action is shown in one line as it comes, and its last three lines stay; -v keeps all of it.
Otherwise it is printed as it comes. With --json, standard output has one JSON object a line: run_info, then every event
as it is recorded; before them one queue_wait for each run that this one waits for.

See also: loops help worktrees (--worktree), loops help scopes (--queue, --no-lock), loops help background.` + exitRunHelp(exitMeaning{Code: exitInvalid, Text: "the loop file is not valid"}, exitMeaning{Code: exitNotFound, Text: "no such loop"}),
		Example: `  loops run fix
  loops run fix "the login page" --context retries=3
  loops run ./drafts/new.yaml --dry-run
  loops run fix --json | jq -r .event
  loops run fix --queue --queue-timeout 2h
  loops run fix --worktree=topic --worktree-end=merge
  loops run -b fix && loops attach fix`,
		Args: arguments(1, 2, "NAME or PATH of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if len(args) > 1 {
				o.input = &args[1]
			}
			if err := cmp.Or(checkOverrides(&o.over, cmd), o.view.check(cmd.CommandPath()), o.lock.check(cmd),
				checkBackground(o.background, o.dryRun, cmd.CommandPath())); err != nil {
				return err
			}
			a.fillView(cmd, &o.view)
			if o.builtin {
				p, err := a.project()
				if err != nil {
					return err
				}
				if o.name, err = app.InCatalog(p, o.name); err != nil {
					return err
				}
			}
			if err := o.tree.Check(); err != nil {
				return usageError{err.Error(), cmd.CommandPath() + " --help"}
			}
			if err := a.checkTreeInput(cmd.Context(), &o); err != nil {
				return err
			}
			if o.background {
				return a.inBackground(cmd.Context(), o.view, engine.Request{Start: o.request()})
			}
			return runRun(cmd.Context(), a, &o)
		},
	}
	flags := cmd.Flags()
	flagContext(flags, &o.context)
	addOverrides(&o.over, flags)
	o.tree.Add(flags)
	flags.BoolVarP(&o.background, "background", "b", false,
		"run in a process and session of its own, and return when the run is on record")
	o.lock.addFlags(flags)
	flagBuiltin(flags, &o.builtin, "run the loop of this name in the catalog, though the project has one")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would run, and do nothing")
	o.view.addFlags(flags)
	o.view.addFormat(cmd)
	return cmd
}

// request is what the flags ask for.
func (o *runOptions) request() *engine.StartRequest {
	return &engine.StartRequest{
		Loop: o.name, Input: o.input, Context: o.context, Over: o.over, Lock: o.lock.lock(),
		Tree: o.tree.Request(),
	}
}

func runRun(ctx context.Context, a *program, o *runOptions) error {
	request := o.request()
	if !o.dryRun {
		return a.carryRequest(ctx, o.view, engine.Request{Start: request})
	}
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	request.Warn = a.warner(e.Project(), o.view.quiet)
	plan, err := e.Plan(ctx, *request)
	if err != nil {
		return a.refused(err)
	}
	return a.page().PrintPlan(plan, o.view.json)
}
