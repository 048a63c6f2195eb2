package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/mcpserver"
	"loops/internal/simulate"
	"loops/internal/terminal"
	"loops/internal/worker"
)

func newMCPCommand(a *program) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve loops to an agent over MCP",
		Long: `mcp is a server of the Model Context Protocol on standard input and output: an agent starts it, and then has
tools to list,
validate, simulate, run, watch, pause and stop the loops of the project. What a tool returns is what the command of the same
name prints with --json; lists are in an object, as the protocol wants one. The tool events reads the events of a run from
where it stopped reading, and logs the end of what its actions wrote. The page of the language is the resource
loops://language; loops://runs/RUN, loops://runs/RUN/graph and loops://runs/RUN/receipt show a run.

A client that declares the extension io.modelcontextprotocol/tasks gets a task from run and resume: its id is the run's.
tasks/get, tasks/update and tasks/cancel read the run, answer its questions and stop it, whichever server started it.

A run that an agent starts is a process of its own. It continues when the server ends, unless the agent asked for
stop_with_server. Where the agent is itself part of the action of a run, only such a run shares what that one has locked:
any other may continue when the action has ended. The server ends when its input does and what was asked is answered, which it
waits for five seconds, or by SIGTERM, SIGINT, SIGQUIT or SIGHUP. A line that is not a message is answered with an error.` + exitHelp(exitOK, exitFailed, exitUsage),
		Example: `  claude mcp add loops -- loops -C /path/to/project mcp
  codex mcp add loops -- loops -C /path/to/project mcp`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return runMCP(cmd.Context(), a) },
	}
}

func runMCP(ctx context.Context, a *program) error {
	if _, err := a.project(); err != nil {
		return err
	}
	if terminal.Interactive(a.In) {
		terminal.SayLine(a.Err, "loops: this is a server for agents, and it waits for their messages; Ctrl-C ends "+
			"it. To add it to an agent, see: loops help mcp")
	}
	in, ok := a.In.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(a.In)
	}
	signalDenyTerminal()
	ctx, stop := signal.NotifyContext(ctx, signalEnds...)
	defer stop()
	s := &served{app: a}
	host := &mcpserver.Host{
		Session: s.session, Begin: s.begin, Ended: ended, Known: a.identity(),
		User: cmp.Or(a.sender(), engine.User()),
	}
	err := mcpserver.New(host, buildVersion()).Serve(ctx, in, terminal.Verbatim(a.Out))
	s.runs.Stop(engine.StopGrace)
	if err != nil {
		return failure(engine.Failed, "the conversation with the agent ended: %s", oneLine(err))
	}
	return nil
}

// A served is what the tools of one server share.
type served struct {
	app  *program
	runs worker.Children // that end with the server
}

// asking returns the invocation that a call is. What it has to say besides its answer is written to said.
func (s *served) asking(said *bytes.Buffer) *program {
	a := &program{
		IO:  IO{In: strings.NewReader(""), Out: io.Discard, Err: said, Dir: s.app.Dir, Env: s.env()},
		dir: s.app.dir, store: s.app.store, color: "never",
	}
	a.out = terminal.NewSink(a.Out)
	return a
}

// session returns what a call works with.
func (s *served) session() (*mcpserver.Session, error) {
	var said bytes.Buffer
	a := s.asking(&said)
	inWords := func(err error) error { return a.spoken(err, &said) }
	service, err := a.service()
	if err != nil {
		return nil, inWords(err)
	}
	desk := func(script string) (*simulate.Desk, error) {
		a.In = strings.NewReader(script)
		return a.desk()
	}
	return &mcpserver.Session{Service: service, Checks: a.checks(), Desk: desk, InWords: inWords}, nil
}

// spoken is an error with the message that the command prints for it, after what it has printed already.
func (a *program) spoken(err error, before *bytes.Buffer) error {
	if err == nil {
		return nil
	}
	code, message := a.explained(err)
	if message != "" {
		terminal.SayLines(before, terminal.Block(message))
	}
	return errors.New(said(before.String(), code))
}

// command is a command line for the project of the server.
func (s *served) command(args ...string) []string {
	if s.app.dir != "" {
		args = append([]string{"-C", s.app.dir}, args...)
	}
	return args
}

// env is the environment of commands: they use the store of the server.
func (s *served) env() []string {
	env := s.app.Env
	if s.app.store != "" {
		env = append(env[:len(env):len(env)], project.EnvStore+"="+s.app.store)
	}
	return env
}

// runEnv is the environment of a run. One that continues when the server ends outlives the action that this
// server may be part of, and shares nothing with the run of that.
func (s *served) runEnv(bound bool) []string {
	env := s.env()
	if bound {
		return env
	}
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, engine.EnvAncestors+"=")
	})
}

// said is what a command that failed has printed, without what is before each line.
func said(text string, code int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "loops: ")
	}
	if text = strings.Join(lines, "\n"); text != "" {
		return text
	}
	return fmt.Sprintf("exit code %d: %s", code, exitText(code))
}
