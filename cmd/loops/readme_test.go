package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeLoops runs every YAML block of the README.
func TestReadmeLoops(t *testing.T) {
	t.Parallel()
	bin := binary(t)
	blocks := regexp.MustCompile("(?s)```yaml\n(name: ([a-z-]+)\n.*?)```").FindAllStringSubmatch(readText(t, "../../README.md"), -1)
	if n := strings.Count(readText(t, "../../README.md"), "```yaml"); n == 0 || n != len(blocks) {
		t.Fatalf("%d of %d YAML blocks begin with a name", len(blocks), n)
	}
	for _, b := range blocks {
		t.Run(b[2], func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, ".loops", b[2]+".yaml"), []byte(b[1]), 0o644))
			must(t, os.WriteFile(filepath.Join(dir, "x.go"), []byte("package x\nfunc  F( ) { }\n"), 0o644))
			if strings.Contains(b[1], "prompt") { // it needs an agent
				cmd := exec.Command(bin, "validate", "--strict", b[2])
				cmd.Dir, cmd.Env = dir, cleanEnv(bin, dir)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				return
			}
			cmd := exec.Command(bin, "run", b[2])
			cmd.Dir, cmd.Env = dir, cleanEnv(bin, dir)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Loop completed: done (3 steps") {
				t.Errorf("%v\n%s", err, out)
			}
			if strings.Contains(string(out), "warning") {
				t.Errorf("the README shows a loop with a warning:\n%s", out)
			}
			if got := readText(t, filepath.Join(dir, "x.go")); got != "package x\n\nfunc F() {}\n" {
				t.Errorf("the file was not formatted: %q", got)
			}
		})
	}
}
