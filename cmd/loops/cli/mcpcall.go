package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"loops/internal/mcpclient"
)

const (
	mcpCall   = "mcp-call"
	mcpConfig = ".mcp.json"
)

type mcpCallOptions struct {
	config      string
	timeout     time.Duration
	argumentsFD int
}

// newMCPCallCommand is the program that mcp_tool states start. Its exit codes are those of tool calls, not of loops.
func newMCPCallCommand(a *program) *cobra.Command {
	var o mcpCallOptions
	cmd := &cobra.Command{
		Use:    mcpCall + " SERVER/TOOL [JSON]",
		Short:  "Call one tool of one MCP server",
		Hidden: true,
		Long: `mcp-call starts the server that .mcp.json names, calls one of its tools, prints the result as one line of JSON and
ends the server. It is what states with action_type mcp_tool run; by hand it shows why a call fails.

Exit codes:
    0  the tool was called
    1  the tool or its server failed
    2  bad command line, or .mcp.json has mistakes
  124  no reply in time
  127  no such server, tool or program, or no .mcp.json`,
		Example: `  loops mcp-call github/list_issues '{"state": "open"}'`,
		Args:    arguments(1, 2, "SERVER/TOOL"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runMCPCall(cmd.Context(), a, o, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.config, "config", "", "read `FILE` (default: .mcp.json of the project)")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long to wait for the result; 0 is for ever")
	flags.IntVar(&o.argumentsFD, "arguments-fd", -1, "read the JSON from file descriptor `N`")
	return cmd
}

func runMCPCall(ctx context.Context, a *program, o mcpCallOptions, args []string) error {
	call := mcpclient.Call{
		Config: o.config, Tool: args[0], Dir: a.Dir, Env: a.Env, Stderr: a.Err,
		Version: buildVersion(),
	}
	if len(args) == 2 {
		call.Arguments = []byte(args[1])
	}
	if o.argumentsFD >= 0 {
		f := os.NewFile(uintptr(o.argumentsFD), "the arguments")
		b, err := io.ReadAll(f)
		_ = f.Close() // or the server would get it too
		if err != nil {
			return usageError{fmt.Sprintf("--arguments-fd %d: %v", o.argumentsFD, err), "loops mcp-call --help"}
		}
		call.Arguments = b
	}
	if call.Config == "" {
		project, err := a.project()
		if err != nil {
			return err
		}
		call.Config = filepath.Join(project.Dir, mcpConfig)
	}
	// A user who ends this process needs no answer any more, but the server is to end in good order.
	ctx, stop := signal.NotifyContext(ctx, signalEnds...)
	defer stop()
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("%s are over", o.timeout))
		defer cancel()
	}
	result, err := call.Do(ctx)
	if result != nil {
		if _, err := fmt.Fprintf(a.out, "%s\n", result); err != nil {
			return err
		}
	}
	if failed, ok := errors.AsType[*mcpclient.Error](err); ok {
		return failureOf(failed.Code, "%s", failed.Text)
	}
	return err
}

// toolCall returns how the actions of a run in project call tools: by this program, in a process of their own.
func toolCall(project string) func(dir, tool string) (argv []string, known bool) {
	self, err := os.Executable()
	if err != nil {
		return nil // then it is mcp-call, or an action that says what is missing
	}
	return func(dir, tool string) ([]string, bool) {
		config := filepath.Join(dir, mcpConfig)
		if _, err := os.Stat(config); err != nil {
			config = filepath.Join(project, mcpConfig) // a worktree need not have it
		}
		// The time is up when the state says so.
		return []string{self, mcpCall, "--timeout=0", "--config=" + config}, mcpclient.Names(config, tool)
	}
}
