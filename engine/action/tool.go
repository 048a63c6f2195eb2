package action

import (
	"errors"
	"fmt"
	"syscall"

	"loops/fsm"
)

// A ToolCall finds the program that calls the tool SERVER/TOOL from the directory dir. It gets the tool and the
// JSON arguments behind argv; arguments too long for a command line come from descriptor 3, and the word
// --arguments-fd=3 says so. known reports whether it knows the server: if not, a program mcp-call in PATH is
// asked instead.
type ToolCall = func(dir, tool string) (argv []string, known bool)

// toolScarce is the exit code of a program that ToolCall found where the machine had no process, memory or
// descriptor for the server.
const toolScarce = 75

// An uncalledError explains why a tool was not called, as its program printed it.
type uncalledError string

func (e uncalledError) Error() string { return string(e) }
func (e uncalledError) Unwrap() error { return syscall.EAGAIN }

// toolCommand completes the command of a tool call. release is to be called when it is over.
func (r *Runner) toolCommand(c *command, a fsm.Action) (release func(), err error) {
	release = func() {}
	params := a.Params
	if params == "" {
		params = "{}"
	}
	var argv []string
	known := false
	if r.ToolCall != nil {
		argv, known = r.ToolCall(c.dir, a.Text)
	}
	if !known {
		path, err := lookPath("mcp-call", r.search, r.Dir)
		if err == nil {
			c.path, c.argv = path, []string{"mcp-call", a.Text, params}
			return release, nil
		}
		if len(argv) == 0 {
			return nil, errors.New("mcp-call was not found in PATH, so the tool " + a.Text +
				" was not called: install mcp-call, or add the directory it is in to PATH")
		}
	}
	c.path, c.sweep = argv[0], true
	c.argv = append(argv[:len(argv):len(argv)], "--", a.Text, params)
	if len(params) >= longScript {
		file, err := r.scriptFile(params)
		if err != nil {
			return nil, fmt.Errorf("the arguments of state %q cannot be written to a file: %w", a.State, err)
		}
		release = func() { _ = file.Close() }
		c.script = file
		c.argv = append(argv[:len(argv):len(argv)], "--arguments-fd=3", "--", a.Text)
	}
	return release, nil
}
