package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/move"
	"loops/persistence"
)

type resumeOptions struct {
	name    string
	context []string
	over    project.Overrides
	force   bool
	rerun   bool
	extend  extendFlag
	from    string // state to go on in; "" = where the run stands
	view    viewFlags
	lock    lockFlags

	definition string // "" or definitionRecorded
	background bool
}

func newResumeCommand(a *app) *cobra.Command {
	var o resumeOptions
	cmd := &cobra.Command{
		Use:   "resume NAME|RUN",
		Short: "Go on with a run that was stopped, killed or capped",
		Long: `resume goes on with the newest resumable run of the loop NAME, or with the run RUN (its id as "loops history" shows
it). The state that was interrupted is entered again with everything the run remembers; a result that was recorded is
not asked for again. Flags given to run hold on unless they are given again. A run that was
capped goes on when it gets a higher cap: -n, --max-iterations or --budget set one, and --extend raises the one that holds by
as much as it says, which a later resume keeps. A run that timed out has ended: loops fork begins another from its steps.

An action that was interrupted runs again, unless its state says on_interrupted or idempotent: false. Then --rerun runs it
again, and --from goes on in another state; LOOPS_ATTEMPT tells the action.

A run whose loop file, or that of a sub-loop it is in, changed since it began is refused, with what changed. Then --force
goes on with the files as they are now, and --definition=recorded with the loop as it was recorded with the run, together
with the sub-loops that had been read until then.

It locks the paths of the loop's scope as run does, and waits for them with --queue. With --background the run goes on in a
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
			if err := o.extend.check(cmd, o.over.Budget); err != nil {
				return err
			}
			if err := o.view.check(cmd.CommandPath()); err != nil {
				return err
			}
			if err := o.lock.check(cmd); err != nil {
				return err
			}
			a.fillView(cmd, &o.view)
			if o.definition != "" && o.definition != definitionRecorded {
				return usageError{fmt.Sprintf("--definition %q: expected %s", o.definition, definitionRecorded), "loops resume --help"}
			}
			if o.background && a.detached == nil {
				return a.inBackground(cmd.Context(), o.view)
			}
			return runResume(cmd.Context(), a, &o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.context, "context", nil, "set a context value, `KEY=VALUE` (repeatable)")
	addOverrides(&o.over, flags)
	flags.Var(&o.extend, "extend", "raise limits that hold for the run by that much: "+extendForms)
	flags.BoolVarP(&o.background, "background", "b", false, "go on in a process and session of its own, and return when that is on record")
	o.lock.addFlags(flags)
	flags.BoolVar(&o.force, "force", false, "go on with the loop file as it is now, although it changed")
	flags.StringVar(&o.definition, "definition", "", "`recorded`: go on with the loop as it was recorded with the run")
	flags.BoolVar(&o.rerun, "rerun", false, "run an interrupted action again although its state says idempotent: false")
	flags.StringVar(&o.from, "from", "", "go on in `STATE` of the loop, with everything the run remembers")
	o.view.addFlags(flags)
	o.view.addFormat(cmd)
	return cmd
}

func runResume(ctx context.Context, a *app, o *resumeOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	if err := setPairs(value.NewMap(), o.context); err != nil {
		return err
	}
	store, err := p.Records(ctx, false)
	if err != nil {
		return err
	}
	defer store.Close()
	var run persistence.Run
	err = untilFree(ctx, func() (err error) { run, err = pickResumable(ctx, store.Finder(), o.name); return err })
	if err != nil {
		return err
	}
	tree := a.treeOf(p, run)
	p = tree.project(p.Main(), run.ID)
	memory, err := store.Snapshot(ctx, run.ID)
	if err != nil {
		return err
	}
	folders := movedSince(p, run, memory)
	move.Rebase(memory, folders)
	run.File = move.Path(run.File, folders)
	def := store.Definition(ctx, run.ID)
	def.Rebase(folders)
	changed := &changes{a: a, p: p, run: run, def: def, recorded: o.definition == definitionRecorded, force: o.force, quiet: o.view.quiet}
	l, err := changed.loop()
	if err != nil {
		return err
	}
	over := o.over.Over(run.Options)
	conf, err := p.Config()
	if err != nil {
		return err
	}
	over.Config = conf
	raised, err := o.extendLimits(ctx, store, run, l, over)
	if err != nil {
		return err
	}
	if raised != nil {
		over = o.over.Over(run.Options)
		over.Config = conf
	}
	store.SetDurability(over.Level())
	l, recorded := over.Apply(l)
	a.warnConfig(p, o.view.quiet)
	if err := a.checkHosts(p, l, o.over.Agents.Host, over, conf, o.view, "loops resume --help"); err != nil {
		return err
	}
	known, err := a.checkCost(p, l, over.Agents, conf)
	if err != nil {
		return err
	}
	loops, err := p.Library()
	if err != nil {
		return err
	}
	kept := &project.Keeper{}
	lib := changed.library(loops, l, over, kept)
	stops := catchSignals()
	defer stops.release()
	print := a.newPrinter(o.view)
	if o.from == "" {
		err = a.checkInterrupted(lib, l, run, memory, o.rerun)
	} else if l.States[o.from] == nil {
		err = usageError{fmt.Sprintf("--from %s: %s has no such state", o.from, p.Short(l.File)), "loops show " + run.Loop}
	}
	if err == nil && o.from == "" {
		err = changed.checkSubloops(lib, l, memory)
	}
	if err == nil {
		err = reprice(ctx, store, run, memory, known)
	}
	if err == nil {
		err = o.checkLimits(a, run, l, memory)
	}
	if err != nil {
		return err
	}
	values, err := a.resumeContext(p, l, run, memory, o)
	if err != nil {
		return err
	}
	spec, err := a.spec(p, l, kept.Def, values, recorded)
	if err != nil {
		return err
	}
	tree.keep(&spec)
	begun := memory.Step > 0 && (run.Origin == nil || memory.Step >= run.Origin.Step)
	if err := tree.there(ctx, p, run.ID, begun); err != nil {
		return err
	}
	spec.Loop = run.Loop // also where the file now calls it something else
	o.lock.apply(&spec)
	var began time.Time
	var journal persistence.Journal
	err = stops.before(ctx, func(ctx context.Context) error {
		t := turn{project: p, store: store, flags: o.lock, config: conf, printer: print, quiet: o.view.quiet, spec: spec, resumes: run.ID, leave: run.ID}
		journal, err = a.whenFree(ctx, t, func() (journal persistence.Journal, err error) {
			if err := asItWas(ctx, store, run); err != nil {
				return nil, err
			}
			began = time.Now()
			spec.StartedAt = began
			journal, memory, err = store.Resume(ctx, run.ID, spec)
			return journal, err
		})
		return err
	})
	if err != nil {
		return err
	}
	a.tellUnpaused(unpauseResumed(p, run.ID, began), print, o.view.quiet)
	for _, damage := range journal.Run().Damage {
		print.note("loops: " + damage)
	}
	if err := reprice(ctx, store, journal.Run(), memory, known); err != nil {
		return errors.Join(err, journal.Close(ctx))
	}
	if note := movedText(p, folders, move.Rebase(memory, folders)); note != "" {
		print.note(note)
	}
	fill(values, l, journal.Dir())
	memory.Context, kept.Journal = values, journal
	changed.adopt(memory)
	err = stops.before(ctx, func(ctx context.Context) error { return endSurvivors(ctx, p, journal.Run(), memory, folders, print) })
	if err != nil {
		closeErr := journal.Close(ctx)
		return failure(exitFailed, "run %s: %v; end them by hand, then resume again", run.ID, errors.Join(err, closeErr))
	}
	if o.from != "" {
		goTo(memory, o.from)
	}
	shown := journal.Run()
	shown.State, shown.Step = memory.Current, memory.Step
	return a.drive(ctx, driveSpec{
		tree: tree, begun: begun, project: p, loop: l, library: lib, store: store, journal: journal, printer: print, stops: stops,
		header: header{
			Loop: l, File: p.Short(l.File), Run: shown, RunDir: journal.Dir() + "/", ShortDir: p.Short(journal.Dir()) + "/", Resumed: true, Where: where(memory), Elapsed: memory.Elapsed, Begin: began, Notes: raised,
		},
		agents: over.Agents, config: conf, prices: known, quiet: o.view.quiet,
		start: func(cfg fsm.Config) *fsm.Executor { return fsm.Resume(cfg, memory) },
	})
}

// where names the state a run stands in and, behind it, those of its sub-loops.
func where(m *fsm.Snapshot) string {
	if m.Child == nil {
		return m.Current
	}
	return m.Current + " > " + where(m.Child.Memory)
}

// recentRuns is how many runs are looked at before all of them are.
const recentRuns = 100

// pickResumable returns the run to go on with, or says why there is none.
func pickResumable(ctx context.Context, f project.Finder, arg string) (persistence.Run, error) {
	runs, err := f.Runs(ctx, arg, recentRuns)
	if err == nil && len(runs) == recentRuns && !slices.ContainsFunc(runs, func(r persistence.Run) bool { return r.Resumable }) {
		runs, err = f.Runs(ctx, arg, 0)
	}
	if err != nil {
		return persistence.Run{}, err
	}
	var held *persistence.Run
	for i, r := range runs {
		if project.Alive(r) && !r.Lapsed {
			if held == nil {
				held = &runs[i]
			}
			continue
		}
		if r.Resumable {
			return r, nil
		}
	}
	switch {
	case held != nil:
		if _, paused := f.Project.PausedSince(held.ID); paused && !outOfSight(*held) {
			return persistence.Run{}, failure(exitConflict, "run %s (pid %d) is paused; let it go on with: loops unpause %s", held.ID, held.Owner.PID, quote(string(held.ID)))
		}
		return persistence.Run{}, &persistence.HeldError{ID: held.ID, Owner: held.Owner}
	case len(runs) == 0:
		return persistence.Run{}, nothingTo(ctx, f, "resume", arg, "; start one with: loops run "+quote(arg))
	case runs[0].Status == "":
		return persistence.Run{}, failure(exitNotFound, "nothing to resume: what is recorded of run %s cannot be read: %s", runs[0].ID, strings.Join(runs[0].Damage, "; "))
	case runs[0].Status == persistence.TimedOut:
		return persistence.Run{}, failure(exitNotFound, "nothing to resume: run %s is %s, and its time is over; to begin a new run from its last step, with all of the time: loops fork %s --at last", runs[0].ID, runs[0].Status, quote(string(runs[0].ID)))
	case len(runs) == 1:
		return persistence.Run{}, failure(exitNotFound, "nothing to resume: run %s is %s", runs[0].ID, runs[0].Status)
	}
	return persistence.Run{}, failure(exitNotFound, "nothing to resume: none of the %d runs of %s can go on; the newest is %s", len(runs), arg, runs[0].Status)
}

// loadRecorded reads the loop file that a run was started with, or the one its name means where none is known. or is what
// a person can do where it is gone.
func (a *app) loadRecorded(p *project.Project, run persistence.Run, or string, quiet bool) (*fsm.Loop, error) {
	if run.File == "" {
		return a.loadNamed(p, run.Loop, quiet)
	}
	path := p.Absolute(run.File)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if other, err := p.Resolve(run.Loop); err == nil {
			return a.loadFile(p, other, quiet) // the project moved
		}
		return nil, failure(exitNotFound, "run %s was started from %s, which is gone; put it back, then resume%s", run.ID, p.Short(path), or)
	}
	return a.loadFile(p, path, quiet)
}

// checkInterrupted refuses to run an interrupted action again whose state says idempotent: false.
func (a *app) checkInterrupted(lib fsm.Library, l *fsm.Loop, run persistence.Run, memory *fsm.Snapshot, rerun bool) error {
	state, err := memory.Unrepeatable(l, lib)
	if err != nil || state == "" || rerun { // what cannot be read is said by checkSubloops
		return nil
	}
	return failure(exitAwaiting, "run %s was interrupted while the action of state %q ran, which says idempotent: false: nobody knows how far it came. Look what it did, then run it again with\n  %s\nor go on in another state with\n  %s",
		run.ID, state, a.command("resume --rerun", string(run.ID)), a.command("resume --from STATE", string(run.ID)))
}

// goTo makes a run go on in another state. What it did so far it remembers.
func goTo(m *fsm.Snapshot, state string) {
	if m.Previous = m.Current; m.Previous == state {
		m.Previous = "" // this is not the machine's own next try
	}
	m.Current, m.Phase, m.CappedAt = state, fsm.PhasePending, ""
	m.Child, m.Result, m.Outcome, m.JustRouted, m.Flushing = nil, nil, nil, true, false
	m.PendingRequest, m.PendingPayload = "", ""
}

// resumeContext returns the context to go on with: the recorded one, keys the loop file has and it lacks, and
// --context over both. The caps follow the flags.
func (a *app) resumeContext(p *project.Project, l *fsm.Loop, run persistence.Run, memory *fsm.Snapshot, o *resumeOptions) (*value.Map, error) {
	values := memory.Context.Clone()
	initial := declared(l)
	for _, k := range initial.Keys() {
		if _, ok := values.Get(k); !ok {
			v, _ := initial.Get(k)
			values.Set(k, v)
		}
	}
	if o.over.MaxSteps > 0 {
		values.Set("max_steps", int64(o.over.MaxSteps))
	}
	if o.over.MaxIterations > 0 {
		values.Set("max_iterations", int64(o.over.MaxIterations))
	}
	given := value.NewMap()
	if err := setPairs(given, o.context); err != nil {
		return nil, err
	}
	if err := checkGiven(l, given); err != nil {
		return nil, err
	}
	a.tellUnused(p, l, o.context, o.view.quiet)
	overlay(values, given)
	planned := values.Clone()
	fill(planned, l, plannedRunDir(p, l))
	return values, a.preflight(p, l, planned)
}
