package cli

import (
	"cmp"
	"context"
	"os"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/app"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/internal/watch"
)

type forkOptions struct {
	name       string
	at         string // a step, a state, or last; "" = as engine.ForkRequest has it
	again      bool   // as retry
	edit       bool   // the loop file first
	set        []string
	definition string // name or path of a loop file, or definitionRecorded; "" = the file the run was started from
	over       project.Overrides
	rerun      bool
	retry      bool // only the failed items of the list in that step
	empty      bool // nothing of the working folder is copied
	files      bool // as they were before that step
	dryRun     bool
	background bool
	view       viewFlags
	lock       lockFlags
	tree       flagWorkTree
}

func newForkCommand(a *program) *cobra.Command {
	var o forkOptions
	cmd := &cobra.Command{
		Use:   "fork NAME|RUN",
		Short: "Start a new run from a recorded step of another",
		Long: `fork starts a new run from the memory that the run RUN, or the newest run of the loop NAME, had just before it
entered STEP: a number as history shows it, a state (its last visit), or last, the default (see also retry). The new run
repeats that step with the loop file as it is now. The other run is not changed; it may be running, ended or archived.

Captures, messages, the context, retries, edges and the memory of evaluators are as they were; steps and passes count on.
Money, tokens, prompts, time and memory start from zero. The session of an agent is not continued. The files of the project
stay as they are now; with --files they are as they were before that step, if they were kept (see loops undo).

The new run has a working folder of its own, with a copy of the files and links that are now in the other run's folder
(none with --empty). In its memory, the path of the old folder is replaced by that of the new one. Where the other run
worked in a work tree of git, this one does not, unless --worktree gives it one.

With --retry-failed, the new run keeps the recorded list of a for_each in that step, and the results of the items that came
to yes, and does the other items only. The list may be in a sub-loop or in branches of the step: what came before it there,
and branches that came to yes, are not repeated. It is refused where the list worked in a work tree of its own, or in that of
the other run and its branch is not merged: the files would be missing.

A step is one of the run itself: a state that runs a sub-loop is repeated with all of the sub-loop. Some steps cannot be
forked: one whose memory is not recorded or is damaged; the handler of a cap; and an action with idempotent: false that
was started, unless with --rerun.` + exitRunHelp(exitMeaning{Code: exitInvalid, Text: "the loop file is not valid, or lacks the state"}, exitMeaning{Code: exitNotFound, Text: "no such loop, run or step, or what it remembered is not on record"}),
		Example: `  loops fork fix --at 12 --dry-run
  loops fork fix-20261121T103405 --at 12 --set style=short
  loops fork convert --at 2 --retry-failed
  loops fork fix --at last --definition drafts/better.yaml -b`,
	}
	o.add(a, cmd)
	cmd.Flags().StringVar(&o.at, "at", "last", "the `STEP` to do again: a number as history shows it, a state (its "+
		"last visit), or last")
	return cmd
}

func newRetryCommand(a *program) *cobra.Command {
	o := forkOptions{again: true}
	cmd := &cobra.Command{
		Use:   "retry NAME|RUN",
		Short: "Start a new run from the step at which another failed",
		Long: `retry starts a new run from the step that decided how the run RUN, or the newest run of the loop NAME, ended: the one that
its reason names. It is loops fork with that step for --at, and help on fork says what the new run has of the other. The loop
file is as it is now; --edit opens it in $VISUAL, $EDITOR or vi first.

Where the other run worked in a work tree of git, the new one does, too: in a tree of the same branch, or of a new branch if that
one is gone. Caps and other settings of the run that flags changed are as they were. A run that was submitted is submitted
again, with its queue, labels, key and priority, and a worker does it. A run that is running, or that workers continue, is
refused. A run that can be resumed continues where it was with loops resume.

With --retry-failed, the new run takes over the items of the list that came to yes, and does the others only.` + exitRunHelp(exitMeaning{Code: exitInvalid, Text: "the loop file is not valid, or lacks the state"}, exitMeaning{Code: exitNotFound, Text: "no such loop or run, or what it remembered is not on record"}),
		Example: `  loops retry nightly
  loops retry nightly --edit
  loops retry convert --retry-failed
  loops retry nightly-20261121T103405 --set style=short -b`,
	}
	o.add(a, cmd)
	cmd.Flags().BoolVar(&o.edit, "edit", false, "change the loop file first, in $VISUAL, $EDITOR or vi")
	return cmd
}

// add has a command do what fork does, with its flags.
func (o *forkOptions) add(a *program, cmd *cobra.Command) {
	cmd.Args = arguments(1, 1, "NAME of a loop or id of a RUN")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.name = args[0]
		if err := cmp.Or(checkOverrides(&o.over, cmd), o.view.check(cmd.CommandPath()), o.lock.check(cmd),
			checkBackground(o.background, o.dryRun, cmd.CommandPath()),
			a.refused(engine.CheckForkValues(o.set))); err != nil {
			return err
		}
		if err := o.tree.Check(); err != nil {
			return usageError{err.Error(), cmd.CommandPath() + " --help"}
		}
		a.fillView(cmd, &o.view)
		if o.edit {
			if err := a.editLoopOf(cmd.Context(), o.name); err != nil {
				return err
			}
		}
		if o.again && !o.dryRun {
			if run, job, done, err := a.resubmit(cmd.Context(), *o.request(), o.view.quiet); done {
				return a.submitted(run, job, err, o.view.json, o.view.quiet)
			}
		}
		if o.background {
			return a.inBackground(cmd.Context(), o.view, engine.Request{Fork: o.request()})
		}
		return runFork(cmd.Context(), a, o)
	}
	flags := cmd.Flags()
	flagContext(flags, &o.set)
	flags.StringVar(&o.definition, "definition", "", "continue with the loop `FILE`, or with recorded: the loop as "+
		"it was recorded with the run")
	addOverrides(&o.over, flags)
	flags.BoolVar(&o.rerun, "rerun", false, "do the step again although its state says idempotent: false")
	flags.BoolVar(&o.retry, "retry-failed", false, "take over the items of the step's for_each that came to yes, "+
		"and repeat the others only")
	flags.BoolVar(&o.empty, "empty", false, "begin with an empty working folder")
	flags.BoolVar(&o.files, "files", false, "begin with the files of the project as they were before that step, "+
		"where they were kept (see loops undo)")
	flags.BoolVarP(&o.background, "background", "b", false,
		"run in a process and session of its own, and return when the run is on record")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print from where the run would continue, and do nothing")
	o.lock.addFlags(flags)
	o.tree.Add(flags)
	o.view.addFlags(flags)
	o.view.addFormat(cmd)
}

// request is what the flags ask for.
func (o *forkOptions) request() *engine.ForkRequest {
	return &engine.ForkRequest{
		Run: o.name, At: o.at, Retry: o.again, Set: o.set, Definition: o.definition, Over: o.over, Rerun: o.rerun,
		RetryFailed: o.retry, Empty: o.empty, Files: o.files, Lock: o.lock.lock(), Tree: o.tree.Request(),
	}
}

// editLoopOf has a user change the loop file of a run in the editor.
func (a *program) editLoopOf(ctx context.Context, name string) error {
	onTerminal, file := a.In.(*os.File)
	if !file || !terminal.Interactive(a.In) {
		return usageError{"--edit needs a terminal", "loops retry --help"}
	}
	return a.ask(func(s *app.Service) error {
		path, err := s.LoopFile(ctx, name)
		if err != nil {
			return a.refused(err)
		}
		return watch.Programs{Dir: a.Dir, Env: a.Env, Terminal: onTerminal}.Edit(ctx, path)
	})
}

func runFork(ctx context.Context, a *program, o *forkOptions) error {
	request := o.request()
	if !o.dryRun {
		return a.carryRequest(ctx, o.view, engine.Request{Fork: request})
	}
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	request.Warn = a.warner(e.Project(), o.view.quiet)
	plan, err := e.PlanFork(ctx, *request)
	if err != nil {
		return a.refused(err)
	}
	return view.PrintFork(a.page(), plan, o.view.json)
}
