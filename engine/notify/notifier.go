package notify

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/config"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
	"loops/reconcile"
)

// longWait is how long a wait of a run is that users may want to be notified of.
const longWait = 5 * time.Minute

// Options say what a notifier may use of the program around it. The zero Options are good for most.
type Options struct {
	Env      []string                   // of the commands that are called, as os.Environ; nil = that of the project
	Detached bool                       // this program is part of no action, whatever its environment says
	Remedy   func(engine.Remedy) string // writes a command that a user can give; nil = as [engine.Remedy.String] does
	ExitCode func(fsm.Outcome) int      // that loops run has for an outcome; nil = it is left out
}

// A Notifier sends notifications of runs. Its methods may be called by several goroutines at once, and a nil Notifier
// sends none; after Close it may observe nothing.
type Notifier struct {
	p      *project.Project
	o      Options
	sender *Sender
	host   string
	loops  os.FileInfo // the folder .loops as it was; nil = it was not there

	mu   sync.Mutex
	runs map[persistence.ID]*run // guarded by mu
}

// New returns a notifier for the targets in the settings of a project, nil where there are none: also where this
// program is part of an action of another run, which is part of what that run does.
func New(p *project.Project, o Options) *Notifier {
	if o.Env == nil {
		o.Env = p.Env
	}
	conf, wrong := p.Declared()
	if len(wrong) > 0 || len(conf.Notify) == 0 ||
		engine.Inside(engine.Options{Env: o.Env, Detached: o.Detached}) != "" {
		return nil
	}
	return To(p, conf.Notify, o)
}

// alarmWait is how long alarms may take to be delivered.
const alarmWait = 30 * time.Second

// TellAlarms returns what delivers alarms to the targets in the settings of their project. What could not be delivered
// is in the log of notifications.
func TellAlarms(env []string) func(ctx context.Context, p *project.Project, events ...Event) {
	return func(ctx context.Context, p *project.Project, events ...Event) {
		n := New(p, Options{Env: env, Detached: true})
		for _, e := range events {
			n.Tell(e)
		}
		ctx, cancel := context.WithTimeout(ctx, alarmWait)
		defer cancel()
		_, _ = n.Close(ctx)
	}
}

// To is New for these targets, even if the settings say otherwise and whether or not this program is part of an action.
func To(p *project.Project, targets []config.Notify, o Options) *Notifier {
	if o.Env == nil {
		o.Env = p.Env
	}
	if o.Remedy == nil {
		o.Remedy = func(r engine.Remedy) string {
			if r.Operation == "" {
				return ""
			}
			return r.String()
		}
	}
	n := &Notifier{p: p, o: o, sender: NewSender(targets), runs: map[persistence.ID]*run{}}
	n.loops, _ = os.Stat(p.Loops) // nil where there is none
	n.host, _ = os.Hostname()     // "" is no reason to be silent
	n.sender.Dir, n.sender.Getenv = p.Dir, func(name string) (string, bool) { return project.LookEnv(o.Env, name) }
	if conf, _ := p.Declared(); conf.AnswerLinks.URL != "" {
		n.sender.Links = func(e Event, target string) ([]Link, error) {
			return answerLinks(p, conf.AnswerLinks.URL, e, target)
		}
	}
	n.sender.Env = withoutRun(o.Env)
	return n
}

// withoutRun returns an environment without what makes a program part of an action.
func withoutRun(env []string) (rest []string) {
	for _, kv := range env {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case action.Variable, engine.EnvRunID, engine.EnvAncestors:
		default:
			rest = append(rest, kv)
		}
	}
	return rest
}

// Follow notifies of all runs of an engine, until that is closed.
func (n *Notifier) Follow(e *engine.Engine) {
	if n != nil {
		e.Observe(n)
	}
}

// Try hands an event to one target, by its place in the settings from 0, whether or not the target asked for it.
func (n *Notifier) Try(i int, e Event) { n.sender.TellOne(i, n.stamped(e)) }

// Tried is Close without the log: what was tried out is no part of it.
func (n *Notifier) Tried(ctx context.Context) []Result { return n.sender.Close(ctx) }

// Close waits until all notifications were sent, or until ctx ends: then it gives up what is under way, which takes a
// few seconds at most. It returns the result of each event, which it adds to .loops/logs/notify.log; the error is that
// of the log.
func (n *Notifier) Close(ctx context.Context) ([]Result, error) {
	if n == nil {
		return nil, nil
	}
	results := n.sender.Close(ctx)
	return results, n.log(results)
}

// Tell sends an event to the targets that asked for its kind.
func (n *Notifier) Tell(e Event) {
	if n != nil {
		n.tell(e)
	}
}

func (n *Notifier) tell(e Event) { n.sender.Tell(n.stamped(e)) }

func (n *Notifier) stamped(e Event) Event {
	e.Time, e.Project, e.Host = time.Now().UTC(), n.p.Dir, n.host
	return e
}

// Observe implements [engine.Observer].
func (n *Notifier) Observe(notice engine.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch notice := notice.(type) {
	case engine.Began:
		h := notice.Header
		n.runs[h.Run.ID] = &run{Notifier: n, h: h, state: h.Run.State, step: h.Run.Step}
	case engine.Recorded:
		if r := n.runs[notice.Run]; r != nil {
			r.event(notice.Event)
		}
	case engine.Missed:
		if r := n.runs[notice.Run]; r != nil {
			_ = engine.CatchUp(context.Background(), n.p, notice, r.event) // what cannot be read is left out
		}
	case engine.Ended:
		if r := n.runs[notice.Run]; r != nil {
			r.ended(notice)
			delete(n.runs, notice.Run)
		}
	case engine.Lost:
		n.lost(notice)
		delete(n.runs, notice.Run.ID)
	case engine.Reconciled:
		n.dead(notice.Changes)
	}
}

// answerLinks returns a link for each choice of the question that an event is about, for the target of this
// name. There are none for a target that may not answer, or that only an escalation names: people who have
// links of their own would have another one by that.
func answerLinks(p *project.Project, at string, e Event, target string) ([]Link, error) {
	if e.Kind == config.NotifyEscalated || len(e.Who) > 0 && !slices.Contains(e.Who, target) {
		return nil, nil
	}
	key, err := p.AnswerKey(true)
	if err != nil {
		return nil, err
	}
	links := make([]Link, len(e.Choices))
	for i, c := range e.Choices {
		links[i] = Link{
			Choice: c,
			URL: SignedLink{
				Run: e.Run, Question: e.Question, Choice: c, By: target, Began: fsm.FormatTime(e.Began),
				Records: p.RecordsMark(),
			}.Address(at, key),
		}
	}
	return links, nil
}

// dead notifies of runs that were found dead.
func (n *Notifier) dead(changes []reconcile.Change) {
	var store *project.Records
	for _, c := range changes {
		if c.Kind != reconcile.Interrupt {
			continue
		}
		e := Event{
			Kind: "interrupted", Run: string(c.ID), Loop: c.Loop, Status: string(persistence.Interrupted),
			Text:   fmt.Sprintf("%s: interrupted: %s", c.Loop, c.Why),
			Resume: n.o.Remedy(engine.Do(engine.OpResume, string(c.ID))),
		}
		if store == nil {
			var err error
			if store, err = n.p.Records(context.Background(), false); err == nil {
				defer store.Close() //nolint:errcheck // it is only read
			}
		}
		if store != nil { // else they are left out
			if runs, err := store.Runs(context.Background(), persistence.Query{ID: c.ID}); err == nil &&
				len(runs) == 1 {
				e.State, e.Steps, e.Seconds = runs[0].State, runs[0].Step, seconds(inspect.Elapsed(runs[0]))
			}
		}
		n.tell(e)
	}
}

// lost notifies of a run that could not be recorded any more.
func (n *Notifier) lost(l engine.Lost) {
	why := humanize.OneLine(l.Err)
	n.tell(Event{
		Kind: "failed", Run: string(l.Run.ID), Loop: l.Run.Loop, Status: string(persistence.Interrupted),
		State: l.Run.State, Steps: l.Run.Step, Error: why,
		Text:   l.Run.Loop + ": stopped, because it could not be recorded: " + why,
		Resume: n.o.Remedy(engine.Do(engine.OpResume, string(l.Run.ID))),
	})
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
