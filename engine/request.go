package engine

import (
	"context"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/inspect"
	"loops/persistence"
)

// RecordedDefinition asks for the loop as it was recorded with a run, instead of its file as it is now.
const RecordedDefinition = "recorded"

// A Warn receives what a user should know before a run begins; nil = it is dropped.
type Warn func(Warning)

// A Warning is a text, or problems of a loop that keep nothing from running.
type Warning struct {
	Text     Text
	File     string        // of the loop, as a person would write it; "" = it is only a text
	Problems []fsm.Problem // that reading the loop showed
	Advice   int           // how much more could be said about it
}

// Say warns in a text, of which every value is made harmless. A nil Warn says nothing.
func (w Warn) Say(format string, args ...any) { w.say(textf(format, args...)) }

func (w Warn) say(t Text) {
	if w != nil {
		w(Warning{Text: t})
	}
}

// A Request asks for one run: exactly one of its fields is set. It can be written as JSON, and read again,
// without a loss, but for Warn: so a process can have another one carry the run.
type Request struct {
	Start  *StartRequest  `json:"start,omitempty"`
	Resume *ResumeRequest `json:"resume,omitempty"`
	Fork   *ForkRequest   `json:"fork,omitempty"`
}

// Tell passes to w what a user should know before the run begins.
func (r Request) Tell(w Warn) {
	switch {
	case r.Start != nil:
		r.Start.Warn = w
	case r.Resume != nil:
		r.Resume.Warn = w
	case r.Fork != nil:
		r.Fork.Warn = w
	}
}

// Check returns an error unless the request asks for exactly one run.
func (r Request) Check() error {
	n := 0
	for _, set := range []bool{r.Start != nil, r.Resume != nil, r.Fork != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return misuse("", "a request is one of start, resume and fork, and this one is %d of them", n)
	}
	return nil
}

// Carry does what a request asks for: Start, Resume or Fork.
func (e *Engine) Carry(ctx context.Context, r Request, o Observer) (*Run, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	switch {
	case r.Start != nil:
		return e.Start(ctx, *r.Start, o)
	case r.Resume != nil:
		return e.Resume(ctx, *r.Resume, o)
	}
	return e.Fork(ctx, *r.Fork, o)
}

// A StartRequest asks for a new run.
type StartRequest struct {
	Loop    string            `json:"loop"`             // name or path
	Input   *string           `json:"input,omitempty"`  // what becomes the loop's input; nil = nothing
	Context []string          `json:"context"`          // KEY=VALUE, over what the loop and the input say
	Values  *value.Map        `json:"values,omitempty"` // the same with values of any type, over both; nil = none
	Over    project.Overrides `json:"over"`
	Lock    Lock              `json:"lock"`
	Tree    TreeRequest       `json:"tree"`
	// the run that Submit recorded, which begins now; "" = a new one
	Queued persistence.ID `json:"queued,omitempty"`
	Files  *FilesRequest  `json:"files,omitempty"` // of a submitted run whose files travel; nil = they do not
	Hash   string         `json:"hash,omitempty"`  // the definition must have it, see Submit; "" = any
	// the definition, whatever the files of the project say; nil = they say it
	Shipped *Shipped `json:"shipped,omitempty"`
	// that the run is to have, or not begin: persistence.ErrTaken; "" = any
	ID persistence.ID `json:"id,omitempty"`
	// what starts it, see [inspect.StartedBy]; "" = a user, or the run whose action this process is part of
	By   string `json:"by,omitempty"`
	Warn Warn   `json:"-"`

	// of a submitted run that begins from a step of another one, see SubmitFork; Loop is "" then
	Fork *ForkRequest `json:"fork,omitempty"`

	// the time of its schedule that the run is for, RFC 3339; "" = no schedule starts it
	ScheduledAt string `json:"scheduled_at,omitempty"`
}

// A FilesRequest says where in a repository of git a submitted run begins. Which repository that is the worker knows.
type FilesRequest struct {
	Commit string `json:"commit,omitempty"` // its full name; "" = the worker chooses
	Folder string `json:"folder,omitempty"` // of the project, from the top of the repository; "" = the top
}

// Shipped is a definition that came with a submitted run, for workers without it in their checkout. The caller has
// verified the signature: the engine does not know which keys are accepted.
type Shipped struct {
	Text      string           `json:"text"` // of a project.Definition
	Signature config.Signature `json:"signature"`
}

// definition reads it for a project.
func (s *Shipped) definition(p *project.Project) (*project.Definition, error) {
	def, err := project.ParseDefinition([]byte(s.Text), p)
	if err != nil {
		return nil, refuse(Invalid, "the definition that came with the run cannot be read: %v", err)
	}
	return def, nil
}

// withOption returns the options to record with one more; recorded may be nil.
func withOption(recorded *value.Map, key string, v any) *value.Map {
	if recorded == nil {
		recorded = value.NewMap()
	}
	recorded.Set(key, v)
	return recorded
}

// keepOptions returns the options to record with those of another run, if it has them.
func keepOptions(recorded *value.Map, from persistence.Run, keys ...string) *value.Map {
	for _, key := range keys {
		if v, ok := from.Options.Get(key); ok {
			recorded = withOption(recorded, key, v)
		}
	}
	return recorded
}

// StartedBy is [inspect.StartedBy].
func StartedBy(r persistence.Run) string { return inspect.StartedBy(r) }

// A ResumeRequest asks for a run to be continued.
type ResumeRequest struct {
	// id of a run, or name of a loop: then the newest run that can be resumed
	Run        string            `json:"run"`
	Context    []string          `json:"context"` // KEY=VALUE, over what the run remembers
	Over       project.Overrides `json:"over"`
	Extend     Extend            `json:"extend"`
	Force      bool              `json:"force,omitempty"`      // with the loop as it is now, although it changed
	Definition string            `json:"definition,omitempty"` // "" or RecordedDefinition
	// run an interrupted action, or item, again although its state says idempotent: false
	Rerun bool `json:"rerun,omitempty"`
	// even a run of another project, given by its id, which becomes one of this project
	Here   bool `json:"here,omitempty"`
	Placed bool `json:"placed,omitempty"` // for a worker: only if workers are to continue it still
	// the definition that came with the run; nil = as Definition says
	Shipped *Shipped `json:"shipped,omitempty"`

	RetryFailed bool   `json:"retry_failed,omitempty"` // do the items again that failed of the list that the run is in
	From        string `json:"from,omitempty"`         // the state to continue in; "" = where the run is
	Lock        Lock   `json:"lock"`
	Warn        Warn   `json:"-"`
}

// A ForkRequest asks for a new run that begins with what another one remembered.
type ForkRequest struct {
	Run string `json:"run"` // id of a run, or name of a loop: then its newest
	// the step to do again: a number, a state (its last visit), or last; "" = last, or what Retry says
	At string `json:"at"`
	// as loops retry does: a run that lives is refused; from the step that decided how it ended, in a work tree
	// of the same branch
	Retry bool     `json:"retry,omitempty"`
	Set   []string `json:"set"` // KEY=VALUE for the context
	// name or path of a loop, or RecordedDefinition; "" = the file that the run was started from
	Definition string            `json:"definition,omitempty"`
	Over       project.Overrides `json:"over"`
	Rerun      bool              `json:"rerun,omitempty"` // do the step again although its state says idempotent: false
	Empty      bool              `json:"empty,omitempty"` // copy nothing of the working folder

	Files bool `json:"files,omitempty"` // begin with the files as they were before that step

	Begin *ForkBegin `json:"-"` // what the run begins with instead of what is on record; nil = that

	// the run that SubmitFork recorded, which begins now; "" = a new one
	Queued persistence.ID `json:"queued,omitempty"`
	Hash   string         `json:"hash,omitempty"` // the definition must have it, see SubmitFork; "" = any
	// the definition, whatever the files of the project say; nil = as Definition says
	Shipped *Shipped `json:"shipped,omitempty"`

	// of the list in that step, take over what came to yes, and repeat the other items
	RetryFailed bool `json:"retry_failed,omitempty"`

	Lock Lock        `json:"lock"`
	Tree TreeRequest `json:"tree"`
	Warn Warn        `json:"-"`
}

// A ForkBegin has the memory and the files that a fork begins with instead of recorded ones: those of a replay.
type ForkBegin struct {
	Step   int
	State  string
	Memory *fsm.Snapshot // before that step
	Tree   string        // of git, with the files before it
}
