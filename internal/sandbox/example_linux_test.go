package sandbox_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/sandbox"
	"loops/internal/testenv"
)

// An agent that starts each hostile program when it is asked first, and does its work when it is asked again.
const hostileClaude = `#!/bin/bash
prompt=$(printf '%s ' "$@"; [ -t 0 ] || cat)
case $prompt in *stream-json*)
  [ -e "$LOOPS_RUN_DIR/came" ] || while read -r name; do
    LOOPS_HOSTILE=$name timeout 30 "$V_PROGRAM" > /dev/null 2>&1 < /dev/null
    echo "$? $name" >> "$LOOPS_RUN_DIR/came"
  done < names
  [ -e "$LOOPS_RUN_DIR/twice" ] || { touch "$LOOPS_RUN_DIR/twice"; echo '{"type":"result","subtype":"success","is_error":false,"result":"Mended.","total_cost_usd":0.02}'; exit; }
  dir=$(grep -o '/[^ ]*/pkg ' <<< "$prompt" | head -n 1)
  echo mended > "${dir% }/wordcount.go"
  echo '{"type":"result","subtype":"success","is_error":false,"result":"Mended.","total_cost_usd":0.02,"usage":{"input_tokens":9,"output_tokens":3}}' ;;
*)
  echo '{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":0.01,"usage":{"input_tokens":9,"output_tokens":3},"structured_output":{"verdict":"yes","confidence":1,"reason":"so it is","evidence":"+mended"}}' ;;
esac
`

// The example of an agent survives hostile programs: what the agent starts changes nothing outside of its
// sandbox, reads no secret, and the run ends as its work says. With -torture all are started, else some.
func TestExampleOfAnAgent(t *testing.T) {
	t.Parallel()
	if testenv.Raced {
		return // what runs are other processes
	}
	testenv.Root(t, "mounts are made for root alone")
	tree, env, outside := sandbox.HostileVictim(t)
	examples := "../../.loops.example"
	names, may := sandbox.HostileNames()
	if !*testenv.Torture {
		some := names[:0:0]
		for n := 0; n < len(names); n += 6 {
			some = append(some, names[n])
		}
		names = some
	}
	bin := t.TempDir()
	for name, text := range map[string]string{
		"claude": hostileClaude,
		"go":     "#!/bin/sh\n[ $1 = vet ] || grep -q mended wordcount.go\n",
	} {
		testenv.Must(t, os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755))
	}
	testenv.WriteText(t, tree+"/names", strings.Join(names, "\n")+"\n")
	loop, err := os.ReadFile(examples + "/agent.yaml")
	testenv.Must(t, err)
	testenv.WriteText(t, tree+"/.loops/agent.yaml", string(loop))
	testenv.Must(t, os.CopyFS(tree+"/.loops.example/fixtures/brokenpkg", os.DirFS(examples+"/fixtures/brokenpkg")))
	self, err := os.Executable()
	testenv.Must(t, err)
	for i, e := range env {
		if rest, ok := strings.CutPrefix(e, "PATH="); ok {
			env[i] = "PATH=" + bin + ":" + rest
		}
		if socket, ok := strings.CutPrefix(e, "V_UNIX="); ok {
			env = append(env, "SSH_AUTH_SOCK="+socket)
		}
	}
	env = append(env, "V_PROGRAM="+self, "LOOPS_TRUST=1", "TMPDIR="+os.TempDir())
	home := filepath.Dir(tree) + "/home"
	testenv.Must(t, os.MkdirAll(home+"/.claude", 0o700))
	testenv.WriteText(t, home+"/.claude/settings.json", "{}\n")
	before := outside()
	p, err := project.Open(tree, project.Options{Env: env})
	testenv.Must(t, err)
	e := engine.New(p, engine.Options{Env: env})
	defer e.Close()
	said := ""
	run, err := e.Start(t.Context(), engine.StartRequest{Loop: "agent"},
		engine.ObserverFunc(func(n engine.Notice) { said += fmt.Sprintf("%+v\n", n) }))
	testenv.Must(t, err)
	result, err := run.Wait(t.Context())
	testenv.Must(t, err)
	if !strings.Contains(said, "mend changed what its guard does not allow") {
		t.Error("what the programs changed in the project was not put back")
	}
	if result.Outcome.FinalState != "done" {
		t.Errorf("it ended in %q: %+v\n%.4000s", result.Outcome.FinalState, result.Outcome, said)
	}
	came, err := filepath.Glob(tree + "/.loops/runs/*/came")
	if err != nil || len(came) != 1 {
		t.Fatalf("what the programs came to is in %q: %v\n%.4000s", came, err, said)
	}
	text, err := os.ReadFile(came[0])
	testenv.Must(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != len(names) {
		t.Errorf("%d of %d programs were started", len(lines), len(names))
	}
	for _, line := range lines {
		if code, name, _ := strings.Cut(line, " "); code == "0" && !may[name] {
			t.Errorf("%s: was not refused", name)
		}
	}
	if now := outside(); !maps.Equal(now, before) {
		t.Errorf("files outside are not what they were: %q", now)
	}
}
