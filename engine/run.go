package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"loops/engine/action"
	"loops/fsm"
	"loops/internal/config"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/process"
	"loops/persistence"
)

// Environment variables of runs and their actions.
const (
	EnvRunID    = "LOOPS_RUN_ID"   // set for actions: the run they belong to
	EnvRunDir   = "LOOPS_RUN_DIR"  // set for actions: the working folder of that run
	EnvIdentity = "LOOPS_IDENTITY" // who answers questions: the name of the user, and those of teams
	EnvVerify   = "LOOPS_VERIFY"   // 1: check the machine's invariants
)

// Grace is how long a process that was asked to end has before it is killed.
const Grace = 5 * time.Second

// A Run is a run that this process carries. Its methods may be called by several goroutines at once.
type Run struct {
	id     persistence.ID
	header Header
	runner *action.Runner
	stop   context.CancelCauseFunc
	wake   chan struct{}
	hold   hold
	drain  chan struct{} // closed when no item of a list is to begin any more
	raises raises
	notice notice // posted when a pause was asked for, or a signal came
	inbox  *inbox
	look   chan struct{}      // of one element: there may be a command
	onTape chan struct{}      // closed when the run is on record
	done   chan struct{}      // closed when it has ended
	result Result             // once done is closed
	err    error              // once done is closed
	retain func(patient bool) // ends what retention does beside the run
}

// A Result is how a run ended.
type Result struct {
	Outcome fsm.Outcome
	Next    Remedy // what resumes it; without a command where it cannot be resumed
}

// Header is what was known when the run began.
func (r *Run) Header() Header { return r.header }

// ID is the id of the run.
func (r *Run) ID() persistence.ID { return r.header.Run.ID }

// Wait waits until the run has ended, or until ctx ends, which does not end the run. Observers may not have received
// all notices yet: Engine.Close waits for that. An error is a *Refusal that explains why the run stopped without an
// outcome, or the result of it is not sure.
func (r *Run) Wait(ctx context.Context) (Result, error) {
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
}

// Stop ends the action of the run, and then the run, which is recorded as interrupted by the signal and can be
// resumed. It returns at once.
func (r *Run) Stop(signal string) { r.stop(&fsm.Stop{Signal: signal}) }

// Kill kills the action of the run at once; a run that is not stopped judges that result.
func (r *Run) Kill() { r.runner.Force() }

// Wake ends the wait that the run is in, if it is in one.
func (r *Run) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Look has the run look at once for commands that were recorded for it. It would by itself, within a second.
func (r *Run) Look() {
	select {
	case r.look <- struct{}{}:
	default: // it is about to
	}
}

// carry takes a run and drives it to its end, on a goroutine. It returns when the run is on record.
func (e *Engine) carry(ctx context.Context, j *job, o Observer) (*Run, error) {
	if err := e.trusts(ctx, j); err != nil {
		return nil, err
	}
	endTell := func() {}
	mine := &subscription{}
	if o != nil {
		mine, endTell = newSubscription(o)
	}
	j.tell = func(n Notice) {
		if o != nil {
			mine.put(n)
		}
		e.bus.tell(n)
	}
	var err error
	if j.secrets, err = e.openSecrets(ctx, j); err != nil {
		endTell()
		return nil, err
	}
	r, err := e.taken(ctx, j)
	if err != nil {
		endTell()
		return nil, err
	}
	start, err := j.ready(ctx)
	if err == nil {
		j.secrets.restore(j.project, j.journal.Dir(), j.journal.Run().Origin, j.tell, j.journal.Run().ID)
		removeLeft(j.journal.Dir())
	}
	if err != nil {
		err = errors.Join(err, j.journal.Close(context.WithoutCancel(ctx)))
		endTell()
		return nil, err
	}
	r.hold.set(j.paused, j.pausedBy)
	e.keep(r)
	go func() {
		defer e.runs.Done()
		r.result, r.err = e.drive(j, r, start)
		e.drop(r)
		close(r.done)
		// only Close waits for it
		r.retain(r.err == nil && r.result.Outcome.Signal == "" && r.result.Outcome.TerminatedBy != fsm.EndUserStopped)
		endTell()
	}()
	select {
	case <-r.onTape:
		return r, nil
	case <-r.done:
		if r.err != nil {
			return r, r.err
		}
		return r, nil
	}
}

// taken makes this process the owner of the run.
func (e *Engine) taken(ctx context.Context, j *job) (*Run, error) {
	take := func() (persistence.Journal, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return j.take(ctx, j.spec)
	}
	t := turn{
		project: j.project, store: j.store, lock: j.lock, config: j.config, spec: j.spec, resumes: j.resumes,
		leave: j.leave, tell: j.tell,
	}
	journal, err := e.whenFree(ctx, t, take)
	if err != nil {
		return nil, err
	}
	j.journal, j.keeper.Journal = journal, journal
	id := journal.Run().ID
	j.project = j.tree.project(j.project, id)
	box := &inbox{id: id, store: j.store}
	return &Run{
		id: id, inbox: box, look: make(chan struct{}, 1), drain: make(chan struct{}),
		wake: make(chan struct{}, 1), onTape: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

// drive drives a run to its end, releases it and reports how it ended.
func (e *Engine) drive(j *job, r *Run, start func(fsm.Config) *fsm.Executor) (Result, error) {
	ctx, stop := context.WithCancelCause(context.Background())
	ending, stopEnd := context.WithCancelCause(context.Background())
	defer stopEnd(nil)
	r.stop = func(cause error) {
		if ctx.Err() != nil { // the machine has ended, or was stopped before: git at the end of the run is ended
			stopEnd(cause)
		}
		stop(cause)
	}
	site := openSite(j.project, j.journal.Dir())
	defer site.close()
	r.runner = e.runner(j, site)
	control := &controlSocket{
		run: r.id,
		send: func(ctx context.Context, c persistence.Command) (persistence.Command, error) {
			defer r.Look()
			return j.store.Send(ctx, r.id, c)
		},
	}
	defer control.close()
	r.runner.Control = control.path
	r.header = e.header(j, r.runner)
	seen, next := newRecording(j, r), &successor{}
	kept := e.keeping(j, r)
	folders := e.walks(j)
	check := e.checks(j, folders)
	shots := e.snapshots(j, r, folders, kept != nil)
	if conf, _ := j.project.Main().Declared(); len(conf.Events) > 0 { // before its first event
		if err := j.project.MakeOutbox(r.id); err != nil {
			j.tell(Said{
				Run: r.id, Text: textf("Events of this run are not sent if it is killed: %v", err),
				Problem: true,
			})
		}
	}
	executor := start(e.config(j, r, site, seen, next, kept, shots, check))
	if err := j.secrets.seal(); err != nil {
		j.tell(Said{Run: r.id, Text: textf("%v", err), Problem: true})
	}
	j.tell(Began{j.header})
	r.retain = e.retain(r.id, j.tell)
	if r.hold.held() != nil {
		j.tell(Said{Run: r.id, Text: textf("The run is paused. Continue it with: %s", Do(OpUnpause, string(r.id)))})
	}
	var (
		outcome fsm.Outcome
		err     error
	)
	gone := whileOwned(j.journal, func() {
		j.tell(Said{
			Run:  r.id,
			Text: textf("The run was taken over, or its lease ran out and could not be renewed: killing the action."),
		})
		stop(errLost)
		r.runner.Force()
	}, func() { e.whileObeying(j, r, site, seen.mine, func() { outcome, err = executor.Run(ctx) }) })
	stop(nil)
	r.runner.Close()
	defer folders.close()
	defer shots.close()
	if s := filesRefused(err); s != nil && !gone {
		if o, recorded := e.suspendFiles(context.Background(), j, r.id, seen, s); recorded {
			outcome, err = o, nil
		}
	}
	result, err := e.end(context.Background(), ending, j, r, site, outcome, err, gone, seen.limit)
	if kept != nil && kept.left != "" {
		j.tell(Said{Run: r.id, Text: textf("Not kept for other machines: %s", kept.left)})
	}
	next.settle(err == nil)
	return result, err
}

// runner returns what carries out the actions of a run.
func (e *Engine) runner(j *job, site *site) *action.Runner {
	run := j.journal.Run()
	r := &action.Runner{
		Limit: persistence.ProjectCircuit(j.project.Loops).Report,
		There: site.there,
		Dir:   j.project.WorkDir(),
		Env:   e.treeEnv(j.tree, j.project.RecordsMark()+string(run.ID)),
		RunID: string(run.ID),

		ScheduledAt: inspect.ScheduledAt(run),

		Mark:    j.project.Mark() + persistence.RunMark(run.ID, run.Segment),
		RunDir:  j.journal.Dir(),
		Grace:   Grace,
		Durable: j.durable(),
		Prices:  j.prices,
		Adopt:   e.o.Adopt,
	}
	r.Mask, r.Seal = j.secrets.mask, j.secrets.seal
	r.Env = append(r.Env[:len(r.Env):len(r.Env)], j.secrets.missing(j.loop.Secrets)...)
	r.Env, r.Egress = j.secrets.hidden(r.Env), j.secrets.egress
	r.Before = before(j.project.Main(), r.Env, j.project.Tree, r.RunDir, j.boxed())
	if e.o.Trace != nil {
		r.Trace = func(a fsm.Action) string { return e.o.Trace(run.ID, a) }
	}
	if e.o.ToolCall != nil {
		r.ToolCall = e.o.ToolCall(j.project.Dir)
	}
	ConfigureAgents(j.project, r, j.over.Agents, j.config)
	ConfigureSandbox(r, j.config)
	return r
}

// header completes what is reported of a run as it begins.
func (e *Engine) header(j *job, runner *action.Runner) Header {
	j.header.RunDir, j.header.ShortDir = j.journal.Dir()+"/", j.project.Short(j.journal.Dir())+"/"
	j.header.Agents = e.agentLine(j.project, j.loop, runner)
	j.header.Sandbox = sandboxLine(j.loop, runner)
	j.header.Guard = guardLine(j.loop)
	if text := j.secrets.useless(j.loop); text.Format != "" {
		j.tell(Said{Run: j.journal.Run().ID, Text: text, Problem: true})
	}
	j.tree.header(&j.header, j.project)
	return j.header
}

// config is what the machine of a run works with.
func (e *Engine) config(j *job, r *Run, site *site, seen *recording, next *successor, kept *keeping, shots *snapshots,
	check *checks,
) fsm.Config {
	verify, _ := e.getenv(EnvVerify)
	return fsm.Config{
		Run: fsm.RunName{
			ID: string(r.id), Attempt: j.journal.Run().Segment + 1,
			ScheduledAt: inspect.ScheduledAt(j.journal.Run()),
		},
		Loop:              j.loop,
		Dir:               j.project.WorkDir(),
		PermanentVerdicts: j.config != nil && j.config.PermanentFailures == config.PermanentVerdict,
		World: fsm.World{
			Runner: shots.runner(r.runner, kept.runner(check.runner(r.runner))),
			Agents: r.runner,
			Files:  maskedFiles{action.Files{Dir: j.project.WorkDir(), There: site.there}, j.secrets},
			Prepare: check.prepare(
				kept.prepare(shots.prepare(j.tree.prepare(j.project, r.id, j.begun, j.durable())))),
			Keep:  kept.keep(),
			Facts: e.facts(j, r.id),
			Lessons: kept.lessons(&persistence.LessonFolder{
				Dir:  persistence.ProjectLessons(j.project.Loops).Dir,
				Mask: j.secrets.mask.Text, MaskOwn: j.secrets.mask.Again,
			}),
			Trees:      guardedTrees{check.folders},
			Start:      check.start,
			Laid:       check.laid,
			Gone:       j.project.TreeGone,
			Library:    secretLibrary{j.library, j.secrets, j.trustOf(context.Background())},
			MemoryUsed: process.MemoryUsed,
			Getenv:     j.secrets.getenv,
			Secret:     j.secrets.lookup,
			Circuit:    persistence.ProjectCircuit(j.project.Loops),
			Quotas:     persistence.ProjectCircuit(j.project.Loops),
			Purse:      e.purse(j, r.id),
			Watcher:    maskedWatcher{Watcher{j.store}, j.secrets},
			Inbox:      maskedInbox{r.inbox, j.secrets},
			Spawn:      next.spawn(e, j, r.runner, r.id),
			Receipt:    e.receipt(j, r, check),
			Merge:      j.tree.merge(j.project, r.id),
		},
		Journal: fsm.Journal{
			Recorder: j.journal,
			History: func(ctx context.Context, after uint64) iter.Seq2[fsm.Event, error] {
				return j.store.Events(ctx, r.id, after)
			},
			Boot:    process.Boot(),
			Observe: seen.observe,
			Why:     seen.why,
			Verify:  verify == "1",
		},
		Control: fsm.Control{
			Park:    j.over.Park,
			Again:   j.again,
			Wake:    r.wake,
			Held:    r.hold.held,
			HeldBy:  r.hold.by,
			Raise:   r.raises.next,
			Changed: r.notice.changed,
			Drain:   r.drain,
		},
	}
}

// carriedOn reports whether workers continue a run that ended so, and its user has nothing to do.
func (j *job) carriedOn(ctx context.Context, id persistence.ID, outcome fsm.Outcome) bool {
	if !(persistence.Run{Status: persistence.StatusOf(outcome), Ended: outcome.TerminatedBy}).Due() {
		return false
	}
	workers, err := ForWorkers(ctx, j.store, id)
	return err == nil && workers
}

// end releases a run and reports how it ended. ending ends what git does for it.
func (e *Engine) end(ctx, ending context.Context, j *job, r *Run, site *site, outcome fsm.Outcome, err error,
	gone bool, limit Setting,
) (Result, error) {
	run := j.journal.Run()
	id := run.ID
	if err != nil {
		// What is recorded stays; the run counts as interrupted once no process holds it.
		_ = j.journal.Close(ctx) // its error would say the same again
		if lacks, ok := errors.AsType[treeFailure](err); ok {
			return Result{}, e.noTree(ctx, j, lacks)
		}
		return e.stopped(ctx, j, site, run, err)
	}
	j.tree.leave(ending, j.project, id, outcome)
	left := j.journal.Close(ctx)
	if left != nil && !isRecorded(left) {
		return e.stopped(ctx, j, site, run, left)
	}
	result := Result{Outcome: outcome}
	if persistence.StatusOf(outcome).CanGoOn(outcome.Retriable()) && !j.carriedOn(ctx, id, outcome) {
		result.Next = ResumeRemedy(outcome.TerminatedBy, string(id), j.loop.MaxSteps, j.loop.MaxIterations)
		if outcome.TerminatedBy == fsm.EndBudget {
			result.Next = Do(OpResume, string(id), limit)
		}
	}
	j.tell(Ended{id, outcome, result.Next})
	j.tree.finish(ending, j.project, id, outcome, j.tell)
	if left != nil {
		j.tell(Said{Run: id, Text: leftUndone(j, site, run, left), Problem: true})
	}
	if gone {
		return result, refuse(NotRecorded, "run %s was stopped: %s could not be reached for as long as a lease is, "+
			"so that another process could have begun its action again; all that happened is recorded", id,
			j.store.Name)
	}
	return result, nil
}

// isRecorded reports whether an error of Close leaves a run recorded whole, so that the record says how it ended.
func isRecorded(err error) bool {
	_, archive := errors.AsType[*persistence.ArchiveError](err)
	_, other := errors.AsType[*persistence.LeftoverError](err)
	return archive || other
}

// leftUndone says what could not be done when a run had ended, which is on record.
func leftUndone(j *job, s *site, run persistence.Run, err error) Text {
	place, sweep := j.store.Place(j.project, run), Do(OpSweep, "")
	if m := s.moved(); m != nil {
		place = m.rebased(filepath.Join(j.project.Dir, place))
		sweep.Dir = m.project
	}
	if unarchived, ok := errors.AsType[*persistence.ArchiveError](err); ok {
		return textf("the run is recorded in %s, but could not be moved to the archive: %s. Fix that, then: %s",
			place, humanize.OneLine(unarchived.Err), sweep)
	}
	left, _ := errors.AsType[*persistence.LeftoverError](err)
	return textf("the run is recorded in %s, but other files could not be written or removed: %s. Fix that, then: %s",
		place, humanize.OneLine(left.Err), sweep)
}

// ResumeRemedy resumes a run that ended so. One that was capped needs a higher cap; as many steps or passes as
// it had (0 = not known) are proposed. What a budget needs is in its event, which RaisedLimit reads.
func ResumeRemedy(ended, id string, steps, passes int) Remedy {
	switch ended {
	case fsm.EndMaxSteps:
		return Do(OpResume, id, Setting{SetExtend, fmt.Sprintf("steps=%d", cmp.Or(steps, 20))})
	case fsm.EndBudget:
		return Do(OpResume, id, AnyLimit)
	case fsm.EndMaxIterations:
		return Do(OpResume, id, Setting{SetExtend, fmt.Sprintf("passes=%d", cmp.Or(passes, 5))})
	}
	return Do(OpResume, id)
}

// AnyLimit is the setting for a run that reached a limit of its budget, where it is not known which.
var AnyLimit = Setting{SetExtend, "LIMIT=N"}
