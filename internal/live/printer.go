package live

import (
	"time"

	"loops/fsm"
	"loops/internal/api"
	"loops/persistence"
)

// A Printer shows a run to the user who started it. Only Note may be called from another goroutine.
type Printer interface {
	// Queued is called before Header, when the run has to wait for others, and again when it waits for another process.
	Queued(q Queued)
	// Header is called once, before the first event.
	Header(h Header)
	// Watch calls run, keeping what is on the screen up to date until it returns.
	Watch(run func())
	// Event shows something that was recorded.
	Event(e fsm.Event)
	// Note says something to the person that is no part of the run's history.
	Note(text string)
	// Finish is called once, after the last event, with the command that continues with the run ("" = none).
	Finish(o fsm.Outcome, resume string)
	// Tree is called after Finish where the run is in a work tree, with the result of it.
	Tree(t Tree)
}

// A Tree reports the result of the work tree of a run.
type Tree struct {
	Lines  []string
	Object api.TreeEnd // for a program
	Left   bool        // something is left in it, or it could not be ended
}

// NoteLines is [Printer.Note] of several lines, the first behind front.
func NoteLines(p Printer, front string, lines []string) {
	for _, line := range lines {
		p.Note(front + line)
		front = ""
	}
}

// A Header is what is known when a run begins or continues.
type Header struct {
	Loop     *fsm.Loop
	File     string // as a person would write it
	Run      persistence.Run
	RunDir   string // absolute, with a slash
	ShortDir string // the same as a person would write it
	Resumed  bool
	Attached bool          // another process carries the run on
	Elapsed  time.Duration // before this process took over
	Begin    time.Time     // of this process's part
	Agents   string        // which it uses, and what they may do; "" = none
	Guard    string        // what actions may change; "" = nothing limits that
	Sandbox  string        // what limits actions, and what of that is not enforced; "" = nothing does
	Wake     string        // the command that ends a wait of the run; "" = none
	Explain  string        // the command that explains how the run ended; "" = none
	// the command that begins a new run from the step that decided how it ended; nil = none
	Again    func(failedItems int) string
	Worktree string // of the run, absolute; "" = it is in the main checkout
	Branch   string // of the work tree; "" where another run's is used
	Where    string // of a run that is under way: its state, and those of its sub-loops

	Origin *persistence.Origin // of a fork; nil = it is not one
	Retry  bool                // the fork is from the step that decided how the other run ended
	Notes  []string            // what else there is to say, a line each
}
