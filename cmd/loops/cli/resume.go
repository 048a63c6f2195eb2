package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"loops/cmd/loops/cli/sharedflags"
	"loops/engine"
	"loops/engine/project"
)

type resumeOptions struct {
	name    string
	context []string
	over    project.Overrides
	force   bool
	rerun   bool
	retry   bool // the failed items of the list that the run stands in
	extend  engine.Extend
	from    string // state to continue in; "" = where the run stands
	view    viewFlags
	lock    lockFlags

	definition string // "" or engine.RecordedDefinition
	background bool
}

func newResumeCommand(a *app) *cobra.Command {
	var o resumeOptions
	cmd := &cobra.Command{
		Use:     "resume NAME|RUN",
		Aliases: []string{"res"},
		Short:   "Resume a run that was stopped, killed or capped",
		Long: `resume continues the newest resumable run of the loop NAME, or the run RUN (its id as "loops history" shows
it). The state that was interrupted is entered again with everything the run remembers; a result that was recorded is
not asked for again. Flags given to run hold on unless they are given again. A run that was
capped continues when it gets a higher cap: -n, --max-iterations or --budget set one, and --extend raises the one that holds by
as much as it says, which a later resume keeps. A run that timed out has ended: loops fork begins another from its steps.

A run that stands in a for_each continues with the items that lack an end; --retry-failed does those that failed again, too.

An action that was interrupted runs again, unless its state says on_interrupted or idempotent: false. Then --rerun runs it
again, and --from continues in another state; LOOPS_ATTEMPT tells the action.

A run whose loop file, or that of a sub-loop it is in, changed since it began is refused, with what changed. Then --force
continues with the files as they are now, and --definition=recorded with the loop as it was recorded with the run, together
with the sub-loops that had been read until then.

It locks the paths of the loop's scope as run does, and waits for them with --queue. With --background the run continues in a
process of its own, as it does with run --background.` + runExitCodes(exitMeaning{exitNotFound, "no such loop or run, nothing to resume, or no database of runs there"}),
		Example: `  loops resume fix
  loops resume fix-20261121T103405 --context retries=5
  loops resume capped -n 100
  loops resume capped --extend steps=20,cost=2
  loops resume -b fix`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if err := checkOverrides(&o.over, cmd); err != nil {
				return err
			}
			if err := checkExtend(&o.extend, cmd, o.over.Budget); err != nil {
				return err
			}
			if err := o.view.check(cmd.CommandPath()); err != nil {
				return err
			}
			if err := o.lock.check(cmd); err != nil {
				return err
			}
			a.fillView(cmd, &o.view)
			if o.definition != "" && o.definition != engine.RecordedDefinition {
				return usageError{fmt.Sprintf("--definition %q: expected %s", o.definition, engine.RecordedDefinition), "loops resume --help"}
			}
			if o.background {
				return a.inBackground(cmd.Context(), o.view, o.request())
			}
			return a.carryRequest(cmd.Context(), o.view, o.request())
		},
	}
	flags := cmd.Flags()
	sharedflags.Context(flags, &o.context)
	addOverrides(&o.over, flags)
	flags.Var(&o.extend, "extend", "raise limits that hold for the run by that much: "+engine.ExtendForms)
	flags.BoolVarP(&o.background, "background", "b", false, "continue in a process and session of its own, and return when that is on record")
	o.lock.addFlags(flags)
	flags.BoolVar(&o.force, "force", false, "continue with the loop file as it is now, although it changed")
	flags.StringVar(&o.definition, "definition", "", "`recorded`: continue with the loop as it was recorded with the run")
	flags.BoolVar(&o.rerun, "rerun", false, "run an interrupted action again although its state says idempotent: false")
	flags.BoolVar(&o.retry, "retry-failed", false, "do the items again that failed of the for_each that the run stands in")
	flags.StringVar(&o.from, "from", "", "continue in `STATE` of the loop, with everything the run remembers")
	o.view.addFlags(flags)
	o.view.addFormat(cmd)
	return cmd
}

// request is what the flags ask for.
func (o *resumeOptions) request() engine.Request {
	return engine.Request{Resume: &engine.ResumeRequest{
		Run: o.name, Context: o.context, Over: o.over, Extend: o.extend, Force: o.force, Definition: o.definition, Rerun: o.rerun, RetryFailed: o.retry, From: o.from,
		Lock: o.lock.lock(),
	}}
}
