package archtest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The program of docs/embed.md builds in a module of its own that names this one as the page says, and carries a run.
func TestEmbed(t *testing.T) {
	t.Parallel()
	page, err := fs.ReadFile(root, "docs/embed.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(page)
	if program == nil {
		t.Fatal("the page has no program")
	}
	if !strings.Contains(string(page), "require loops v0.0.0\nreplace loops => ../loops\n") {
		t.Error("the page does not say how a module names this one")
	}
	module, err := filepath.Abs(rootDir)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := fs.ReadFile(root, "go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// What this module requires is listed there too, as go mod tidy would: no network is needed.
	own := strings.Replace(string(mod), "module loops\n", "module example\n", 1) +
		"\nrequire loops v0.0.0\nreplace loops => " + module + "\n"
	for name, text := range map[string]string{
		"go.mod": own, "go.sum": string(sum), "main.go": string(program[1]),
		".loops/fix.yaml": "name: fix\ndescription: one action\ninitial: a\nstates:\n" +
			"  a: {action: \"true\", next: done}\n  done: {terminal: true}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", "example", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(filepath.Join(dir, "example"))
	run.Dir = dir
	out, err := run.CombinedOutput()
	if want := "a\nterminal \n"; err != nil || !strings.HasPrefix(string(out), "a\nterminal") {
		t.Errorf("%v\n%s\nwant %s", err, out, want)
	}
}
