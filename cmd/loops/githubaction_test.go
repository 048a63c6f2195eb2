package main_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

var (
	actionInput = regexp.MustCompile(`\$\{\{ inputs\.([a-z]+) }}`)
	stepOutput  = regexp.MustCompile(`\$\{\{ steps\.([a-z]+)\.outputs\.([a-z-]+) }}`)
	simpleLine  = regexp.MustCompile(`(?m)^([a-z-]+)=(.*)$`)
)

// fakeRelease fills a folder with what install.sh reads, with the program of these tests.
func fakeRelease(t *testing.T) string {
	t.Helper()
	dist, files := t.TempDir(), t.TempDir()
	program, err := os.ReadFile(binary(t))
	must(t, err)
	for name, text := range map[string]string{
		"loops": string(program), "man/loops.1.gz": "", "completions/loops.bash": "", "completions/loops.zsh": "",
		"completions/loops.fish": "",
	} {
		path := filepath.Join(files, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o755))
	}
	archive := fmt.Sprintf("loops_1.2.3_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	out, err := exec.Command("tar", "-I", "gzip -1", "-cf", filepath.Join(dist, archive), "-C", files,
		".").CombinedOutput()
	if err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	packed, err := os.ReadFile(filepath.Join(dist, archive))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dist, "loops_1.2.3_checksums.txt"),
		fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(packed), archive), 0o644))
	must(t, os.WriteFile(filepath.Join(dist, "latest.json"), []byte(`{"version": "1.2.3"}`), 0o644))
	return dist
}

// TestGitHubAction runs the steps of action.yml that are scripts as the service would: inputs arrive in the
// environment only, and what one step writes to its files is there for the next.
func TestGitHubAction(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../action.yml")
	must(t, err)
	var file struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Steps []struct {
				ID, Run string
				Env     map[string]string
			}
		}
	}
	must(t, yaml.Unmarshal(text, &file))
	root, err := filepath.Abs("../..")
	must(t, err)
	dir, temp := t.TempDir(), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "my project", ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "my project", ".loops", "greet.yaml"), []byte(
		"name: greet\ndescription: Greets\ninitial: a\ncontext: {note: none}\nstates:\n"+
			"  a: {action: 'echo \"note: $LOOPS_CONTEXT_NOTE\"; test -z \"$(command -v go)\"', on_yes: done, on_no: "+
			"done}\n  done: {terminal: true}\n"), 0o644))
	inputs := map[string]string{
		"loop": "greet", "args": "--context note=two words\n--max-steps 5",
		"directory": "my project", "from": fakeRelease(t),
	}
	for name, in := range file.Inputs {
		if _, ok := inputs[name]; !ok {
			inputs[name] = in.Default
		}
	}
	outputs := map[string]string{}
	path := "/usr/bin:/bin"
	ran := ""
	for i, step := range file.Runs.Steps {
		if step.Run == "" {
			continue // an action of the service: a cache, an upload
		}
		if strings.Contains(step.Run, "${{") {
			t.Errorf("step %d puts an expression into its script, where an input can be code: %s", i+1, step.Run)
		}
		files := map[string]string{"GITHUB_OUTPUT": "", "GITHUB_PATH": "", "GITHUB_STEP_SUMMARY": ""}
		env := []string{
			"HOME=" + temp, "PATH=" + path, "RUNNER_TEMP=" + temp, "GITHUB_ACTION_PATH=" + root,
			"GITHUB_ACTIONS=true",
		}
		for name := range files {
			files[name] = filepath.Join(temp, fmt.Sprint(name, i))
			must(t, os.WriteFile(files[name], nil, 0o644))
			env = append(env, name+"="+files[name])
		}
		for name, v := range step.Env {
			v = actionInput.ReplaceAllStringFunc(v, func(s string) string {
				return inputs[actionInput.FindStringSubmatch(s)[1]]
			})
			v = stepOutput.ReplaceAllStringFunc(v, func(s string) string {
				m := stepOutput.FindStringSubmatch(s)
				return outputs[m[1]+"."+m[2]]
			})
			env = append(env, name+"="+v)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("step %d, %s: %v\n%s", i+1, step.Run, err, out)
		}
		ran += string(out)
		set, err := os.ReadFile(files["GITHUB_OUTPUT"])
		must(t, err)
		for _, m := range simpleLine.FindAllStringSubmatch(string(set), -1) {
			outputs[step.ID+"."+m[1]] = m[2]
		}
		for _, m := range jobOutput.FindAllStringSubmatch(string(set), -1) {
			outputs[step.ID+"."+m[1]] = m[3]
		}
		more, err := os.ReadFile(files["GITHUB_PATH"])
		must(t, err)
		if more := strings.TrimSpace(string(more)); more != "" {
			path = more + ":" + path
		}
	}
	if outputs["run.outcome"] != "completed" || outputs["run.exit-code"] != "0" ||
		!strings.HasPrefix(outputs["run.reason"], "state ") || !strings.Contains(ran, "note: two words") {
		t.Errorf("outputs %v\n%s", outputs, ran)
	}
	page, err := os.ReadFile(outputs["report.page"])
	must(t, err)
	if !strings.Contains(string(page), "greet") {
		t.Errorf("the report is %d bytes", len(page))
	}
}

// TestPreCommitHook runs the hook as pre-commit does: with the files of the commit that match behind the entry.
func TestPreCommitHook(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	must(t, err)
	var hooks []struct{ Entry, Files, Exclude string }
	must(t, yaml.Unmarshal(text, &hooks))
	match, exclude := regexp.MustCompile(hooks[0].Files), regexp.MustCompile(hooks[0].Exclude)
	dir := t.TempDir()
	var given []string
	for name, text := range map[string]string{
		".loops/good.yaml":           "name: good\ndescription: d\ninitial: a\nstates:\n  a: {terminal: true}\n",
		".loops/sub/bad.yml":         "name: bad\ndescription: d\ninitial: b\nstates:\n  a: {terminal: true}\n",
		".loops/runs/x/old.yaml":     "not a loop",
		".loops/.history/x/old.yaml": "not a loop",
		"config.yaml":                "not a loop",
	} {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
		if match.MatchString(name) && !exclude.MatchString(name) {
			given = append(given, name)
		}
	}
	if len(given) != 2 {
		t.Fatalf("the hook is given %v", given)
	}
	script := "! " + hooks[0].Entry + " " + strings.Join(given, " ") + " > out 2>&1; cat out; " + hooks[0].Entry +
		" .loops/good.yaml"
	if said := shell(t, dir, script); !strings.Contains(said, `.loops/sub/bad.yml:3:10: error: `) {
		t.Errorf("it says:\n%s", said)
	}
}
