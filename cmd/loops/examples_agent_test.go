package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// An agent that fixes the package of the examples, and a judge that quotes a line of what it did. VERDICT and EVIDENCE
// are what the judge answers.
const exampleClaude = `#!/bin/bash
prompt=$(printf '%s ' "$@"; [ -t 0 ] || cat)
case $prompt in *stream-json*)
  dir=$(grep -o '/[^ ]*/pkg ' <<< "$prompt" | head -n 1)
  sed -i -e 's/"os"/"strings"/' -e '/total := 0/d' -e 's/i := 1;/i := 0;/' -e 's/%6d %d/%6d %s/' ${dir% }/wordcount.go
  echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Mended."}]}}'
  echo '{"type":"result","subtype":"success","is_error":false,"result":"Mended.","total_cost_usd":0.02,"usage":{"input_tokens":9,"output_tokens":3}}' ;;
*)
  echo '{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":0.01,"usage":{"input_tokens":9,"output_tokens":3},"structured_output":{"verdict":"'$VERDICT'","confidence":1,"reason":"so it is","evidence":"'$EVIDENCE'"}}' ;;
esac
`

func TestExampleAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		verdict, evidence string
		exit              int
		want              string
	}{
		{name: "agent", verdict: "yes", evidence: `-\ttotal := 0`, want: "yes (so it is) -> done"},
		{name: "agent", verdict: "no", evidence: `-\ttotal := 0`, exit: 1, want: "no (so it is) -> failed"},
		{name: "agent", verdict: "yes", evidence: "nothing of the kind", exit: 1, want: "cannot_judge"},
	} {
		t.Run(c.verdict+" "+c.evidence, func(t *testing.T) {
			t.Parallel()
			d := newExampleDir(t)
			bin := t.TempDir()
			must(t, os.WriteFile(filepath.Join(bin, "claude"), []byte(exampleClaude), 0o755))
			d.env = append(d.env, "PATH="+bin+":"+os.Getenv("PATH"), "VERDICT="+c.verdict, "EVIDENCE="+c.evidence)
			exit, out := d.loops(t, "run", examples+"/"+c.name+".yaml")
			if exit != c.exit || !strings.Contains(out, c.want) {
				t.Fatalf("exits with %d, want %d and %q:\n%s", exit, c.exit, c.want, out)
			}
		})
	}
}

// goalAgent is each of the agents: the first time it makes the tests of the package empty, then it fixes the
// package. It prints what the agent of its name does.
const goalAgent = `#!/bin/bash
[ -t 0 ] || cat > /dev/null
if [ -e "$LOOPS_RUN_DIR/asked" ]; then
  sed -i -e 's/"os"/"strings"/' -e '/total := 0/d' -e 's/i := 1;/i := 0;/' -e 's/%6d %d/%6d %s/' wordcount.go
else
  touch "$LOOPS_RUN_DIR/asked"; echo 'package wordcount' > wordcount_test.go
fi
case ${0##*/} in
claude) echo '{"type":"system","subtype":"init","model":"fake-model-1","session_id":"s"}'
  echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","total_cost_usd":0.25,"usage":{"input_tokens":100,"output_tokens":20}}' ;;
codex) echo '{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}'
  echo '{"type":"turn.completed","usage":{"input_tokens":100,"output_tokens":20}}' ;;
gemini) echo '{"type":"init","session_id":"s","model":"gemini-2.5-flash"}'
  echo '{"type":"message","role":"assistant","content":"Done.","delta":true}'
  echo '{"type":"result","status":"success","stats":{"total_tokens":120,"input_tokens":100,"output_tokens":20}}' ;;
kimi) echo '{"role":"assistant","content":[{"type":"text","text":"Done."}]}' ;;
opencode) echo '{"type":"step_start","sessionID":"s","part":{}}'
  echo '{"type":"text","sessionID":"s","part":{"text":"Done."}}'
  echo '{"type":"step_finish","sessionID":"s","part":{"reason":"stop","cost":0.01,"tokens":{"input":100,"output":20}}}' ;;
qwen) echo '{"type":"system","subtype":"init","session_id":"s","model":"qwen3-coder"}'
  echo '{"type":"result","subtype":"success","status":"success","is_error":false,"result":"Done.","stats":{"input_tokens":100,"output_tokens":20},"usage":{"input_tokens":100,"output_tokens":20}}' ;;
esac
`

// TestGoalOnTheBrokenPackage: loops goal on the broken package of the examples finds its check, and ends
// proven, guarded and within its budget with each agent.
func TestGoalOnTheBrokenPackage(t *testing.T) {
	t.Parallel()
	agents := []string{"claude", "codex", "gemini", "kimi", "opencode", "qwen"}
	if !testenv.EveryCLI() { // the script goal has each of them repair another package
		agents = agents[:2]
	}
	for _, agent := range agents {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			d := newExampleDir(t)
			bin := t.TempDir()
			must(t, os.WriteFile(filepath.Join(bin, agent), []byte(goalAgent), 0o755))
			// The home folder is a temporary one here, and the place of secrets in it must not be in the one
			// that actions may change.
			d.env = append(d.env, "PATH="+bin+":"+os.Getenv("PATH"), "TMPDIR="+t.TempDir())
			// The check compiles what the cache of this machine lacks.
			cache, err := exec.Command("go", "env", "GOCACHE").Output()
			must(t, err)
			config := filepath.Join(d.cwd, ".config/loops")
			must(t, os.MkdirAll(config, 0o755))
			writeText(t, filepath.Join(config, "config.yaml"),
				"sandbox: {caches: ["+strings.TrimSpace(string(cache))+"]}\n")
			from := filepath.Join(d.cwd, examples, "fixtures/brokenpkg")
			d.cwd = filepath.Join(d.cwd, "pkg")
			must(t, os.Mkdir(d.cwd, 0o755))
			for _, name := range []string{"go.mod", "wordcount.go", "wordcount_test.go"} {
				must(t, os.WriteFile(filepath.Join(d.cwd, name),
					[]byte(readText(t, filepath.Join(from, name+".txt"))), 0o644))
			}
			for _, args := range [][]string{
				{"init", "-q"},
				{"add", "."},
				{"-c", "user.name=n", "-c", "user.email=n@x", "commit", "-qm", "begin"},
			} {
				cmd := exec.CommandContext(t.Context(), "git", args...)
				cmd.Dir = d.cwd
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %q: %s", args, out)
				}
			}
			exit, out := d.loops(t, "goal", "Vet and tests pass", "--yes", "--host", agent, "--budget", "prompts=3")
			for _, want := range []string{
				"holds  never enter done without check",
				"check: \"go vet ./... && go test ./...\"", "guarded (", "Loop completed: done (5 steps",
			} {
				if exit != 0 || !strings.Contains(out, want) {
					t.Fatalf("exits with %d, want %q:\n%s", exit, want, out)
				}
			}
			if got := readText(t, filepath.Join(d.cwd, "wordcount_test.go")); !strings.Contains(got, "func TestTop") {
				t.Errorf("the tests are %s", got)
			}
			if exit, out := d.loops(t, "prove", "goal-vet-and-tests-pass", "-q"); exit != 0 {
				t.Errorf("prove exits with %d: %s", exit, out)
			}
		})
	}
}
