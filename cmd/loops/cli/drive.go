package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/config"
	"loops/internal/plain"
	"loops/internal/proc"
	"loops/persistence"
	"loops/persistence/sqlstore"
	"loops/reconcile"
)

// Environment variables that runs and their actions share.
const (
	envRunID  = "LOOPS_RUN_ID" // set for actions: the run they belong to
	envVerify = "LOOPS_VERIFY" // 1: check the machine's invariants
)

// grace is how long a process that was asked to end has before it is killed.
const grace = 5 * time.Second

// A driveSpec is a run that this process owns and is about to carry on.
type driveSpec struct {
	project *project.Project
	loop    *fsm.Loop
	library fsm.Library
	store   *project.Records
	journal persistence.Journal
	printer printer
	stops   *stops
	header  header
	agents  project.Agents
	config  *config.Config
	prices  project.Prices
	quiet   bool // nothing is said of what goes as it should
	start   func(fsm.Config) *fsm.Executor
	tree    *runTree // nil = the run is in the main checkout
	begun   bool     // its actions have been in the tree
}

// drive runs a run to its end, lets go of it and says how it ended. Its error carries the exit code.
func (a *app) drive(ctx context.Context, d driveSpec) error {
	if _, set := a.getenv("GOGC"); !set {
		// A run may go on for days beside the work it drives: less garbage at a time takes decisions some 8 % more processor
		// time, and two megabytes less memory.
		debug.SetGCPercent(50)
	}
	run := d.journal.Run()
	id := run.ID
	site := openSite(d.project, d.journal.Dir())
	defer site.close()
	durable := d.store.Level() != persistence.None
	runner := &action.Runner{
		There: site.there,
		Dir:   d.project.WorkDir(), Env: a.treeEnv(d.tree, d.project.RecordsMark()+string(id)), RunID: string(id), Mark: d.project.Mark() + persistence.RunMark(id, run.Segment), RunDir: d.journal.Dir(), Grace: grace,
		Durable: durable, ToolCall: toolCall(d.project.Dir), Prices: d.prices, Adopt: a.adopt,
	}
	agents(d.project, runner, d.agents, d.config)
	verify, _ := a.getenv(envVerify)
	pause := newHold(d.project.PauseFile(id))
	told := a.ringFor(d, site)
	limit := "LIMIT=MORE"
	observe := func(e fsm.Event) {
		if e.Kind == fsm.EventBudgetExceeded {
			limit = raisedLimit(e)
		}
		d.printer.event(e)
		told.event(e)
	}
	executor := d.start(fsm.Config{
		Loop: d.loop, Runner: runner, Recorder: d.journal, Files: action.Files{Dir: d.project.WorkDir(), There: site.there}, Dir: d.project.WorkDir(), Prepare: d.tree.prepare(d.project, id, d.begun, durable), Library: d.library, MemoryUsed: proc.MemoryUsed, Getenv: a.getenv,
		Circuit: persistence.ProjectCircuit(d.project.Loops), Wake: d.stops.wake, Held: pause.held, Observe: observe, Verify: verify == "1",
	})
	d.header.Agents = a.agentLine(d.project, d.loop, runner)
	d.tree.header(&d.header, d.project)
	d.header.Wake = a.command("retry-now", string(id))
	d.printer.header(d.header)
	ctx, stop := context.WithCancelCause(ctx)
	var (
		outcome fsm.Outcome
		err     error
		gone    bool
	)
	retained := a.retain(ctx, d)
	defer func() { retained(err == nil && outcome.Signal == "") }()
	if pause.held() != nil {
		d.printer.note("The run is paused. Let it go on with: " + a.command("unpause", string(id)))
	}
	d.stops.during(pause.look, func(n int, s os.Signal) {
		switch {
		case n > 1:
			d.printer.note("Received " + signalName(s) + " again: killing the action.")
			runner.Force()
			return
		case s == syscall.SIGQUIT:
			d.printer.note("Received SIGQUIT: killing the action, then ending the run.")
			stop(&fsm.Stop{Signal: signalName(s)})
			runner.Force()
			return
		}
		d.printer.note("Received " + signalName(s) + ": ending the action, then the run. Once more kills the action at once.")
		stop(&fsm.Stop{Signal: signalName(s)})
	}, func() {
		gone = whileOwned(d.journal, func() {
			d.printer.note("The run was taken over, or its lease ran out and could not be renewed: killing the action.")
			stop(errLost)
			runner.Force()
		}, func() {
			d.printer.watch(func() { outcome, err = executor.Run(ctx) })
		})
	})
	stop(nil)
	ctx = context.WithoutCancel(ctx)
	runner.Close()
	if err != nil {
		// What is recorded stays; the run counts as interrupted once nobody holds it.
		_ = d.journal.Close(ctx) // its error would say the same again
		if lacks, ok := errors.AsType[treeFailure](err); ok {
			return a.noTree(ctx, d, lacks)
		}
		return a.stopped(ctx, d, site, run, err)
	}
	d.tree.leave(ctx, d.project, id, outcome)
	left := d.journal.Close(ctx)
	if left != nil && !isRecorded(left) {
		return a.stopped(ctx, d, site, run, left)
	}
	resume := ""
	if persistence.StatusOf(outcome).CanGoOn(outcome.Limited) {
		resume = a.resumeCommand(outcome.TerminatedBy, string(id), d.loop.MaxSteps, d.loop.MaxIterations)
		if outcome.TerminatedBy == fsm.EndBudget {
			resume = a.command("resume --budget "+limit, string(id))
		}
	} else {
		pause.forget()
	}
	d.printer.finish(outcome, resume)
	told.ended(outcome, resume)
	d.tree.finish(ctx, d.project, id, outcome, d.printer)
	if left != nil {
		d.printer.note(a.leftUndone(d, site, run, left))
	}
	if gone {
		return failure(exitRecord, "run %s was stopped: %s could not be reached for as long as a lease is, so that another process could have begun its action again; all that happened is recorded", id, d.store.Name)
	}
	if code := codeOf(outcome); code != exitOK {
		return exitError{code: code}
	}
	return nil
}

// isRecorded reports whether an error of Close leaves a run recorded whole, so that the record says how it ended.
func isRecorded(err error) bool {
	_, archive := errors.AsType[*persistence.ArchiveError](err)
	_, other := errors.AsType[*persistence.LeftoverError](err)
	return archive || other
}

// leftUndone says what could not be done when a run had ended, which is on record.
func (a *app) leftUndone(d driveSpec, s *site, run persistence.Run, err error) string {
	place, sweep := d.store.Place(d.project, run), a.command("sweep")
	if m := s.moved(); m != nil {
		place = m.rebased(filepath.Join(d.project.Dir, place))
		if m.project != "" {
			there := *a
			there.dir = m.project
			sweep = there.command("sweep")
		}
	}
	if unarchived, ok := errors.AsType[*persistence.ArchiveError](err); ok {
		return fmt.Sprintf("loops: the run is recorded in %s, but could not be moved to the archive: %s. Fix that, then: %s", place, oneLine(unarchived.Err), sweep)
	}
	left, _ := errors.AsType[*persistence.LeftoverError](err)
	return fmt.Sprintf("loops: the run is recorded in %s, but other files could not be written or removed: %s. Fix that, then: %s", place, oneLine(left.Err), sweep)
}

// stopped says that a run stopped because it could not be written down, or because its folder was moved, and what is left
// of it.
func (a *app) stopped(ctx context.Context, d driveSpec, s *site, run persistence.Run, err error) error {
	_, fenced := errors.AsType[*persistence.FencedError](err)
	if m := s.moved(); m != nil && !fenced {
		a.bell.lost(run, m)
		return a.leftBehind(ctx, d, run, m)
	}
	return a.notRecorded(ctx, d.store, run, err)
}

// notRecorded says that a run stopped because it could not be written down, and what is left of it.
func (a *app) notRecorded(ctx context.Context, store *project.Records, run persistence.Run, err error) error {
	if fenced, ok := errors.AsType[*persistence.FencedError](err); ok {
		return a.takenOver(run, fenced)
	}
	a.bell.lost(run, err)
	where, mend := ".loops", "Free or mend the disk"
	if !store.Files && !errors.Is(err, fsm.ErrNoRoom) {
		where, mend = store.Name, "See that the database has room and can be reached"
	}
	if errors.Is(err, syscall.EMFILE) {
		mend = "Let the program open more files (ulimit -n 256)"
	}
	var text string
	memory, lost := store.Snapshot(ctx, run.ID)
	switch {
	case errors.Is(err, fsm.ErrMoved):
		text = "Nothing recorded before is lost. Move it back, then: " + a.command("resume", string(run.ID))
	case errors.Is(lost, persistence.ErrNotFound) && !errors.Is(err, persistence.ErrRemoved):
		text = "Nothing of it is on record, so it cannot be resumed. " + mend + ", then start anew with: " + a.command("run", run.Loop)
	case errors.Is(lost, persistence.ErrNotFound):
		text = "Its records were removed, so it cannot be resumed. Keep actions away from " + where + ", then start anew with: " + a.command("run", run.Loop)
	case errors.Is(err, persistence.ErrRemoved):
		text = "The history of the run is lost, but not what it remembers. Keep actions away from " + where + ", then: " + a.command("resume", string(run.ID))
	case lost == nil && memory.Outcome != nil:
		text = fmt.Sprintf("Its end is on record (%s), but a loss of power may undo that. %s, then: %s",
			persistence.StatusOf(*memory.Outcome), mend, a.command("status", string(run.ID)))
	default:
		text = "Nothing recorded before is lost. " + mend + ", then: " + a.command("resume", string(run.ID))
	}
	return failure(exitRecord, "run %s was stopped: %s\n%s", run.ID, oneLine(err), text)
}

// oneLine is an error without its line ends. What it says twice is said once.
func oneLine(err error) string {
	text := ""
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		switch {
		case strings.Contains(text, line):
		case text == "" || strings.HasSuffix(text, ":"):
			text = strings.TrimSpace(text + " " + line)
		default:
			text += "; " + line
		}
	}
	return text
}

// command returns a command line for a person, with -C if this one had it.
func (a *app) command(words ...string) string {
	line := "loops "
	if a.dir != "" {
		line += "-C " + quote(a.dir) + " "
	}
	if a.store != "" {
		line += "--store " + quote(sqlstore.Redacted(a.store)) + " "
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w // the first is a command, with its flags
		if i > 0 {
			quoted[i] = quote(w)
		}
		if i > 0 && strings.HasPrefix(w, "-") {
			quoted[0] = words[0] + " --" // or the name of a run would be taken for flags
		}
	}
	return line + strings.Join(quoted, " ")
}

// resumeCommand is the command that goes on with a run that ended so. One that was capped needs a higher cap; twice
// the old one (0 = not known) is proposed. Where the run is on record, goOn knows of its budget too.
func (a *app) resumeCommand(ended, id string, steps, passes int) string {
	more := func(limit int) string {
		if limit == 0 {
			return "MORE"
		}
		return strconv.Itoa(2 * limit)
	}
	switch ended {
	case fsm.EndMaxSteps:
		return a.command("resume -n "+more(steps), id)
	case fsm.EndBudget:
		return a.command("resume --budget LIMIT=MORE", id)
	case fsm.EndMaxIterations:
		return a.command("resume --max-iterations "+more(passes), id)
	}
	return a.command("resume", id)
}

// quote quotes a word for a shell where it needs it.
func quote(s string) string { return plain.ShellWord(s) }

// self returns this process as the owner of a run.
func self() (persistence.Owner, error) {
	id, err := proc.Self()
	if err != nil {
		return persistence.Owner{}, fmt.Errorf("cannot tell this process from others: %w", err)
	}
	return reconcile.Owner(id), nil
}
