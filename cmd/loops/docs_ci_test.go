package main_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"loops/engine/notify"
	"loops/internal/config"
	"loops/internal/testenv"
)

// pageFiles writes the YAML blocks of a page that have a file name above them to a project, and returns its folder.
func pageFiles(t *testing.T, page string) (dir string, files map[string]string) {
	t.Helper()
	dir, files = t.TempDir(), map[string]string{}
	for _, e := range pageBlocks(t, page) {
		if e.file == "" {
			e.file = ".loops/" + nameLine.FindStringSubmatch(e.text)[1] + ".yaml"
		}
		files[e.file] = e.text
		path := filepath.Join(dir, filepath.FromSlash(e.file))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(e.text), 0o644))
	}
	return dir, files
}

// shell runs a script in a folder and returns what it printed.
func shell(t *testing.T, dir, script string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	bin := binary(t)
	cmd := exec.CommandContext(ctx, "bash", "-ec", script)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(cleanEnv(bin, dir), "PATH="+linkedBinary(t, bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out.String())
	}
	return out.String()
}

// linkedBinary returns a folder in which the program is called loops.
func linkedBinary(t *testing.T, bin string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Symlink(bin, filepath.Join(dir, "loops")))
	return dir
}

var (
	jobExpression = regexp.MustCompile(`\$\{\{ steps\.loop\.outputs\.([a-z-]+) }}`)
	jobOutput     = regexp.MustCompile(`(?m)^([a-z-]+)<<(\S+)\n(.*)\n`)
)

// TestCIPage runs the steps of the workflows on the page as their services would.
func TestCIPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/ci.md"
	dir, files := pageFiles(t, page)
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	must(t, yaml.Unmarshal([]byte(files[".github/workflows/checks.yaml"]), &workflow))
	outputs, summary := filepath.Join(dir, "outputs"), filepath.Join(dir, "summary")
	ran, said := 0, ""
	for _, s := range workflow.Jobs["checks"].Steps {
		if s.Run == "" {
			continue
		}
		env := []string{"GITHUB_OUTPUT=" + outputs, "GITHUB_STEP_SUMMARY=" + summary, "GITHUB_WORKSPACE=" + dir}
		for name, value := range s.Env {
			env = append(env, name+"="+jobExpression.ReplaceAllStringFunc(value, func(x string) string {
				for _, m := range jobOutput.FindAllStringSubmatch(readText(t, outputs), -1) {
					if m[1] == jobExpression.FindStringSubmatch(x)[1] {
						return m[3]
					}
				}
				t.Errorf("there is no output for %s", x)
				return ""
			}))
		}
		ran++
		said = shell(t, dir, s.Run, env...)
	}
	if ran != 3 || said != "the loop is completed\n" {
		t.Errorf("%d steps ran, the last one printed %q", ran, said)
	}
	if text := readText(t, summary); !strings.Contains(text, "## ✅ Loop checks") ||
		!strings.Contains(text, "```mermaid") {
		t.Errorf("the summary is %s", text)
	}
	if text := readText(t, filepath.Join(dir, "junit.xml")); !strings.Contains(text,
		`<testcase name="fix" classname="checks"`) {
		t.Errorf("the report is %s", text)
	}

	must(t, os.Remove(filepath.Join(dir, "junit.xml")))
	var other struct{ Checks struct{ Script []string } }
	must(t, yaml.Unmarshal([]byte(files[".gitlab-ci.yml"]), &other))
	shell(t, dir, strings.Join(other.Checks.Script, "\n"))
	if text := readText(t, filepath.Join(dir, "junit.xml")); !strings.Contains(text,
		`tests="2" failures="0" errors="0" skipped="1"`) {
		t.Errorf("the report is %s", text)
	}
	page2 := readText(t, page)
	for _, m := range jobOutput.FindAllStringSubmatch(readText(t, outputs), -1) {
		if !strings.Contains(page2, "`"+m[1]+"`") {
			t.Errorf("%s does not name the output %s", page, m[1])
		}
	}
}

// TestNotifyPage runs the loop on the page with the config on it, and the function that checks signatures.
func TestNotifyPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/notify.md"
	dir, _ := pageFiles(t, page)
	out := shell(t, dir, "loops run release; cat told.txt", "PATH="+linkedBinary(t, binary(t))+":/usr/bin:/bin",
		"LOOPS_HOOK_KEY=")
	for _, want := range []string{
		"release: completed in done (1 step", "(completed): not told by webhook hooks.example.com: the key of the " +
			"signature is missing: the environment variable LOOPS_HOOK_KEY is not set",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if c, err := (config.Layers{Project: filepath.Join(dir, ".loops/config.yaml")}).Load(); err != nil ||
		len(c.Notify) != 4 {
		t.Errorf("the config on the page: %v", err)
	}
	text := readText(t, page)
	for _, k := range config.NotifyKinds {
		row := "| `" + k.Name + "` | " + map[bool]string{true: "yes ", false: ""}[k.Unasked] + "| " + k.Means + " |\n"
		if !strings.Contains(text, row) {
			t.Errorf("%s lacks %s", page, row)
		}
	}

	_, code, _ := strings.Cut(text, "```go\n")
	code, _, _ = strings.Cut(code, "```\n")
	program := "package main\n\nimport (\n\t\"crypto/hmac\"\n\t\"crypto/sha256\"\n\t\"encoding/hex\"\n\t\"fmt\"\n" +
		"\t\"os\"\n\t\"strconv\"\n\t\"strings\"\n\t\"time\"\n)\n\n" + code +
		"\nfunc main() {\n\tn, _ := strconv.ParseInt(os.Args[4], 10, 64)\n" +
		"\tfmt.Println(genuine(os.Args[1], []byte(os.Args[2]), os.Args[3], time.Unix(n, 0)))\n}\n"
	source := filepath.Join(dir, "genuine.go")
	must(t, os.WriteFile(source, []byte(program), 0o644))
	built := filepath.Join(dir, "genuine")
	if out, err := exec.Command("go", "build", "-o", built, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	signature := notify.Sign("key", time.Unix(1_700_000_000, 0), []byte("body"))
	for _, c := range []struct{ body, key, at, want string }{
		{"body", "key", "1700000100", "true"},
		{"Body", "key", "1700000100", "false"},
		{"body", "Key", "1700000100", "false"},
		{"body", "key", "1700001000", "false"},
	} {
		out, err := exec.Command(built, signature, c.body, c.key, c.at).Output()
		must(t, err)
		if got := strings.TrimSpace(string(out)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
