// Package tryout tries a loop out before it is run, as its user has it: its walk with made-up results, one state for real, and what
// became of that for people and programs. Nothing is recorded.
package tryout

import (
	"context"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/ui"
)

// A Desk is where loops are tried out: their project, and where what became of it is shown.
type Desk struct {
	Project *project.Project
	Options engine.Options
	Out     *ui.Sink
	Paint   ui.Paint
	Getenv  func(name string) (string, bool)                         // of the environment of loops
	Warn    func(quiet bool) engine.Warn                             // takes what a user should know before
	Shown   func(err error) error                                    // shows the mistakes of a loop that an error is about, and returns it
	Read    func(flag, name string, limit int64) (string, error)     // reads a file that a flag names
	Code    func(o fsm.Outcome) int                                  // is the exit code of a run that ends so
	Guard   func(context.Context, func(context.Context) error) error // does something that a signal ends
}
