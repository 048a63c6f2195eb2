package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestCheckpointPage does what docs/checkpoint.md shows: it runs the script, kills it behind its first stage, runs it
// again, and wants the output that is there.
func TestCheckpointPage(t *testing.T) {
	t.Parallel()
	bin := binary(t)
	page := readText(t, "../../docs/checkpoint.md")
	script := regexp.MustCompile("(?s)```bash\n(#!.*?)```").FindStringSubmatch(page)
	shown := regexp.MustCompile("(?s)```\n(\\$ ./count.sh\n.*?)```").FindStringSubmatch(page)
	if script == nil || shown == nil {
		t.Fatal("no script or no output of it on the page")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	write("count.sh", script[1])
	write("book.txt", "Call me whatever you like, said it.\n")
	// On the first path, the script dies as soon as its first stage is saved; on the second, what was completed
	// cannot be done again.
	write("dying/loops", "#!/bin/sh\n"+bin+" \"$@\" && test \"$2\" = save && kill -KILL $PPID || true\n")
	write("second/wc", "#!/bin/sh\necho again >&2\nexit 9\n")
	must(t, os.Symlink(bin, filepath.Join(dir, "second", "loops")))

	var out bytes.Buffer
	run := func(path string) *os.ProcessState {
		out.WriteString("$ ./count.sh\n")
		cmd := exec.Command("./count.sh")
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
		cmd.Env = append(cleanEnv(bin, dir), "PATH="+filepath.Join(dir, path)+string(os.PathListSeparator)+
			os.Getenv("PATH"))
		_ = cmd.Run() // how it ended is read from its state
		return cmd.ProcessState
	}
	if st, ok := run("dying").Sys().(syscall.WaitStatus); !ok || st.Signal() != syscall.SIGKILL {
		t.Fatalf("not killed:\n%s", out.String())
	}
	out.WriteString("Killed\n")
	if st := run("second"); !st.Success() {
		t.Fatalf("%v:\n%s", st, out.String())
	}
	if out.String() != shown[1] {
		t.Errorf("got\n%swant\n%s", out.String(), shown[1])
	}
	if left, err := os.ReadDir(filepath.Join(dir, ".count")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v is left", err, left)
	}
	// With nothing left to kill it, the script does all of it at once.
	must(t, os.Remove(filepath.Join(dir, "second", "wc")))
	out.Reset()
	if st := run("second"); !st.Success() || !strings.HasSuffix(out.String(), `{"cleared": true}`+"\n") ||
		strings.Count(out.String(), "saved") != 2 {
		t.Errorf("%v:\n%s", st, out.String())
	}
}
