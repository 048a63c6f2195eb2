package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// The plugin is installed by each agent as a user installs it, with a home folder of its own. claude and gemini also
// start its server. With -every-cli they also check it and list what it has.
func TestPlugins(t *testing.T) {
	t.Parallel()
	plugins, err := filepath.Abs("../../docs/contrib/plugins")
	must(t, err)
	plugin := filepath.Join(plugins, "loops")
	type call struct{ command, want string }
	for cli, c := range map[string]struct{ long, commands []call }{
		"claude": {[]call{
			{"plugin validate --strict " + plugins, "Validation passed"},
			{"plugin validate --strict " + plugin, "Validation passed"},
		}, []call{
			{"plugin marketplace add " + plugins, "Successfully added marketplace: loops"},
			{"plugin install loops@loops", "Successfully installed plugin: loops@loops"},
			{"plugin details loops", "Skills (1)  write-a-loop"},
			{"mcp list", "plugin:loops:loops: loops mcp - ✔ Connected"},
		}},
		"codex": {nil, []call{
			{"plugin marketplace add " + plugins, "Added marketplace `loops`"},
			{"plugin add loops@loops", "Added plugin `loops`"},
			{"plugin list", "loops@loops  installed, enabled"},
			{"mcp list", "loops  loops    mcp "},
		}},
		"gemini": {[]call{
			{"extensions validate " + plugin, "successfully validated"},
		}, []call{
			{"extensions link --consent " + plugin, "linked successfully and enabled"},
			{"extensions list", "  write-a-loop: "},
			{"mcp list", "loops (from loops): loops mcp (stdio) - Connected"},
		}},
	} {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			home, dir := t.TempDir(), t.TempDir()
			t.Cleanup(func() { testenv.RemoveSoon(t, home) })
			env := testenv.CLIEnv(t, cli, testenv.ServeVendor(t, cli), home)
			for i, kv := range env {
				if path, ok := strings.CutPrefix(kv, "PATH="); ok {
					env[i] = "PATH=" + filepath.Dir(binary(t)) + string(os.PathListSeparator) + path
				}
			}
			env = append(env, "NO_COLOR=1", "DISABLE_AUTOUPDATER=1", "GEMINI_CLI_TRUST_WORKSPACE=true")
			commands := c.commands
			if testenv.EveryCLI() {
				commands = slices.Concat(c.long, commands)
			}
			for _, c := range commands {
				cmd := exec.CommandContext(t.Context(), cli, strings.Fields(c.command)...)
				cmd.Path = filepath.Join(testenv.WhereCLI(t, cli), cli)
				cmd.Err, cmd.Dir, cmd.Env = nil, dir, env
				if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
					t.Errorf("%s %s: %v; expected %q in\n%s", cli, c.command, err, c.want, out)
				}
			}
		})
	}
}

// The loop that the skill shows is valid, and ends in the scenarios that the skill names.
func TestSkill(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/contrib/plugins/loops/skills/write-a-loop/SKILL.md")
	must(t, err)
	_, block, _ := strings.Cut(string(text), "```yaml\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("the skill shows no loop")
	}
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "fix-tests.yaml"), block)
	for _, command := range []string{
		"validate --strict fix-tests.yaml",
		"simulate fix-tests.yaml --scenario all-pass", "simulate fix-tests.yaml --scenario all-fail",
	} {
		cmd := exec.Command(binary(t), strings.Fields(command)...)
		cmd.Dir, cmd.Env = dir, cleanEnv(binary(t), dir)
		if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 1 ||
			!strings.Contains(string(out), " valid") && !strings.Contains(string(out), "Would end") {
			t.Errorf("loops %s: %v\n%s", command, err, out)
		}
	}
}
