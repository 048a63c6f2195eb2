package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
)

type resumeOptions struct {
	name     string
	context  []string
	over     project.Overrides
	force    bool
	rerun    bool
	retry    bool // the failed items of the list that the run is in
	extend   engine.Extend
	here     bool   // even a run of another project
	from     string // state to continue in; "" = where the run is
	instance string // id of the run, as little-loops has it beside the name of the loop; "" = not given
	view     viewFlags
	lock     lockFlags

	definition string // "" or engine.RecordedDefinition
	background bool
}

func newResumeCommand(a *program) *cobra.Command {
	var o resumeOptions
	cmd := &cobra.Command{
		Use:     "resume NAME|RUN",
		Aliases: []string{"res"},
		Short:   "Resume a run that was stopped, killed or capped",
		Long: `resume continues the newest resumable run of the loop NAME, or the run RUN. The state that was interrupted
is entered again with everything the run remembers; an action whose result was recorded is not repeated. Flags given to
run stay in force unless they are given again. A run that was
capped continues when it gets more: --extend steps=20 raises the cap by 20, also for later resumes. --max-steps,
--max-iterations and --budget set a limit anew, which counts what is used already. A run that failed or timed out has ended: loops retry starts a new one from there.

A run inside a for_each continues with the items that have not ended; --retry-failed also repeats those that failed;
for a run that ended, it prints the loops fork that does.

An action that was interrupted runs again, unless its state says on_interrupted or idempotent: false. Then --rerun runs it
again, and --from continues in another state. LOOPS_ATTEMPT is the number of the attempt.

resume refuses a run whose loop file, or that of its current sub-loop, changed since it began, and shows what changed.
--force continues with the files as they are now, --definition=recorded with the loop and sub-loops as they were
recorded with the run.

A run that another project recorded in the same database is refused; --here takes it over into this project and its files.

resume locks the paths of the loop's scope, as run does, and waits for them with --queue. With --background the run
continues in a
process of its own, as it does with run --background.` + exitRunHelp(exitMeaning{Code: exitNotFound, Text: "no such loop or run, nothing to resume, or no database of runs there"}),
		Example: `  loops resume fix
  loops resume fix-20261121T103405 --context retries=5
  loops resume capped --extend steps=20,cost=2
  loops resume capped --max-steps 100
  loops resume -b fix`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = cmp.Or(o.instance, args[0])
			if err := checkOverrides(&o.over, cmd); err != nil {
				return err
			}
			if err := cmp.Or(checkExtend(&o.extend, cmd, o.over.Budget), o.view.check(cmd.CommandPath()),
				o.lock.check(cmd)); err != nil {
				return err
			}
			a.fillView(cmd, &o.view)
			if o.definition != "" && o.definition != engine.RecordedDefinition {
				return usageError{fmt.Sprintf("--definition %q: expected %s", o.definition,
					engine.RecordedDefinition), "loops resume --help"}
			}
			if o.background {
				return a.inBackground(cmd.Context(), o.view, o.request())
			}
			return a.carryRequest(cmd.Context(), o.view, o.request())
		},
	}
	flags := cmd.Flags()
	flagContext(flags, &o.context)
	addOverrides(&o.over, flags)
	flags.Var(&o.extend, "extend", "raise limits that hold for the run by that much: "+engine.ExtendForms)
	flags.BoolVarP(&o.background, "background", "b", false,
		"continue in a process and session of its own, and return when that is on record")
	o.lock.addFlags(flags)
	flags.BoolVar(&o.force, "force", false, "continue with the loop file as it is now, although it changed")
	flags.StringVar(&o.definition, "definition", "",
		"`recorded`: continue with the loop as it was recorded with the run")
	flags.BoolVar(&o.rerun, "rerun", false, "run an interrupted action again although its state says idempotent: false")
	flags.BoolVar(&o.retry, "retry-failed", false, "also repeat the failed items of the for_each that the run is in")
	flags.BoolVar(&o.here, "here", false, "continue a run of another project, given by its id, in this one, to "+
		"which it then belongs")
	flags.StringVar(&o.from, "from", "", "continue in `STATE` of the loop, with everything the run remembers")
	flagInstanceID(flags, &o.instance)
	o.view.addFlags(flags)
	o.view.addFormat(cmd)
	return cmd
}

// request is what the flags ask for.
func (o *resumeOptions) request() engine.Request {
	return engine.Request{Resume: &engine.ResumeRequest{
		Run: o.name, Context: o.context, Over: o.over, Extend: o.extend, Force: o.force, Definition: o.definition,
		Rerun: o.rerun, Here: o.here, RetryFailed: o.retry, From: o.from,
		Lock: o.lock.lock(),
	}}
}
