package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/disk"
	"loops/internal/inspect"
	"loops/internal/notify"
	"loops/internal/phrase"
	"loops/internal/ui"
	"loops/persistence"
	"loops/reconcile"
)

const (
	// bellWait is how long a command waits at its end until everybody was told.
	bellWait = 30 * time.Second
	// bellQuiet is how long it waits before it says what for.
	bellQuiet = 2 * time.Second
	// longWait is how long the wait of a run is that people may want to hear of.
	longWait = 5 * time.Minute
)

// A bell tells those that the config names what becomes of runs. It never delays a run; what is still on its way when the
// command ends is waited for a little. A nil bell tells nobody. It may be used by several goroutines at once, but close.
type bell struct {
	a      *app
	p      *project.Project
	sender *notify.Sender
	host   string
	loops  os.FileInfo // the folder .loops as it was; nil = it was not there
}

// ring returns the bell of this command line, nil where nobody is to be told: also not of a run that an action of another
// one started, which is part of what that one does.
func (a *app) ring(p *project.Project) *bell {
	if a.bell != nil {
		return a.bell
	}
	conf, wrong := p.Declared()
	if len(wrong) > 0 || len(conf.Notify) == 0 || engine.Inside(a.engineOptions()) != "" {
		return nil
	}
	a.bell = a.newBell(p, notify.New(conf.Notify))
	return a.bell
}

func (a *app) newBell(p *project.Project, s *notify.Sender) *bell {
	b := &bell{a: a, p: p, sender: s}
	b.loops, _ = os.Stat(p.Loops) // nil where there is none
	b.host, _ = os.Hostname()     // "" is no reason to be silent
	s.Dir, s.Getenv = p.Dir, a.getenv
	for _, kv := range a.Env {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case action.Variable, engine.EnvRunID, engine.EnvAncestors: // what is told is no part of any action
		default:
			s.Env = append(s.Env, kv)
		}
	}
	return b
}

func (b *bell) tell(e notify.Event) {
	if b == nil {
		return
	}
	e.Time, e.Project, e.Host = time.Now().UTC(), b.p.Dir, b.host
	b.sender.Tell(e)
}

// dead tells of runs that were found dead.
func (b *bell) dead(ctx context.Context, store persistence.Store, changes []reconcile.Change) {
	for _, c := range changes {
		if b == nil || c.Kind != reconcile.Interrupt {
			continue
		}
		e := notify.Event{
			Kind: "interrupted", Run: string(c.ID), Loop: c.Loop, Status: string(persistence.Interrupted),
			Text: fmt.Sprintf("%s: interrupted: %s", c.Loop, c.Why), Resume: b.a.command("resume", string(c.ID)),
		}
		if runs, err := store.Runs(ctx, persistence.Query{ID: c.ID}); err == nil && len(runs) == 1 { // else it is told without
			e.State, e.Steps, e.Seconds = runs[0].State, runs[0].Step, inspect.Elapsed(runs[0]).Round(time.Millisecond).Seconds()
		}
		b.tell(e)
	}
}

// lost tells of a run that could not be recorded any more.
func (b *bell) lost(run persistence.Run, err error) {
	if b != nil {
		b.tell(notify.Event{
			Kind: "failed", Run: string(run.ID), Loop: run.Loop, Status: string(persistence.Interrupted), State: run.State, Steps: run.Step, Error: oneLine(err),
			Text: run.Loop + ": stopped, because it could not be recorded: " + oneLine(err), Resume: b.a.command("resume", string(run.ID)),
		})
	}
}

// A runBell tells of one run, as its events come. Its methods are called by one goroutine.
type runBell struct {
	*bell
	h       engine.Header
	begun   bool
	state   string
	step    int
	waiting bool // that was told, and nothing has gone on since
}

func (a *app) ringFor(p *project.Project, h engine.Header) *runBell {
	return &runBell{bell: a.ring(p), h: h, state: h.Run.State, step: h.Run.Step}
}

// event takes an event of the run, sub-loops included, when it was recorded.
func (r *runBell) event(e fsm.Event) {
	if r.bell == nil {
		return
	}
	if !r.begun {
		r.begun = true
		doing := "started"
		if r.h.Resumed {
			doing = "goes on"
		}
		r.tell(r.now("started", doing))
	}
	switch e.Kind {
	case fsm.EventStateEnter:
		if e.Depth == 0 {
			r.state, r.step = inspect.Text(e.Get("state")), int(inspect.Whole(e.Get("iteration")))
		}
	case fsm.EventRoute:
		r.waiting = false
	case fsm.EventNote:
		r.note(e)
	}
}

func (r *runBell) note(e fsm.Event) {
	switch wait := inspect.Text(e.Get("wait")); wait {
	case "", fsm.WaitBackoff:
	case fsm.WaitPaused:
		n := r.now("paused", "paused before "+inspect.Text(e.Get("state")))
		n.Resume = r.a.command("unpause", n.Run)
		r.tell(n)
	default:
		seconds, _ := inspect.Number(e.Get("seconds"))
		if r.waiting || seconds < longWait.Seconds() {
			return
		}
		r.waiting = true
		n := r.now("waiting", "waits in "+inspect.Text(e.Get("state"))+": "+inspect.NoteText(e))
		if until, err := fsm.ParseTime(inspect.Text(e.Get("until"))); err == nil {
			n.Until = &until
		}
		n.Resume = r.a.command("retry-now", n.Run)
		r.tell(n)
	}
}

// now is something that happens to the run while it goes on.
func (r *runBell) now(kind, what string) notify.Event {
	return notify.Event{
		Kind: kind, Run: string(r.h.Run.ID), Loop: r.h.Run.Loop, Status: string(persistence.Running), State: r.state, Steps: r.step,
		Seconds: (r.h.Elapsed + time.Since(r.h.Begin)).Round(time.Millisecond).Seconds(), Text: r.h.Run.Loop + ": " + what,
	}
}

// ended tells how the run ended.
func (r *runBell) ended(o fsm.Outcome, resume string) {
	if r.bell == nil {
		return
	}
	code := codeOf(o)
	line := fmt.Sprintf("%s: %s in %s (%s, %s)", r.h.Run.Loop, inspect.EndWord(o, r.h.Loop.MaxSteps), o.FinalState, phrase.Count(o.Steps, "step"), phrase.Duration(o.Duration))
	if why := phrase.FirstLine(o.Error); why != "" {
		line += ": " + why
	}
	r.tell(notify.Event{
		Kind: inspect.EndKind(o), Run: string(r.h.Run.ID), Loop: r.h.Run.Loop, Status: string(persistence.StatusOf(o)), EndedBy: o.TerminatedBy,
		State: o.FinalState, Steps: o.Steps, Seconds: o.Duration.Round(time.Millisecond).Seconds(), ExitCode: &code, Error: o.Error,
		Text: line, Resume: resume,
	})
}

// close waits until everybody was told, half a minute at most and until a signal comes, and says who could not be.
func (b *bell) close() {
	if b == nil {
		return
	}
	results := b.wait()
	log := b.log(results)
	for _, r := range results {
		if r.Err != nil {
			line := fmt.Sprintf("loops: %s (%s): not told by %s: %v", r.Event.Run, phrase.Words(r.Event.Kind), r.Target, r.Err)
			// A job of GitHub Actions takes "##[" for a command, wherever it stands, and what others said has none to give.
			ui.SayLine(b.a.Err, strings.ReplaceAll(line, "##[", "#["))
		}
	}
	if log != nil {
		ui.Say(b.a.Err, "loops: what became of notifications is not kept: %v\n", project.Cause(log))
	}
}

func (b *bell) wait() []notify.Result {
	ctx, cancel := context.WithTimeout(context.Background(), bellWait)
	defer cancel()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, ends...)
	defer signal.Stop(signals)
	done := make(chan []notify.Result, 1)
	go func() { done <- b.sender.Close(ctx) }()
	quiet := time.NewTimer(bellQuiet)
	defer quiet.Stop()
	for {
		select {
		case results := <-done:
			return results
		case <-signals:
			cancel()
		case <-quiet.C:
			ui.Say(b.a.Err, "loops: waiting until notifications are delivered, %s at most; Ctrl-C ends that\n", phrase.Duration(bellWait))
		}
	}
}

// bellLog is how long the log of notifications gets, in bytes, before it is moved aside.
const bellLog = 1 << 20

// log adds a line for each result to .loops/logs/notify.log.
func (b *bell) log(results []notify.Result) error {
	if len(results) == 0 {
		return nil
	}
	if now, err := os.Stat(b.p.Loops); b.loops != nil && (err != nil || !os.SameFile(now, b.loops)) {
		return fmt.Errorf("%s was moved", b.p.Loops)
	}
	path := filepath.Join(b.p.Loops, "logs", "notify.log")
	if err := makeLogs(path); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > bellLog {
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process was faster
			return err
		}
	}
	f, err := disk.Open(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	var lines []byte
	for _, r := range results {
		line, _ := json.Marshal(map[string]any{ // texts and numbers always can be
			"ts": fsm.FormatTime(time.Now()), "event": r.Event.Kind, "run": r.Event.Run, "target": r.Target, "delivery": r.Event.Delivery,
			"delivered": r.Err == nil, "attempts": r.Attempts, "duration_ms": r.Took.Milliseconds(), "error": errorText(r.Err),
		})
		lines = append(append(lines, line...), '\n')
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Close())
}

func errorText(err error) any {
	if err == nil {
		return nil
	}
	return err.Error()
}
