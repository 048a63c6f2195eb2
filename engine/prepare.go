package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/process"
	"loops/persistence"
	"loops/reconcile"
)

// A job is a run on its way: what it is made of, how this process gets it, and then its journal.
type job struct {
	project *project.Project // with the work tree, once the run has an id
	loop    *fsm.Loop
	library fsm.Library
	keeper  *project.Keeper
	store   *project.Records
	spec    persistence.Spec
	over    project.Overrides
	config  *config.Config
	prices  project.Prices
	secrets *secrets // what it keeps off its record, once it is carried
	tree    *runTree // nil = the run is in the main checkout
	begun   bool     // its actions have been in the tree
	lock    Lock
	again   fsm.ItemsAgain // of the list that a resumed run is in
	resumes persistence.ID // the run that is resumed; "" = a new one
	vet     string         // the loop file whose author matters; "" = what runs is recorded, or came with the request
	queued  persistence.ID // the submitted run that begins; "" = none
	leave   persistence.ID // a run that is not reconciled; "" = none

	asked    []persistence.Command // of the run that is resumed, from before this process took it
	heard    uint64                // number of the last of them
	raises   []numberedRaise       // of those, what is to raise limits of the loop
	paused   bool                  // a pause holds for the run
	pausedBy string                // the user who did; "" = it is not known

	// take gives this process the run, ready brings it to where it can be driven. Between them others are reconciled.
	take  func(ctx context.Context, spec persistence.Spec) (persistence.Journal, error)
	ready func(ctx context.Context) (start func(fsm.Config) *fsm.Executor, err error)

	announce func() // warns of what a plan lists already; nil = nothing

	journal persistence.Journal // once it is taken
	header  Header
	tell    func(Notice)
}

// durable reports whether what the run writes beside its records is made durable, too.
func (j *job) durable() bool { return j.store.Level() != persistence.None }

// Load finds and reads a loop by name or path, with all that it is made of, and warns of what is wrong with it
// and keeps nothing from running. A loop with errors is a *project.InvalidError.
func Load(p *project.Project, name string, warn Warn) (*fsm.Loop, error) {
	lib, err := p.Library()
	if err != nil {
		return nil, err
	}
	path, err := lib.Find(name)
	if err != nil {
		return nil, err
	}
	return loadFile(p, path, warn)
}

// loadFile is Load of a file. Of advice that keeps nothing from running it only says that there is some: a user
// who runs a loop is seldom about to edit it.
func loadFile(p *project.Project, path string, warn Warn) (*fsm.Loop, error) {
	lib, err := p.Library()
	if err != nil {
		return nil, err
	}
	f, err := lib.Read(path)
	if err != nil {
		return nil, err
	}
	if warn != nil && len(f.Problems)+len(f.Advice) > 0 {
		warn(Warning{File: p.Short(path), Problems: f.Problems, Advice: len(f.Advice)})
	}
	return f.Loop, nil
}

// loadRecorded reads the loop file that a run was started with, or the one its name means where none is known.
// or is what a person can do where it is gone.
func (e *Engine) loadRecorded(p *project.Project, run persistence.Run, or Text, warn Warn) (*fsm.Loop, error) {
	if run.File == "" {
		return Load(p, run.Loop, warn)
	}
	path := p.Absolute(run.File)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if other, err := p.Resolve(run.Loop); err == nil {
			return loadFile(p, other, warn) // the project moved
		}
		return nil, refuse(NotFound, "run %s was started from %s, which no longer exists; put it back, then resume%s",
			run.ID, p.Short(path), or)
	}
	return loadFile(p, path, warn)
}

// spec describes a run of a loop with this context that this process is about to own.
func (e *Engine) spec(p *project.Project, l *fsm.Loop, def *project.Definition,
	values, options *value.Map,
) (persistence.Spec, error) {
	owner, err := Self()
	if options == nil {
		options = value.NewMap()
	}
	options.Set(projectOption, p.Dir)
	return persistence.Spec{
		Loop: l.Name, File: p.Relative(l.File), SHA256: l.SHA256, Definition: def.Encode(),
		Scope: project.Scopes(p, l, values), Singleton: l.Singleton,
		MaxSteps: l.MaxSteps, Options: options, Owner: owner, Ancestors: e.ancestors(p), Mark: p.RecordsMark(),
		Around: e.around(),
	}, err
}

// Self returns this process as the owner of a run.
func Self() (persistence.Owner, error) {
	id, err := process.Self()
	if err != nil {
		return persistence.Owner{}, because(Failed, err, "cannot tell this process from others")
	}
	return reconcile.Owner(id), nil
}

// Preflight refuses a run that lacks context values, one line each.
func Preflight(p *project.Project, l *fsm.Loop, values *value.Map) error {
	problems := loopfile.Preflight(l, values)
	if project.CountErrors(problems) == 0 {
		return nil
	}
	var lines []string
	for _, pr := range problems {
		if pr.Severity == fsm.SeverityError {
			pr.Pos.File = p.Short(pr.Pos.File)
			lines = append(lines, strings.TrimPrefix(pr.Pos.String()+": "+pr.Message, ": "))
		}
	}
	return refuse(Usage, "%s", Lines{"loops: ", lines})
}

// warnSettings warns of files with settings that are left out.
func (e *Engine) warnSettings(conf *config.Config, warn Warn) {
	for _, w := range conf.Warnings {
		w.File = e.p.Short(w.File)
		warn.say(textf("warning: %s", w))
	}
}
