package main_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"loops/internal/testenv"
)

// TestDoctorAsksBeforeItRepairs: on a terminal each repair is shown and done only after a yes.
func TestDoctorAsksBeforeItRepairs(t *testing.T) {
	t.Parallel()
	bin, dir := binary(t), t.TempDir()
	for _, name := range []string{"runs", "logs"} {
		must(t, os.MkdirAll(filepath.Join(dir, ".loops", name), 0o755))
	}
	cmd := exec.CommandContext(t.Context(), bin, "doctor", "--fix")
	cmd.Dir, cmd.Env = dir, append(cleanEnv(bin, dir), "TERM=xterm")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	must(t, err)
	defer tty.Close()
	limit := time.AfterFunc(testenv.Patience, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	var all strings.Builder
	buf, answers := make([]byte, 4096), []string{"y\n", "n\n"}
	for {
		n, err := tty.Read(buf)
		all.Write(buf[:n])
		if len(answers) > 0 && strings.Count(all.String(), "[y/N]") > 2-len(answers) {
			_, err := io.WriteString(tty, answers[0])
			must(t, err)
			answers = answers[1:]
		}
		if err != nil { // the other side is closed
			break
		}
	}
	_ = cmd.Wait() // its exit code is that of the findings
	for _, want := range []string{
		"Fix: remove the rights of other users from .loops/runs (drwxr-xr-x)? [y/N]",
		"fixed    access     remove the rights of other users from .loops/runs",
		"Fix: remove the rights of other users from .loops/logs (drwxr-xr-x)? [y/N]",
		"left     access     remove the rights of other users from .loops/logs",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is not in\n%s", want, all.String())
		}
	}
	for name, want := range map[string]os.FileMode{"runs": 0o700, "logs": 0o755} {
		info, err := os.Stat(filepath.Join(dir, ".loops", name))
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode().Perm(), want)
		}
	}
}
