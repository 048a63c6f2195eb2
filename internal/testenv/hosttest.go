package testenv

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// AgentCLIs are the hosts that can be driven, as loops knows them.
var AgentCLIs = []string{"claude", "codex", "gemini", "qwen"}

// setup is what installs them, from the root of the module.
const setup = "npm --prefix internal/testenv/testdata run setup"

// WhereCLI returns the folder that holds the program of a CLI, under its own name, for a PATH. Where it is not
// installed the test is skipped, with what to do about it.
func WhereCLI(t testing.TB, cli string) string {
	t.Helper()
	bin := filepath.Join(root(t), "internal/testenv/testdata/node_modules/.bin")
	if _, err := os.Stat(filepath.Join(bin, cli)); err != nil {
		Skip(t, cli+"; install it for tests with: "+setup)
	}
	Command(t, "node")
	only := t.TempDir()
	if err := os.Symlink(filepath.Join(bin, cli), filepath.Join(only, cli)); err != nil {
		t.Fatal(err)
	}
	return only
}

// root is the folder of go.mod.
func root(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = up
	}
}

// CLIEnv returns the whole environment in which a CLI, and it alone of all, is in the PATH, asks only api, has
// a key that is worth nothing, and finds nothing of the user's: HOME is the folder home, where Env writes what
// the CLI needs.
func CLIEnv(t testing.TB, cli string, api *VendorAPI, home string) []string {
	t.Helper()
	env := []string{
		"HOME=" + home,
		"PATH=" + strings.Join([]string{WhereCLI(t, cli), system(t)}, string(os.PathListSeparator)),
		"TMPDIR=" + t.TempDir(),
	}
	write := func(name, text string) {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	switch cli {
	case "claude":
		// Otherwise its first turn has no tools of MCP where a server takes more than five seconds to start.
		return append(env, "ANTHROPIC_BASE_URL="+api.URL, "ANTHROPIC_API_KEY=no-key", "IS_SANDBOX=1",
			"MCP_CONNECTION_NONBLOCKING=0", fmt.Sprint("MCP_CONNECT_TIMEOUT_MS=", Patience.Milliseconds()),
			fmt.Sprint("MCP_TIMEOUT=", Patience.Milliseconds()))
	case "codex":
		url, err := json.Marshal(api.URL + "/v1")
		if err != nil {
			t.Fatal(err)
		}
		// codex takes how often it tries again from the table of the provider only, and no flag reaches that.
		write(".codex/config.toml", `model_provider = "stand-in"
model = "gpt-5-codex"

[model_providers.stand-in]
name = "stand-in"
base_url = `+string(url)+`
wire_api = "responses"
env_key = "STAND_IN_KEY"
request_max_retries = 0
stream_max_retries = 0
`)
		return append(env, "STAND_IN_KEY=no-key")
	case "gemini":
		// Settings of the system, which would be ours to give, it takes from folders that belong to root only.
		write(".gemini/settings.json", `{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {"maxAttempts": 1},
  "privacy": {"usageStatisticsEnabled": false}
}`)
		return append(env, "GOOGLE_GEMINI_BASE_URL="+api.URL, "GEMINI_API_KEY=no-key")
	case "qwen":
		return append(env, "OPENAI_BASE_URL="+api.URL+"/v1", "OPENAI_API_KEY=no-key", "OPENAI_MODEL=stand-in")
	}
	t.Fatalf("no CLI is called %s", cli)
	return nil
}

// system is the part of PATH that has node, git, bash and the like. A CLI that the user installed may be in the same
// folder, so each program is linked to by itself.
func system(t testing.TB) string {
	dir := t.TempDir()
	for _, name := range []string{
		"node", "bash", "sh", "env", "git", "sleep", "cat", "echo", "ls", "mkdir", "rm",
		"touch", "grep", "sed", "ps", "uname", "which", "dirname", "basename",
	} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
