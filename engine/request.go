package engine

import (
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
)

// RecordedDefinition asks for the loop as it was recorded with a run, instead of its file as it is now.
const RecordedDefinition = "recorded"

// A Warn is told what a person should know before a run begins; nil = nobody is.
type Warn func(Warning)

// A Warning is a text, or problems of a loop that keep nothing from running.
type Warning struct {
	Text     Text
	File     string        // of the loop, as a person would write it; "" = it is only a text
	Problems []fsm.Problem // that reading the loop showed
	Advice   int           // how much more could be said about it
}

func (w Warn) say(t Text) {
	if w != nil {
		w(Warning{Text: t})
	}
}

// A StartRequest asks for a new run.
type StartRequest struct {
	Loop    string     // name or path
	Input   *string    // what becomes the loop's input; nil = nothing
	Context []string   // KEY=VALUE, over what the loop and the input say
	Values  *value.Map // the same with values of any type, over both; nil = none
	Over    project.Overrides
	Lock    Lock
	Tree    TreeRequest
	Warn    Warn
}

// A ResumeRequest asks for a run to be continued.
type ResumeRequest struct {
	Run        string   // id of a run, or name of a loop: then the newest run that can be resumed
	Context    []string // KEY=VALUE, over what the run remembers
	Over       project.Overrides
	Extend     Extend
	Force      bool   // with the loop as it is now, although it changed
	Definition string // "" or RecordedDefinition
	Rerun      bool   // run an interrupted action again although its state says idempotent: false
	From       string // the state to continue in; "" = where the run stands
	Lock       Lock
	Warn       Warn
}

// A ForkRequest asks for a new run that begins with what another one remembered.
type ForkRequest struct {
	Run        string   // id of a run, or name of a loop: then its newest
	At         string   // the step to do again: a number, or last
	Set        []string // KEY=VALUE for the context
	Definition string   // name or path of a loop, or RecordedDefinition; "" = the file that the run was started from
	Over       project.Overrides
	Rerun      bool // do the step again although its state says idempotent: false
	Empty      bool // copy nothing of the working folder
	Lock       Lock
	Tree       TreeRequest
	Warn       Warn
}
