package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTestingPage runs the transcripts of the page about tests, in order, in a project with its files.
func TestTestingPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/testing.md"
	dir := t.TempDir()
	for _, e := range pageBlocks(t, page) {
		if e.file == "" {
			t.Fatalf("%s:%d: a block needs the name of its file above it", page, e.line)
		}
		path := filepath.Join(dir, filepath.FromSlash(e.file))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(e.text), 0o644))
	}
	n := 0
	for part := range strings.SplitSeq(readText(t, page), "\n```console\n") {
		block, rest, ok := strings.Cut(part, "\n```\n")
		if !ok || !strings.HasPrefix(part, "$ ") || rest == "" {
			continue
		}
		n++
		command, want, _ := strings.Cut(block, "\n")
		cmd := exec.CommandContext(t.Context(), binary(t), strings.Fields(strings.TrimPrefix(command, "$ loops "))...)
		cmd.Dir, cmd.Env = dir, cleanEnv(binary(t), dir)
		out, _ := cmd.CombinedOutput()
		got := strings.TrimSuffix(string(out), "\n")
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			got += fmt.Sprintf("\n[exit code %d]", code)
		}
		if got != want {
			t.Errorf("%s: %s prints\n%s\nwant:\n%s", page, command, got, want)
		}
	}
	if n < 2 {
		t.Errorf("%s has %d transcripts", page, n)
	}
}
