package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// TestMCPAgents: the real CLIs of agents drive a loop through the plain tools: they start it, look at it, answer its
// question, pause it, stop it, and resume it.
func TestMCPAgents(t *testing.T) {
	t.Parallel()
	for cli, flags := range map[string]func(bin string) []string{
		"claude": func(bin string) []string {
			conf, _ := json.Marshal(
				map[string]any{"mcpServers": map[string]any{
					"loops": map[string]any{"command": bin, "args": []string{"mcp"}},
				}})
			return []string{
				"-p", "--mcp-config", string(conf), "--strict-mcp-config", "--allowedTools", "mcp__loops",
				"--", "drive the loop [[calls]]",
			}
		},
		"codex": func(bin string) []string {
			command, _ := json.Marshal(bin)
			return []string{
				"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c",
				"mcp_servers.loops.command=" + string(command), "-c", `mcp_servers.loops.args=["mcp"]`,
				"-c", fmt.Sprint("mcp_servers.loops.startup_timeout_sec=", testenv.Patience.Seconds()),
				"drive the loop [[calls]]",
			}
		},
	} {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			dir, home := t.TempDir(), t.TempDir()
			t.Cleanup(func() { testenv.RemoveSoon(t, dir) })
			t.Cleanup(func() { testenv.RemoveSoon(t, home) })
			must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
			writeText(t, filepath.Join(dir, ".loops", "ship.yaml"), asking)
			writeText(t, filepath.Join(dir, ".loops", "slow.yaml"), agentLoops["slow"])
			api := testenv.ServeVendor(t, cli)
			api.Calls = drives
			env := append(testenv.CLIEnv(t, cli, api, home), "NO_COLOR=1", "DISABLE_AUTOUPDATER=1",
				"ENABLE_TOOL_SEARCH=false")
			cmd := exec.CommandContext(t.Context(), cli, flags(binary(t))...)
			cmd.Path = filepath.Join(testenv.WhereCLI(t, cli), cli)
			cmd.Err, cmd.Dir, cmd.Env = nil, dir, env
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), testenv.CallsDone) {
				t.Fatalf("%s: %v\n%s", cli, err, out)
			}
			for name, want := range map[string]string{"ship": "1 completed", "slow": "1 user_stopped"} {
				if got := strings.TrimSpace(loopsIn(t, dir, nil, "history", name, "--json", "--jq",
					`"\(length) \(.[0].status)"`)); strings.Trim(got, `"`) != want {
					t.Errorf("history of %s: %s, not %s", name, got, want)
				}
			}
		})
	}
}

// drives are what the agent calls, in this order.
var drives = []testenv.ToolCall{
	{Tool: "list", Arguments: map[string]any{}, Until: "slow"},
	{Tool: "validate", Arguments: map[string]any{"names": []string{"ship"}}, Until: "valid"},
	{Tool: "run", Arguments: map[string]any{"name": "ship"}, Until: "instance_id"},
	{Tool: "status", Arguments: map[string]any{"run": "ship"}, Until: "Ship it?"},
	{
		Tool: "answer",
		Arguments: map[string]any{
			"run": "ship", "choice": "approve",
			"fields": map[string]any{"percent": 30, "reason": "it's green"},
		}, Until: "approve",
	},
	{Tool: "status", Arguments: map[string]any{"run": "ship"}, Until: "completed"},
	{Tool: "explain", Arguments: map[string]any{"run": "ship"}, Until: "It ended at done"},
	{Tool: "run", Arguments: map[string]any{"name": "slow"}, Until: "instance_id"},
	{Tool: "pause", Arguments: map[string]any{"run": "slow"}, Until: "paused"},
	{Tool: "unpause", Arguments: map[string]any{"run": "slow"}, Until: "unpaused"},
	{Tool: "stop", Arguments: map[string]any{"run": "slow"}, Until: "stopped"},
	{Tool: "resume", Arguments: map[string]any{"run": "slow"}, Until: "instance_id"},
	{Tool: "stop", Arguments: map[string]any{"run": "slow"}, Until: "stopped"},
	{Tool: "events", Arguments: map[string]any{"run": "slow", "event": "loop_complete"}, Until: "loop_complete"},
	{Tool: "logs", Arguments: map[string]any{"run": "ship"}, Until: "instance_id"},
	{Tool: "history", Arguments: map[string]any{"name": "slow"}, Until: "runs"},
	{Tool: "run", Arguments: map[string]any{"name": "/etc/passwd"}, Until: "outside"},
}
