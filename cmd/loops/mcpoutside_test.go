package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each tool that takes the name of a loop or a run refuses one that leads out of the project, also where the
// command line has run it here.
func TestMCPOutside(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	outside := filepath.Join(t.TempDir(), "quick.yaml")
	stopped := strings.Replace(agentLoops["quick"], "next: done", "next: say", 1) + "max_steps: 1\n"
	must(t, os.WriteFile(outside, []byte(stopped), 0o644))
	cmd := exec.Command(binary(t), "-C", a.dir, "run", "-q", outside)
	cmd.Env = a.env
	if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || !strings.Contains(string(out), "resume") {
		t.Fatalf("%v %s", err, out)
	}
	tools, err := a.ListTools(t.Context(), nil)
	must(t, err)
	more := map[string]map[string]any{
		"signal": {"event": "x"}, "extend": {"limits": "steps=1"},
		"answer": {"choice": "x"},
	}
	for _, tool := range tools.Tools {
		properties, _ := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
		for _, key := range []string{"name", "run", "names"} {
			if properties[key] == nil {
				continue
			}
			for _, name := range []string{outside, "/etc/passwd", "../" + filepath.Base(filepath.Dir(outside)) +
				"/quick.yaml"} {
				arguments := map[string]any{key: name}
				if key == "names" {
					arguments[key] = []string{name}
				}
				for k, v := range more[tool.Name] {
					arguments[k] = v
				}
				if text := a.fail(tool.Name, arguments); !strings.Contains(text, "outside") {
					t.Errorf("%s %v: %s", tool.Name, arguments, text)
				}
			}
		}
	}
}
