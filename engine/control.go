package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/process"
	"loops/persistence"
)

// How long Control waits for the effect of a command.
const (
	StopGrace   = 15 * time.Second // for a run to end, by default: longer than an action may take to end after TERM
	killWait    = 5 * time.Second  // for a process that was killed
	pauseWait   = time.Second      // for a run to be between two states; its action may take long
	unpauseWait = 5 * time.Second  // for a run to continue
	wakeWait    = 5 * time.Second  // for a wait to end
	extendWait  = time.Second      // for a run to take higher limits; it may be long in its action
	sendWait    = 5 * time.Second  // for a store to record the command
)

// A Command is what is asked of a run, which any process may carry, here or on a machine that has the same database.
type Command struct {
	Kind persistence.CommandKind
	// of CommandStop: how long the run has to end before its process is killed; 0 = StopGrace. Of CommandDrain:
	// how long is waited for its end; 0 = until then
	Grace  time.Duration
	Extend Extend // of CommandExtend
	From   string // who asks, for the record; "" = a user
}

// An Effect is what a command came to.
type Effect struct {
	Before persistence.Run // the run when it was asked
	Run    persistence.Run // and now
	Killed bool            // its process was killed, because it did not end
	// Recalled means that no process carried the run when it was stopped: it was between two workers, and none
	// continues it now.
	Recalled bool
	// Wait is what the run waited for when it was woken; and the pause that it is in when it was paused, nil =
	// it is in an action yet.
	Wait *fsm.Wait
	// Of a run that was woken: the branches and items in which that wait was (see fsm.OpenWait), and how many
	// other waits it has still, where several branches or items waited at once.
	Path   string
	Others int
	// Raised says what limits were raised, a line each, and Taken whether the run has them already: one that is
	// in an action has them when that ends, before it looks at any.
	Raised []Text
	Taken  bool
	// Unrecorded is why the command could not be recorded; the process of the run was sent a signal instead.
	// nil = it is recorded.
	Unrecorded error
	Signal     string // that one
}

// Control asks something of a run and waits until it is done: CommandStop, CommandDrain and CommandKill until
// the run has ended, CommandPause until it is before its next state, or a second while it is in an action,
// CommandUnpause until it continues, CommandWake until a wait of it is over, one where several branches wait,
// CommandExtend until it has the higher limits, or a second while it is in an action. It returns the run as it
// is then.
//
// The command is recorded for the run, and the process that carries the run acts on it, wherever that is:
// within a second. One that cannot be recorded is sent as a signal, where there is one for it and the process
// is on this machine. A *Refusal says what kept it from being done: NotFound means that there is nothing to do.
func (e *Engine) Control(ctx context.Context, id persistence.ID, c Command) (persistence.Run, error) {
	effect, err := e.Ask(ctx, id, c)
	return effect.Run, err
}

// Ask is Control that says what the command came to.
func (e *Engine) Ask(ctx context.Context, id persistence.ID, c Command) (Effect, error) {
	store, err := e.Records(ctx)
	if err != nil {
		return Effect{}, err
	}
	a := &asking{e: e, store: store, id: id, from: c.From}
	run, err := a.now(ctx)
	if err != nil {
		return Effect{}, err
	}
	a.Before, a.Run = run, run
	switch c.Kind {
	case persistence.CommandStop, persistence.CommandKill:
		err = a.stop(ctx, c)
	case persistence.CommandDrain:
		err = a.drain(ctx, c)
	case persistence.CommandPause:
		err = a.pause(ctx)
	case persistence.CommandUnpause:
		err = a.unpause(ctx)
	case persistence.CommandWake:
		err = a.wake(ctx)
	case persistence.CommandExtend:
		err = a.extend(ctx, c.Extend)
	default:
		err = misuse("", "%q is no command for a run; they are stop, drain, kill, pause, unpause, wake and extend",
			string(c.Kind))
	}
	return a.Effect, err
}

// An asking is one call of Ask.
type asking struct {
	Effect
	e     *Engine
	store *project.Records
	id    persistence.ID
	from  string // see Command.From
}

// now returns the run as it is now: interrupted if its owner is dead.
func (a *asking) now(ctx context.Context) (persistence.Run, error) {
	if err := unnamed(string(a.id)); err != nil {
		return persistence.Run{}, err
	}
	runs, err := a.store.Runs(ctx, persistence.Query{ID: a.id})
	if err != nil {
		return persistence.Run{}, a.store.Failed(err)
	}
	if runs = project.Current(runs); len(runs) == 0 {
		return persistence.Run{}, refuse(NotFound, "run %s is not recorded", a.id)
	}
	return runs[0], nil
}

// send records a command for the run and wakes its owner. What cannot be recorded is sent as signals, if there are any
// for it. A run that ended meanwhile is no error.
func (a *asking) send(ctx context.Context, kind persistence.CommandKind, segment int, verb string,
	signals ...syscall.Signal,
) error {
	r := a.Before
	_, err := a.record(ctx, persistence.Command{Kind: kind, Segment: segment})
	if err == nil {
		a.rouse(kind)
		return nil
	}
	if _, over := errors.AsType[*persistence.EndedError](err); over {
		return nil // what waits for the run sees it
	}
	if uncertain(err) {
		a.rouse(kind)
		if kind == persistence.CommandStop || kind == persistence.CommandKill {
			return nil // who stops waits for the end, and ends the process if that does not come
		}
		return a.notRecorded(err, "the request to "+verb)
	}
	if len(signals) == 0 || !project.Seen(r) || !alive(r) || r.Owner.PID == os.Getpid() {
		return because(NotRecorded, err, fmt.Sprintf("cannot %s run %s, because that cannot be recorded", verb, r.ID))
	}
	a.Unrecorded, a.Signal = err, signalName(signals[0])
	return tellRun(a.store, r, verb, signals...)
}

// uncertain reports whether a command that could not be sent may be on record all the same.
func uncertain(err error) bool {
	_, is := errors.AsType[*persistence.UncertainError](err)
	return is
}

// notRecorded returns the refusal of a command that could not be recorded, or of which that is not known. what
// names it: "the answer".
func (a *asking) notRecorded(err error, what string) error {
	if !uncertain(err) {
		return because(NotRecorded, err, what+" could not be recorded for run "+string(a.id))
	}
	return &Refusal{
		Kind: NotRecorded, Err: err,
		Text: textf("it is not certain whether %s was recorded for run %s: %s; before you repeat it, look: %s",
			what, a.id, fmt.Sprint(err), Do(OpStatus, string(a.id))),
	}
}

func (a *asking) record(ctx context.Context, c persistence.Command) (persistence.Command, error) {
	if a.from != "" {
		if c.Args == nil {
			c.Args = value.NewMap()
		}
		c.Args.Set("from", a.from)
	}
	ctx, cancel := context.WithTimeout(ctx, sendWait)
	defer cancel()
	if path, _ := a.e.getenv(EnvControl); path != "" {
		return sendOut(ctx, path, a.id, c)
	}
	return a.store.Send(ctx, a.id, c)
}

// rouse has the owner of the run look for the command at once, if it can be seen. It would by itself, a little later.
func (a *asking) rouse(kind persistence.CommandKind) {
	if r := a.e.carried(a.id); r != nil {
		r.Look()
		return
	}
	r := a.Before
	if !alive(r) || !r.Held || !project.Seen(r) {
		return
	}
	owner, err := owner(a.store, r)
	if err != nil {
		return
	}
	if process.Catches(owner.PID, syscall.SIGUSR2) { // a program that embeds an engine would be ended by it
		_ = owner.Signal(syscall.SIGUSR2)
	}
	if kind == persistence.CommandStop || kind == persistence.CommandDrain || kind == persistence.CommandKill {
		_ = owner.Signal(syscall.SIGCONT) // one that was stopped (Ctrl-Z) looks only then
	}
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGUSR1:
		return "SIGUSR1"
	}
	return s.String()
}

// obeys refuses a run that no process carries, and one of another program.
func (a *asking) obeys(verb, participle string) error {
	r := a.Before
	switch {
	case !alive(r):
		return refuse(NotFound, "nothing to %s: run %s is %s", verb, r.ID, inspect.Outcome(r))
	case r.Foreign || !r.Held && project.Seen(r):
		return refuse(Failed, "run %s is carried by another program (pid %d), which cannot be %s; stop it with: %s",
			r.ID, r.Owner.PID, participle, Do(OpStop, string(r.ID)))
	}
	return nil
}

// wait returns what the run waits for; nil = nothing.
func (a *asking) wait(ctx context.Context) (*fsm.Wait, error) {
	w, err := a.waits(ctx)
	if len(w) == 0 {
		return nil, err
	}
	return w[0].Wait, err
}

// waits returns all that the run waits for, in its branches and items too.
func (a *asking) waits(ctx context.Context) ([]fsm.OpenWait, error) {
	m, err := a.store.Snapshot(ctx, a.id)
	switch {
	case m != nil:
		return m.Waits(), nil
	case err != nil:
		err = a.store.Failed(err)
	}
	return nil, err
}

// until looks several times a second whether something came about, and reports whether it did within a time.
func until(ctx context.Context, limit time.Duration, done func() (bool, error)) (bool, error) {
	end := time.Now().Add(limit)
	for {
		if ok, err := done(); ok || err != nil {
			return ok, err
		}
		if !time.Now().Before(end) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (a *asking) pause(ctx context.Context) error {
	if err := a.obeys("pause", "paused"); err != nil {
		return err
	}
	if _, paused := a.store.PausedSince(ctx, a.Before); !paused {
		if err := a.send(ctx, persistence.CommandPause, persistence.AnySegment, "pause"); err != nil {
			return err
		}
	}
	_, err := until(ctx, pauseWait, func() (bool, error) {
		w, err := a.wait(ctx)
		if err == nil && w != nil && w.Why == fsm.WaitPaused {
			a.Wait = w
		}
		return a.Wait != nil, err
	})
	return a.look(ctx, err)
}

// look takes the run as it is now into the effect.
func (a *asking) look(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	now, err := a.now(ctx)
	if err == nil {
		a.Run = now
	}
	return err
}

// Paused reports whether a run is to pause, or is in a pause though no command asks for one any more.
func (e *Engine) Paused(ctx context.Context, r persistence.Run) (bool, error) {
	store, err := e.Records(ctx)
	if err != nil {
		return false, err
	}
	a := &asking{e: e, store: store, id: r.ID}
	a.Before = r
	return a.paused(ctx)
}

func (a *asking) paused(ctx context.Context) (bool, error) {
	if _, paused := a.store.PausedSince(ctx, a.Before); paused || !alive(a.Before) {
		return paused, nil
	}
	return a.held(ctx)
}

// held reports whether a pause holds the run, or a branch or an item of it.
func (a *asking) held(ctx context.Context) (bool, error) {
	w, err := a.waits(ctx)
	return slices.ContainsFunc(w, isPause), err
}

func isPause(w fsm.OpenWait) bool { return w.Why == fsm.WaitPaused }

func (a *asking) unpause(ctx context.Context) error {
	r := a.Before
	paused, err := a.paused(ctx)
	if err != nil {
		return err
	}
	if !paused {
		return refuse(NotFound, "nothing to unpause: run %s is %s and not paused", r.ID, inspect.Outcome(r))
	}
	_ = os.Remove(formerPause(a.e.p, r.ID)) // a former version, which may carry the run, looks for it
	if err := a.send(ctx, persistence.CommandUnpause, persistence.AnySegment, "unpause"); err != nil {
		return err
	}
	if !alive(r) {
		return a.look(ctx, nil)
	}
	on, err := until(ctx, unpauseWait, func() (bool, error) {
		held, err := a.held(ctx)
		return !held, err
	})
	if err == nil && !on {
		err = refuse(Failed, "run %s was asked to continue and is still paused after %s; is its process "+
			"(pid %d) stopped?", r.ID, humanize.Duration(unpauseWait), r.Owner.PID)
	}
	return a.look(ctx, err)
}
