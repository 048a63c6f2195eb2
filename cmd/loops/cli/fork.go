package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/phrase"
	"loops/persistence"
)

type forkOptions struct {
	name       string
	at         string // a step, or last
	set        []string
	definition string // name or path of a loop file, or definitionRecorded; "" = the file the run was started from
	over       project.Overrides
	rerun      bool
	empty      bool // nothing of the working folder is copied
	dryRun     bool
	background bool
	view       viewFlags
	lock       lockFlags
	tree       treeFlags
}

func newForkCommand(a *app) *cobra.Command {
	var o forkOptions
	cmd := &cobra.Command{
		Use:   "fork NAME|RUN --at STEP",
		Short: "Begin a new run from what another one remembered before a step",
		Long: `fork begins a new run from what the run RUN, or the newest run of the loop NAME, remembered just before STEP entered its
state. So that step is done again, with the loop file as it is now: change a prompt, and see where it leads from there. The
other run is not changed, and may go on, have ended or be archived. STEP is a number as history shows it, or last.

  loops history fix fix-20261121T103405             step 12 is review, and said too little
  loops fork fix-20261121T103405 --at 12            do it again with the better prompt that fix.yaml has now

What was captured and said, the context, retries, edges and the memory of evaluators are as they were; steps and passes
count on. Money, tokens, prompts, time and memory count anew, so a budget is there whole; what the other run spent is its
own. The session of an agent is left behind, for it has gone on since. Only that memory is from before STEP: the files of
the project stay as they are now, with all that the other run changed in them.

The new run has a working folder of its own, with a copy of the files that are in the other's now (--empty: without), also
of links within it, and of long outputs if they are remembered. In all that it remembers, the path of the old folder becomes
that of the new one. Where the other run worked in a work tree of git, this one does not, unless --worktree gives it one.

A step is one of the run itself: with a state that runs a sub-loop, all of the sub-loop is done again. What cannot be forked
is refused with the reason: a step of which the memory is not on record, or damaged; the handler of a cap; and an action that
says idempotent: false and was started, unless with --rerun.` + runExitCodes(exitMeaning{exitInvalid, "the loop file is not valid, or lacks the state"}, exitMeaning{exitNotFound, "no such loop, run or step, or what it remembered is not on record"}),
		Example: `  loops fork fix --at 12 --dry-run
  loops fork fix-20261121T103405 --at 12 --set style=short
  loops fork fix --at last --definition drafts/better.yaml -b`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if o.at == "" {
				return usageError{"missing --at STEP: the step to do again, as loops history shows it, or last", "loops fork --help"}
			}
			if err := checkOverrides(&o.over, cmd); err != nil {
				return err
			}
			if err := o.view.check(cmd.CommandPath()); err != nil {
				return err
			}
			if err := o.lock.check(cmd); err != nil {
				return err
			}
			if err := o.tree.check(cmd.CommandPath()); err != nil {
				return err
			}
			if _, err := forkValues(o.set); err != nil {
				return err
			}
			a.fillView(cmd, &o.view)
			if err := checkBackground(o.background, o.dryRun, cmd.CommandPath()); err != nil {
				return err
			}
			if o.background && a.detached == nil {
				return a.inBackground(cmd.Context(), o.view)
			}
			return runFork(cmd.Context(), a, &o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.at, "at", "", "the `STEP` to do again: a number as history shows it, or last")
	flags.StringArrayVar(&o.set, "set", nil, "set a context value, `KEY=VALUE` (repeatable)")
	flags.StringVar(&o.definition, "definition", "", "go on with the loop `FILE`, or with recorded: the loop as it was recorded with the run")
	addOverrides(&o.over, flags)
	flags.BoolVar(&o.rerun, "rerun", false, "do the step again although its state says idempotent: false")
	flags.BoolVar(&o.empty, "empty", false, "begin with an empty working folder")
	flags.BoolVarP(&o.background, "background", "b", false, "run in a process and session of its own, and return when the run is on record")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print from where the run would go on, and do nothing")
	o.lock.addFlags(flags)
	o.tree.addFlags(flags)
	o.view.addFlags(flags)
	o.view.addFormat(cmd)
	return cmd
}

// forkValues reads --set.
func forkValues(pairs []string) (*value.Map, error) {
	given := value.NewMap()
	for _, pair := range pairs {
		key, val, ok := strings.Cut(pair, "=")
		key = strings.TrimPrefix(strings.TrimSpace(key), "context.")
		switch {
		case !ok || key == "":
			return nil, usageError{fmt.Sprintf("--set %q: expected KEY=VALUE", pair), "loops fork --help"}
		case strings.HasPrefix(key, "captured.") || strings.HasPrefix(key, "messages"):
			return nil, usageError{fmt.Sprintf("--set %q: it sets values of the context; what was captured and said is as it was. To change that, fork the step that captured it", pair), "loops fork --help"}
		}
		given.Set(key, val)
	}
	return given, nil
}

func runFork(ctx context.Context, a *app, o *forkOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	store, err := p.Records(ctx, false)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := oneRun(ctx, f, o.name)
	if err != nil {
		return err
	}
	from, err := a.forkPlace(ctx, f, run, o.at)
	if err != nil {
		return err
	}
	made, err := a.forkDefinition(ctx, p, store, from, o)
	if err != nil {
		return err
	}
	over := o.over.Over(run.Options)
	conf, err := p.Config()
	if err != nil {
		return err
	}
	over.Config = conf
	l, recorded := over.Apply(made.loop)
	if n := from.point.Step; l.MaxSteps > 0 && n > l.MaxSteps {
		return failure(exitUsage, "steps count on, so step %d would be behind the cap of %s; give it a higher one:\n  %s", n, phrase.Count(l.MaxSteps, "step"),
			a.command(fmt.Sprintf("fork --at %d -n %d", n, n+l.MaxSteps), string(run.ID)))
	}
	planned, err := from.context(l, o)
	if err != nil {
		return err
	}
	if _, own := from.workFolder(p); own {
		planned.Delete("run_dir")
	}
	fill(planned, l, plannedRunDir(p, l))
	if err := a.preflight(p, l, planned); err != nil {
		return err
	}
	a.tellUnused(p, l, o.set, o.view.quiet)
	a.warnConfig(p, o.view.quiet)
	if err := a.checkHosts(p, l, o.over.Agents.Host, over, conf, o.view, "loops fork --help"); err != nil {
		return err
	}
	known, err := a.checkCost(p, l, over.Agents, conf)
	if err != nil {
		return err
	}
	tree, err := a.planTree(ctx, p, l, o.tree, conf)
	if err != nil {
		return err
	}
	if o.dryRun {
		return a.printFork(p, l, from, made, planned, o)
	}
	made.tell(a, run, o.view.quiet)
	loops, err := p.Library()
	if err != nil {
		return err
	}
	kept := &project.Keeper{}
	lib := made.changes.library(loops, l, over, kept)
	spec, err := a.spec(p, l, kept.Def, planned, recorded)
	if err != nil {
		return err
	}
	spec.Origin = from.origin()
	o.lock.apply(&spec)
	tree.describe(&spec, p, l, planned)
	if err := tree.free(ctx, store); err != nil {
		return err
	}
	stops := catchSignals()
	defer stops.release()
	store.SetDurability(over.Level())
	print := a.newPrinter(o.view)
	var began time.Time
	var journal persistence.Journal
	err = stops.before(ctx, func(ctx context.Context) (err error) {
		t := turn{project: p, store: store, flags: o.lock, config: conf, printer: print, quiet: o.view.quiet, spec: spec, leave: run.ID}
		journal, began, err = a.create(ctx, t)
		return err
	})
	if err != nil {
		return err
	}
	var notes []string
	err = stops.before(ctx, func(ctx context.Context) (err error) {
		notes, err = from.move(ctx, p, journal.Dir(), o.empty, store.Level() != persistence.None)
		return err
	})
	if err == nil {
		from.memory.Context, err = from.context(l, o)
	}
	if err != nil {
		return errors.Join(err, journal.Close(context.WithoutCancel(ctx)))
	}
	fill(from.memory.Context, l, journal.Dir())
	kept.Journal = journal
	notes = append(notes, from.spent()...)
	if old := a.treeOf(p, run); old != nil && tree == nil {
		notes = append(notes, fmt.Sprintf("run %s worked in the work tree %s, this one works in %s; a tree of its own: --worktree", run.ID, p.Short(old.tree.Path), p.Dir))
	}
	shown := journal.Run()
	shown.State, shown.Step = from.point.State, from.point.Step-1
	return a.drive(ctx, driveSpec{
		tree: tree, project: tree.project(p, journal.Run().ID), loop: l, library: lib, store: store, journal: journal, printer: print, stops: stops,
		header: header{
			Loop: l, File: p.Short(l.File), Run: shown, RunDir: journal.Dir() + "/", ShortDir: p.Short(journal.Dir()) + "/", Begin: began,
			Origin: spec.Origin, Notes: notes,
		},
		agents: over.Agents, config: conf, prices: known, quiet: o.view.quiet,
		start: func(cfg fsm.Config) *fsm.Executor {
			return fsm.Fork(cfg, from.memory, began, fsm.Field{Key: "forked_from", Value: spec.Origin.Map()})
		},
	})
}

// context returns the context to begin with: that of the other run, keys the loop file has and it lacks, and --set over
// both. What follows from a key that is set is left out, to be filled in anew.
func (f *forkPlace) context(l *fsm.Loop, o *forkOptions) (*value.Map, error) {
	given, err := forkValues(o.set)
	if err != nil {
		return nil, err
	}
	if err := checkGiven(l, given); err != nil {
		return nil, err
	}
	values := value.NewMap()
	overlay(values, f.memory.Context)
	if _, ok := given.Get("input"); ok {
		values.Delete("input_hash")
	}
	initial := declared(l)
	for _, k := range []string{"max_steps", "max_iterations"} { // caps that hold for the fork, unless the loop means something else by them
		if _, own := initial.Get(k); !own {
			values.Delete(k)
		}
	}
	for _, k := range initial.Keys() {
		if _, ok := values.Get(k); !ok {
			v, _ := initial.Get(k)
			values.Set(k, v)
		}
	}
	return overlay(values, given), nil
}
