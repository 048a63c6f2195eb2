package main_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

const examples = ".loops.example"

// An exampleDir is a project with nothing in it but the examples and the files of the project they look at.
type exampleDir struct {
	cwd string
	env []string
}

func newExampleDir(t *testing.T) exampleDir {
	t.Helper()
	root := "../.."
	cwd := t.TempDir()
	must(t, os.CopyFS(filepath.Join(cwd, examples), os.DirFS(filepath.Join(root, examples))))
	for _, name := range []string{"LICENSE", "go.mod"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(cwd, name), text, 0o644))
	}
	for _, name := range []string{"cmd", "docs"} {
		must(t, os.Mkdir(filepath.Join(cwd, name), 0o755))
		must(t, os.WriteFile(filepath.Join(cwd, name, "x.txt"), []byte("one\ntwo\n"), 0o644))
	}
	env := cleanEnv(binary(t), cwd)
	// With another home folder go would build the standard library again.
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		must(t, err)
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return exampleDir{cwd, append(env, "GOFLAGS=")}
}

// loops runs the program, which may take two minutes on a busy machine, and returns its exit code and all it said.
func (d exampleDir) loops(t *testing.T, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t), args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = d.cwd, d.env, &out, &out
	_ = cmd.Run() // how it ended is read from ProcessState
	return int(exitCode(cmd.ProcessState)), out.String()
}

// file returns the text of a file in the folder of the only run.
func (d exampleDir) file(t *testing.T, name string) string {
	t.Helper()
	hits := visible(d.cwd, ".loops/runs/*/"+name)
	if len(hits) != 1 {
		t.Fatalf("%d files match %s, want 1", len(hits), name)
	}
	return readText(t, hits[0])
}

func TestExamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		args  []string
		exit  int
		files map[string]string // in the folder of the run
	}{
		{name: "hello", files: map[string]string{
			"report": "cmd/ holds 1 entries, 2 lines in the files on top\n" +
				"docs/ holds 1 entries, 2 lines in the files on top\n",
		}},
		{name: "each"},
		{name: "thirty"},
		{name: "backoff", files: map[string]string{"used": "it came\n"}},
		{name: "parallel"},
		{name: "fix-go"},
		{name: "metric"},
		{name: "metric", args: []string{"--context", "lines=1000"}, exit: 5},
		{name: "queue", files: map[string]string{
			"done/001-office.csv.total": "2899\n", "done/003-workshop.csv.total": "4450\n",
			"done/005-hall.csv.total":       "4800\n",
			"failed/002-kitchen.csv.reason": "malformed\n", "failed/004-garden.csv.reason": "empty\n",
			"failed/002-kitchen.csv": "bread,3,250\nmilk,two,120\n", "failed/004-garden.csv": "",
		}},
		{name: "links", args: []string{"--context", "files=" + examples + "/links.md"}},
		{
			name: "links", args: []string{"--context", "files=" + examples + "/broken.md"}, exit: 1,
			files: map[string]string{
				"broken": examples + "/broken.md: nowhere.md\n",
			},
		},
		{name: "links", args: []string{"--max-steps", "2", "--context", "files=" + examples + "/links.md " +
			examples + "/broken.md"}, exit: 5},
		{name: "resume", args: []string{"--context", "pause=0"}, files: map[string]string{"ledger": ledger()}},
	} {
		t.Run(strings.TrimSpace(c.name+" "+strings.Join(c.args, " ")), func(t *testing.T) {
			t.Parallel()
			d := newExampleDir(t)
			must(t, os.WriteFile(filepath.Join(d.cwd, examples, "links.md"),
				[]byte("[a](links.yaml), [b](#x), [c](https://example.org), [d](../LICENSE#x)\n"), 0o644))
			must(t, os.WriteFile(filepath.Join(d.cwd, examples, "broken.md"),
				[]byte("[a](nowhere.md) and [b](links.yaml)\n"), 0o644))
			exit, out := d.loops(t, append([]string{"run", examples + "/" + c.name + ".yaml"}, c.args...)...)
			if exit != c.exit {
				t.Fatalf("exits with %d, want %d:\n%s", exit, c.exit, out)
			}
			for name, want := range c.files {
				if got := d.file(t, name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

// TestExamplesListed wants every example in the README of the examples and in a test.
func TestExamplesListed(t *testing.T) {
	readme := readText(t, "../../"+examples+"/README.md")
	source := readText(t, "examples_test.go") + readText(t, "examples_pattern_test.go") +
		readText(t, "examples_agent_test.go") + readText(t, "jobs_test.go")
	files, err := filepath.Glob("../../" + examples + "/*.yaml")
	must(t, err)
	if len(files) < 5 {
		t.Fatalf("%d examples", len(files))
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".yaml")
		if strings.HasSuffix(name, ".test") { // TestOurLoops runs it
			continue
		}
		if !strings.Contains(readme, "("+name+".yaml)") {
			t.Errorf("README.md does not mention %s.yaml", name)
		}
		if !strings.Contains(source, fmt.Sprintf("name: %q", name)) {
			t.Errorf("no test runs %s.yaml", name)
		}
	}
}

// TestExampleLinksOfProject checks the links of the project's own documents.
func TestExampleLinksOfProject(t *testing.T) {
	t.Parallel()
	d := newExampleDir(t)
	must(t, os.RemoveAll(filepath.Join(d.cwd, "docs")))
	must(t, os.CopyFS(filepath.Join(d.cwd, "docs"), os.DirFS("../../docs")))
	must(t, os.CopyFS(filepath.Join(d.cwd, ".github"), os.DirFS("../../.github")))
	docs, err := filepath.Glob("../../*.md")
	must(t, err)
	for _, f := range append(docs, "../../action.yml", "../../.pre-commit-hooks.yaml") {
		must(t, os.WriteFile(filepath.Join(d.cwd, filepath.Base(f)), []byte(readText(t, f)), 0o644))
	}
	if exit, out := d.loops(t, "run", examples+"/links.yaml"); exit != 0 {
		t.Errorf("exits with %d:\n%s", exit, out)
	}
}

func TestExampleFixGoRepairs(t *testing.T) {
	t.Parallel()
	d := newExampleDir(t)
	if exit, out := d.loops(t, "run", examples+"/fix-go.yaml"); exit != 0 {
		t.Fatalf("exits with %d:\n%s", exit, out)
	}
	repairs := d.file(t, "repairs")
	for _, want := range []string{`+	"strings"`, `-	"os"`, "-	total := 0", "i := 0", "%6d %s"} {
		if !strings.Contains(repairs, want) {
			t.Errorf("the repairs lack %q:\n%s", want, repairs)
		}
	}
}

func TestExampleFixGoGivesUp(t *testing.T) {
	t.Parallel()
	d := newExampleDir(t)
	pkg := filepath.Join(d.cwd, "beyond")
	must(t, os.Mkdir(pkg, 0o755))
	must(t, os.WriteFile(pkg+"/go.mod.txt", []byte("module beyond\n\ngo 1.21\n"), 0o644))
	must(t, os.WriteFile(pkg+"/beyond.go.txt", []byte("package beyond\n\nfunc F() int { return \"text\" }\n"), 0o644))
	exit, out := d.loops(t, "run", examples+"/fix-go.yaml", "--context", "package=beyond")
	if exit != 1 {
		t.Errorf("exits with %d, want 1 for a failure terminal:\n%s", exit, out)
	}
}

// TestExampleResume does what the README of the examples tells the reader to do: run, kill -9, list, resume.
func TestExampleResume(t *testing.T) {
	t.Parallel()
	d := newExampleDir(t)
	cmd := exec.Command(binary(t), "run", examples+"/resume.yaml", "--context", "pause=0.5")
	cmd.Dir, cmd.Env = d.cwd, d.env
	must(t, cmd.Start())
	ledgerFile := func() string {
		if hits := visible(d.cwd, ".loops/runs/*/ledger"); len(hits) == 1 {
			return readText(t, hits[0])
		}
		return ""
	}
	testenv.Within(testenv.Patience, func() bool { return strings.Count(ledgerFile(), "\n") >= 2 })
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // was killed
	before := ledgerFile()
	if n := strings.Count(before, "\n"); n < 2 || n > 7 {
		t.Fatalf("killed with %d lines in the ledger", n)
	}
	if exit, out := d.loops(t, "history", "resume"); exit != 0 || !strings.Contains(out, "killed") {
		t.Errorf("history after the kill exits with %d and does not say interrupted:\n%s", exit, out)
	}
	if exit, out := d.loops(t, "resume", "resume"); exit != 0 {
		t.Fatalf("resume exits with %d:\n%s", exit, out)
	}
	if got := d.file(t, "ledger"); got != ledger() {
		t.Errorf("the ledger is\n%swant\n%s", got, ledger())
	}
	if exit, out := d.loops(t, "history", "resume"); exit != 0 || !strings.Contains(out, "completed") {
		t.Errorf("history after the resume exits with %d and does not say completed:\n%s", exit, out)
	}
}

// ledger is what resume.yaml leaves, however often it was killed.
func ledger() string {
	var b strings.Builder
	for i := 1; i <= 8; i++ {
		fmt.Fprintf(&b, "entry %d in step %d\n", i, i)
	}
	return b.String()
}
