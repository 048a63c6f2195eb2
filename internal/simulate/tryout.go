package simulate

import (
	"context"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/terminal"
)

// A Desk is where loops are tried out: their project, and where the result of it is shown.
type Desk struct {
	Project *project.Project
	Options engine.Options
	Out     *terminal.Sink
	Paint   terminal.Paint
	Getenv  func(name string) (string, bool) // of the environment of loops
	Warn    func(quiet bool) engine.Warn     // takes what a user should know before
	// shows the mistakes of a loop that an error is about, and returns it
	Shown func(err error) error
	Read  func(flag, name string, limit int64) (string, error)     // reads a file that a flag names
	Code  func(o fsm.Outcome) int                                  // is the exit code of a run that ends so
	Guard func(context.Context, func(context.Context) error) error // does something that a signal ends
}
