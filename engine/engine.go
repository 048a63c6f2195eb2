// Package engine carries runs of loops for any caller: a command line, a server, a program of its own. It
// starts, resumes and forks runs of one project, waits for the files that they lock, ends what actions left,
// ends work trees, notifies observers and applies retention.
//
// It prints nothing, handles no signals, knows no exit codes and keeps no state of the package: several engines
// can work side by side, and one engine carries any number of runs. It changes nothing of the process that
// embeds it.
//
// # Retention
//
// A [Policy] chooses which recorded runs may go. Choosing neither reads a store nor removes anything.
//
// # What runs spend together
//
// A [Purse] limits what runs spend together: those of a project, and all of a user on one machine. Each run
// notes what its prompts and judges cost, in parts of an hour, in an entry that only it writes; before a prompt
// the entries of all runs are added up. Two prompts that begin at the same time do not see each other, so that
// a limit is exceeded by what is at work when it is reached, and by no more.
package engine

import (
	"context"
	"errors"
	"sync"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

// Options say what an engine may use of the program around it. The zero Options are good for most.
type Options struct {
	Env []string // that actions start from, as os.Environ; nil = that of the process

	// Detached means that this program is part of no action, whatever its environment says: it may outlive what
	// started it.
	Detached bool

	// Adopt makes this process the one that adopts what its actions leave (see process.AdoptOrphans), which
	// only a program can that starts nothing else. nil = it does not; on Linux control groups find the rest
	// all the same.
	Adopt func() error

	// WaitLog opens the log of a run that has to wait, and returns its path; nil, and "", mean that there is no
	// log. It is called before others are given the path.
	WaitLog func(Queued) string

	// Command writes a remedy as the command line that an agent is asked to run in the directory of the project, as
	// on_handoff: spawn does. nil = as [Remedy.String] does, which is no command line.
	Command func(Remedy) string

	// Files returns what keeps the files of a run where a later owner finds them; nil, or nil for a run, is
	// nothing: they stay in their folder.
	Files func(persistence.ID) Files

	// Forget drops the files that were kept of runs, which are removed. nil = none were kept.
	Forget func(context.Context, []persistence.ID) error

	// Trace returns the TRACEPARENT of an action of a run; nil = actions have that of the environment.
	Trace func(persistence.ID, fsm.Action) string

	// ToolCall returns how actions call tools of MCP servers; nil = they cannot.
	ToolCall func(dir string) action.ToolCall
}

// An Engine carries runs of a project. All its methods may be called by several goroutines at once.
type Engine struct {
	p *project.Project
	o Options

	bus bus

	mu     sync.Mutex
	stores map[string]*project.Records // by durability; guarded by mu
	closed bool                        // guarded by mu
	live   map[persistence.ID]*Run     // those that it carries now; guarded by mu
	rest   []func()                    // each waits for something that is done beside the runs; guarded by mu
	runs   sync.WaitGroup
}

// New returns an engine for a project. It does nothing yet.
func New(p *project.Project, o Options) *Engine {
	if o.Env == nil {
		o.Env = p.Env
	}
	return &Engine{p: p, o: o, stores: map[string]*project.Records{}, live: map[persistence.ID]*Run{}}
}

// Project is the project of the engine.
func (e *Engine) Project() *project.Project { return e.p }

// errClosed is the error of an engine that was closed.
var errClosed = errors.New("the engine is closed")

// records returns the store in which runs are recorded so durably, "" = as it does anyway. It stays open until Close.
func (e *Engine) records(ctx context.Context, create bool, level string) (*project.Records, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	if r := e.stores[level]; r != nil {
		return r, nil
	}
	r, err := e.p.Records(ctx, create)
	if err != nil {
		return nil, err
	}
	r.SetDurability(level)
	e.stores[level] = r
	return r, nil
}

// Records returns the recorded runs of the project. They stay open until Close.
func (e *Engine) Records(ctx context.Context) (*project.Records, error) {
	return e.records(ctx, false, "")
}

// keep notes a run that the engine carries from now on, and drop that it does not any more.
func (e *Engine) keep(r *Run) {
	e.runs.Add(1)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.live[r.id] = r
}

func (e *Engine) drop(r *Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.live[r.id] == r {
		delete(e.live, r.id)
	}
}

// carried returns a run that the engine carries, nil for any other.
func (e *Engine) carried(id persistence.ID) *Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live[id]
}

// Close waits until every run has ended, for a few seconds more for what is removed or tidied up beside them, and until
// every observer has received all notices, and closes the stores. It stops no run: Control, or the end of the context
// that a run was started with, does. In a call of an observer it returns at once, and the rest happens beside it.
func (e *Engine) Close() {
	if observing() {
		go e.Close()
		return
	}
	e.runs.Wait()
	e.mu.Lock()
	rest := e.rest
	e.rest = nil
	e.mu.Unlock()
	for _, wait := range rest {
		wait()
	}
	e.bus.close()
	e.mu.Lock()
	stores := e.stores
	e.closed, e.stores = true, nil
	e.mu.Unlock()
	for _, r := range stores {
		_ = r.Close() // the journals of its runs are closed
	}
}

// command writes a remedy for an agent.
func (e *Engine) command(r Remedy) string {
	if e.o.Command == nil {
		return r.String()
	}
	return e.o.Command(r)
}

// getenv returns the value of a variable of the project's environment.
func (e *Engine) getenv(name string) (string, bool) { return project.LookEnv(e.o.Env, name) }

// alive reports whether a process owns a run.
func alive(r persistence.Run) bool { return project.Alive(r) }
