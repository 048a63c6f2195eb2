package action

import (
	"errors"
	"fmt"

	"loops/fsm"
)

// programCommand completes the command of an action type that the settings give to a program. The program reads
// the text of the action from its standard input, and finds in its environment what a script does. release is
// to be called when it is over.
func (r *Runner) programCommand(c *command, a fsm.Action) (release func() error, err error) {
	if len(a.Program) == 0 {
		return nil, errors.New("the action type of state " + a.State + " names no program")
	}
	if c.path, err = r.FindProgram(a.Program[0]); err != nil {
		return nil, fmt.Errorf("the program %q of the action type of state %q was not found; correct action_types "+
			"in .loops/config.yaml, and look with: loops doctor", a.Program[0], a.State)
	}
	vars, done, err := r.variables(a)
	if err != nil {
		return nil, err
	}
	c.argv, c.env = a.Program, append(c.env, vars...)
	if a.Text == "" {
		return done, nil
	}
	// A file, not a pipe: a program that never reads it neither blocks us nor gets us SIGPIPE.
	c.stdin, err = r.scriptFile(a.Text)
	if err != nil {
		_ = done()
		return nil, fmt.Errorf("the action of state %q cannot be written to a file: %w", a.State, err)
	}
	return func() error { _ = c.stdin.Close(); return done() }, nil
}
