package engine

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// A NothingError means that there is nothing to do something to, because no run is meant.
type NothingError struct {
	Finder project.Finder
	Verb   string
	Arg    string // what was asked for
	More   Text   // what to do where there is such a loop
}

func (e *NothingError) Error() string { return "nothing to " + e.Verb + ": there is no run " + e.Arg }

// Resume continues a run. It returns when that is on record; compare Start.
func (e *Engine) Resume(ctx context.Context, r ResumeRequest, o Observer) (*Run, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	j, err := e.prepareResume(ctx, &r)
	if err != nil {
		return nil, err
	}
	return e.carry(ctx, j, o)
}

// prepareResume finds out how a run is to be resumed, and whether it can be.
func (e *Engine) prepareResume(ctx context.Context, r *ResumeRequest) (*job, error) {
	p := e.p
	if err := unnamed(r.Run); err != nil {
		return nil, err
	}
	if err := SetPairs(value.NewMap(), r.Context); err != nil {
		return nil, err
	}
	if r.Placed || r.Here {
		p.Admit(persistence.ID(r.Run), r.Here)
	}
	look, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	var run persistence.Run
	err = untilFree(ctx, endedIn(look), func() (err error) {
		run, err = pickResumable(ctx, look.Finder(), r.Run, r.RetryFailed)
		return err
	})
	if err != nil {
		return nil, err
	}
	tree := e.treeOf(p, run)
	p = tree.project(p.Main(), run.ID)
	memory, err := look.Snapshot(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	folders := movedSince(p, run, memory)
	project.RebasePaths(memory, folders)
	run.File = project.MovedPath(run.File, folders)
	def := look.KeptDefinition(ctx, run.ID)
	def.Rebase(folders)
	if r.Shipped != nil {
		if def, err = r.Shipped.definition(p); err != nil {
			return nil, err
		}
	}
	changed := &changes{e: e, p: p, run: run, def: def, recorded: r.Shipped != nil ||
		r.Definition == RecordedDefinition, force: r.Force, warn: r.Warn, inner: map[string]*fsm.Loop{}}
	l, err := changed.loop()
	if err != nil {
		return nil, err
	}
	conf, err := p.Config()
	if err != nil {
		return nil, err
	}
	commands, err := look.AllCommands(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	before, lastRaise := withRaises(project.Overrides{Config: conf}.Over(run.Options), l, run, memory, commands)
	held, options := before.Apply(l)
	over := r.Over.Over(options)
	over.Config = conf
	raised, err := r.extendLimits(memory, l, over)
	if err != nil {
		return nil, err
	}
	if raised != nil {
		over = r.Over.Over(options)
		over.Config = conf
	}
	l, recorded := over.Apply(l)
	recorded = keepOptions(recorded, run, inspect.StartedByOption, inspect.ScheduledAtOption, filesOption)
	e.warnSettings(conf, r.Warn)
	if err := e.checkHosts(p, l, r.Over.Agents.Host, over, conf, r.Warn.say, OpResume); err != nil {
		return nil, err
	}
	if err := e.checkLimits(p, l, conf); err != nil {
		return nil, err
	}
	if err := e.checkSnapshots(p, l); err != nil {
		return nil, err
	}
	known, err := e.checkCost(p, l, over.Agents, conf)
	if err != nil {
		return nil, err
	}
	loops, err := p.Library()
	if err != nil {
		return nil, err
	}
	store, err := e.records(ctx, false, over.Level())
	if err != nil {
		return nil, err
	}
	j := &job{
		again: fsm.ItemsAgain{Failed: r.RetryFailed, Interrupted: r.Rerun}, project: p, loop: l,
		keeper: &project.Keeper{}, store: store, over: over, config: conf, prices: known, tree: tree, lock: r.Lock,
		resumes: run.ID, leave: run.ID,
	}
	if tree != nil {
		tree.boxed = j.boxed()
	}
	j.library = changed.library(loops, l, over, j.keeper)
	if r.From == "" {
		err = checkInterrupted(j.library, l, run, memory, r.Rerun)
	} else if l.States[r.From] == nil {
		err = &Refusal{
			Kind: Usage,
			Text: textf("%s: %s has no such state", Setting{SetFrom, r.From}, p.Short(l.File)),
			See:  Do(OpShow, run.Loop),
		}
	}
	if err == nil && r.RetryFailed && (r.From != "" || memory.List() == nil) {
		var again Text
		if again, err = failedItems(ctx, look.Finder(), run); err == nil {
			err = refuse(Undecided, "run %s is not in a state with for_each, so no items can be tried again; %s",
				run.ID, again)
		}
	}
	if err == nil && r.From == "" {
		err = changed.checkSubloops(j.library, l, memory, "")
	}
	if err == nil {
		err = reprice(ctx, look, run, memory, known)
	}
	if err == nil {
		err = r.checkLimits(run, l, held, memory)
	}
	if err != nil {
		return nil, err
	}
	e.Unused(l, nil, r.Context, r.Warn)
	values, err := resumeContext(p, l, memory, r)
	if err != nil {
		return nil, err
	}
	if j.spec, err = e.spec(p, l, j.keeper.Def, values, recorded); err != nil {
		return nil, err
	}
	// else it continues as it began here
	if !changed.recorded && (def == nil || len(folders) > 0 || !bytes.Equal(j.spec.Definition, def.Encode())) {
		j.vet = l.File
	}
	tree.keep(&j.spec)
	j.begun = memory.Step > 0 && (run.Origin == nil || memory.Step >= run.Origin.Step)
	if err := tree.there(ctx, p, run.ID, j.begun); err != nil {
		return nil, err
	}
	j.spec.Loop = run.Loop // also where the file now calls it something else
	r.Lock.apply(&j.spec)
	var began time.Time
	j.take = func(ctx context.Context, spec persistence.Spec) (journal persistence.Journal, err error) {
		if err := asItWas(ctx, store, run); err != nil {
			return nil, err
		}
		j.hear(ctx)
		began = time.Now()
		spec.StartedAt = began
		journal, memory, err = store.Resume(ctx, run.ID, spec)
		return journal, err
	}
	j.ready = func(ctx context.Context) (func(fsm.Config) *fsm.Executor, error) {
		if r.Placed {
			if err := checkPlaced(ctx, store, run.ID); err != nil {
				return nil, err
			}
		}
		j.liftPause(ctx)
		if run.Foreign { // once: from here on it is not foreign
			r.Warn.say(textf("run %s was recorded by little-loops%s; from now on its records are those of loops, in "+
				"%s when it has ended", run.ID, olderLayout(run), p.Short(filepath.Join(p.Loops, ".history"))))
		}
		told, lasting := store.CheckTaken(ctx, j.journal.Run())
		for _, damage := range told {
			j.tell(Said{Run: run.ID, Text: textf("%s", damage), Problem: true})
		}
		if len(lasting) > 0 {
			j.tell(Said{
				Run: run.ID,
				Text: textf("The record of run %s is damaged, and the run continues with what can be read. "+
					"Accept that: %s", run.ID, Do(OpSweep, "", Setting{SetAcceptDamage, string(run.ID)})),
			})
		}
		if err := reprice(ctx, store, j.journal.Run(), memory, known); err != nil {
			return nil, err
		}
		if n := project.RebasePaths(memory, folders); n > 0 {
			j.tell(Said{
				Run: run.ID,
				Text: textf("The project was in %s: %s that the run remembers now %s %s.", folders[0].From,
					humanize.Count(n, "text"), map[bool]string{true: "names", false: "name"}[n == 1], p.Dir),
			})
		}
		Fill(values, l, j.journal.Dir())
		memory.Context = values
		if lastRaise > 0 {
			memory.Raised = &fsm.Raised{N: lastRaise} // what came until now is in the overrides
		}
		j.raises = raisesBehind(j.asked, lastRaise)
		changed.adopt(memory, "")
		if err := endSurvivors(ctx, p, j.journal.Run(), memory, folders, j.tell); err != nil {
			return nil, refuse(Failed, "run %s: %v; end them by hand, then resume again", run.ID, err)
		}
		switch {
		case r.From != "":
			goTo(memory, r.From)
		case r.RetryFailed:
			memory.Ending = nil // the list is done again instead
		}
		shown := j.journal.Run()
		shown.State, shown.Step, shown.Damage = memory.Current, memory.Step, lasting
		j.header = Header{
			Loop: l, File: p.Short(l.File), Run: shown, Resumed: true, Where: where(memory),
			Elapsed: memory.Elapsed, Begin: began, Notes: raised,
		}
		return func(cfg fsm.Config) *fsm.Executor {
			memory.Context = j.secrets.remembered(memory.Context)
			return fsm.Resume(cfg, memory)
		}, nil
	}
	return j, nil
}

// olderLayout says that the files of a run of little-loops have the name of its loop alone, as those of its
// first versions had.
func olderLayout(run persistence.Run) string {
	if string(run.ID) == run.Loop {
		return " in its older layout"
	}
	return ""
}

// where names the state a run is in and, after it, those of its sub-loops or branches.
func where(m *fsm.Snapshot) string {
	var inside []string
	for branch, c := range m.Inside() {
		text := where(c.Memory)
		switch {
		case c.Inline(branch, m):
			text = branch
		case branch != "":
			text = branch + " > " + text
		}
		inside = append(inside, text)
	}
	if len(inside) == 0 {
		return m.Current
	}
	return m.Current + " > " + strings.Join(inside, " + ")
}

// RecentRuns is how many runs are looked at before all of them are.
const RecentRuns = 100

// pickResumable returns the run to continue with, or an error that explains why there is none.
func pickResumable(ctx context.Context, f project.Finder, arg string, retryItems bool) (persistence.Run, error) {
	runs, err := f.Runs(ctx, arg, RecentRuns)
	if err == nil && len(runs) == RecentRuns && !slices.ContainsFunc(runs, func(r persistence.Run) bool {
		return r.Resumable
	}) {
		runs, err = f.Runs(ctx, arg, 0)
	}
	if err != nil {
		return persistence.Run{}, err
	}
	var held *persistence.Run
	for i, r := range runs {
		if alive(r) && !r.Lapsed {
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
		if _, paused := f.Store.PausedSince(ctx, *held); paused {
			return persistence.Run{}, refuse(Conflict, "run %s (pid %d) is paused; continue it with: %s", held.ID,
				held.Owner.PID, Do(OpUnpause, string(held.ID)))
		}
		return persistence.Run{}, &persistence.HeldError{ID: held.ID, Owner: held.Owner}
	case len(runs) == 0:
		return persistence.Run{}, &NothingError{
			Finder: f, Verb: "resume", Arg: arg,
			More: textf("; start one with: %s", Do(OpRun, arg)),
		}
	case runs[0].Status == "":
		return persistence.Run{}, refuse(NotFound, "nothing to resume: what is recorded of run %s cannot be read: %s",
			runs[0].ID, strings.Join(runs[0].Damage, "; "))
	case retryItems:
		again, err := failedItems(ctx, f, runs[0])
		if err != nil {
			return persistence.Run{}, err
		}
		return persistence.Run{}, refuse(NotFound, "nothing to resume: run %s is %s; %s", runs[0].ID, runs[0].Status,
			again)
	case CanRetry(runs[0]):
		return persistence.Run{},
			refuse(NotFound, "nothing to resume: run %s is %s. To begin a new run from the step that "+
				"decided that: %s", runs[0].ID, runs[0].Status, AgainAfter(runs[0].ID, runs[0].FailedItems))
	case len(runs) == 1:
		return persistence.Run{}, refuse(NotFound, "nothing to resume: run %s is %s", runs[0].ID, runs[0].Status)
	}
	return persistence.Run{},
		refuse(NotFound, "nothing to resume: none of the %d runs of %s can be resumed; the newest is %s", len(runs),
			arg, runs[0].Status)
}

// checkInterrupted refuses to run an interrupted action again whose state says idempotent: false.
func checkInterrupted(lib fsm.Library, l *fsm.Loop, run persistence.Run, memory *fsm.Snapshot, rerun bool) error {
	state, err := memory.Unrepeatable(l, lib)
	if err != nil || state == "" || rerun { // what cannot be read is said by checkSubloops
		return nil
	}
	return refuse(Undecided, "run %s was interrupted while the action of state %q ran, which says idempotent: "+
		"false: how far it came is not known. Check what it did, then run it again with\n  %s\n"+
		"or resume in another state with\n  %s",
		run.ID, state, Do(OpResume, string(run.ID), Setting{SetRerun, ""}),
		Do(OpResume, string(run.ID), Setting{SetFrom, "STATE"}))
}

// goTo makes a run continue in another state. What it did so far it remembers.
func goTo(m *fsm.Snapshot, state string) {
	if m.Previous = m.Current; m.Previous == state {
		m.Previous = "" // this is not the machine's own next try
	}
	m.Current, m.Phase, m.CappedAt = state, fsm.PhasePending, ""
	m.Child, m.Branches, m.Result, m.Ending, m.Outcome, m.JustRouted, m.Flushing = nil, nil, nil, nil, nil, true, false
	m.PendingRequest, m.PendingPayload = "", ""
}

// resumeContext returns the context to continue with: the recorded one, keys the loop file has and it lacks, and
// --context over both. The caps follow the flags.
func resumeContext(p *project.Project, l *fsm.Loop, memory *fsm.Snapshot, o *ResumeRequest) (*value.Map, error) {
	values := memory.Context.Clone()
	initial := declared(l)
	for _, k := range initial.Keys() {
		if _, ok := values.Get(k); !ok {
			v, _ := initial.Get(k)
			values.Set(k, v)
		}
	}
	if o.Over.MaxSteps > 0 {
		values.Set("max_steps", int64(o.Over.MaxSteps))
	}
	if o.Over.MaxIterations > 0 {
		values.Set("max_iterations", int64(o.Over.MaxIterations))
	}
	given := value.NewMap()
	if err := SetPairs(given, o.Context); err != nil {
		return nil, err
	}
	if err := giveTypes(l, given); err != nil {
		return nil, err
	}
	if err := CheckGiven(l, given); err != nil {
		return nil, err
	}
	Overlay(values, given)
	planned := values.Clone()
	Fill(planned, l, PlannedRunDir(p, l))
	return values, Preflight(p, l, planned)
}
