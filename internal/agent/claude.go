package agent

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Claude Code: driven for real at 2.1.197.
var claude = &CLI{
	State: []string{"~/.claude", "~/.claude.json", "$CLAUDE_CONFIG_DIR"},
	Settings: []string{
		"~/.claude/settings.json", "~/.claude/settings.local.json", "~/.claude/CLAUDE.md",
		"~/.claude/commands", "~/.claude/agents", "~/.claude/hooks", "~/.claude/skills",
	},
	Name:    "claude",
	Aliases: []string{"claude-code"},
	Program: "claude",
	Login:   "claude auth login",
	// As with little-loops.
	JudgeModel: "sonnet",
	Hints:      map[string]string{"coding": "sonnet", "reasoning": "opus", "burst": "haiku"},
	Stop:       syscall.SIGINT, // at TERM it leaves the processes of its tools
	Has: Features{
		Model: true, Agent: true, Tools: true, Effort: true, Session: true, Permissions: true,
		Schema: true, MaxCost: true, Cost: true, Usage: true, Live: true,
	},
	Command: func(r Request) (Command, error) { return claudeCommand(r, os.Geteuid() == 0) },
	Stream:  func(r Request) Stream { return &messages{req: r, name: "claude"} },
}

// maxPromptArg is the longest prompt that is handed over as an argument; others go by standard input.
const maxPromptArg = 64 << 10

func claudeCommand(r Request, root bool) (Command, error) {
	if err := checkWords("claude", r); err != nil {
		return Command{}, err
	}
	if len(r.Schema) > maxArg {
		return Command{}, fmt.Errorf("the schema has %d bytes; claude takes at most %d", len(r.Schema), maxArg)
	}
	if strings.TrimSpace(r.Text) == "" {
		return Command{}, errors.New("the prompt is empty, which claude refuses")
	}
	c := Command{Env: claudeEnv(r, root)}
	if r.Skip {
		c.Args = append(c.Args, "--dangerously-skip-permissions")
	}
	switch {
	case r.Judge:
		c.Args = append(c.Args, "--output-format", "json")
	case !r.Alone:
		c.Args = append(c.Args, "--verbose", "--output-format", "stream-json")
	}
	// No flag with a list of values is last: it would take a prompt for one of them.
	c.Args = append(c.Args, "-p")
	if strings.HasPrefix(r.Text, "-") || len(r.Text) > maxPromptArg || strings.Contains(r.Text, "\x00") {
		c.Stdin = r.Text
	} else {
		c.Args = append(c.Args, r.Text)
	}
	add := func(flag, value string) {
		if value != "" {
			c.Args = append(c.Args, flag, value)
		}
	}
	add("--agent", r.Agent)
	if r.Tools != nil {
		c.Args = append(c.Args, "--tools", strings.Join(r.Tools, ","))
	}
	add("--model", r.Model)
	add("--effort", r.Effort)
	add("--resume", r.Session)
	if r.MaxCost > 0 {
		add("--max-budget-usd", strconv.FormatFloat(r.MaxCost, 'f', -1, 64))
	}
	if r.Judge {
		add("--json-schema", r.Schema)
		c.Args = append(c.Args, "--no-session-persistence")
	}
	return c, nil
}

func claudeEnv(r Request, root bool) []string {
	env := append(
		commonEnv(r),
		"CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	)
	if !r.Alone {
		// When to try again is decided here, where the limits of the run are known: left alone, it tries for
		// three minutes.
		env = append(env, "CLAUDE_CODE_MAX_RETRIES=0")
	}
	if r.Skip && root {
		// As root it skips no permissions unless it is set that it runs in a sandbox.
		env = append(env, "IS_SANDBOX=1")
	}
	return env
}
