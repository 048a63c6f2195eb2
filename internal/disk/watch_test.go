package disk

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"loops/internal/testenv"
)

// told reports whether a watch reports a change. To see that it reports none, the test waits a moment.
func told(changed <-chan struct{}, within time.Duration) bool {
	select {
	case <-changed:
		return true
	case <-time.After(within):
		return false
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		if changed, _ := Watch(t.TempDir()); changed != nil {
			t.Fatal("it seems to tell")
		}
		return
	}
	write := func(path string) { check(t, os.WriteFile(path, []byte("x"), 0o600)) }
	for _, c := range []struct {
		what string
		do   func(path string)
	}{
		{"removed", func(p string) { check(t, os.Remove(p)) }},
		{"replaced", func(p string) { write(p + ".tmp"); check(t, os.Rename(p+".tmp", p)) }},
		{"renamed", func(p string) { check(t, os.Rename(p, p+".old")) }},
	} {
		for _, n := range []int{0, 1} {
			dir := t.TempDir()
			paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
			write(paths[0])
			write(paths[1])
			open, err := os.Open(paths[n]) // so that it is not deleted when its name is gone
			check(t, err)
			changed, stop := Watch(paths...)
			if changed == nil {
				t.Fatal("nothing is watched")
			}
			b, err := Read(paths[n])
			if check(t, err); string(b) != "x" || Held(paths[n]) || told(changed, 50*time.Millisecond) {
				t.Errorf("it tells of who reads a file")
			}
			if c.do(paths[n]); !told(changed, testenv.Patience) {
				t.Errorf("it does not tell that file %d was %s", n, c.what)
			}
			stop()
			open.Close()
		}
	}
}

// A process that has a lock is killed: the process that waits for it is notified.
func TestWatchKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	check(t, os.WriteFile(path, nil, 0o600))
	cmd := exec.Command("bash", "-c", `exec 9<>"$0"; echo; read -r`, path)
	in, err := cmd.StdinPipe()
	check(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	check(t, errors.Join(err, cmd.Start()))
	_, err = bufio.NewReader(out).ReadString('\n')
	check(t, err)
	changed, stop := Watch(path)
	defer stop()
	early := changed != nil && told(changed, 50*time.Millisecond)
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if early || changed != nil && !told(changed, testenv.Patience) {
		t.Errorf("told before the process was killed: %v; or not at all", early)
	}
}

// Who gives up leaves nothing behind: no goroutine waits, and no file is open.
func TestWatchStopped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	check(t, os.WriteFile(path, nil, 0o600))
	for range 200 { // more than a user may have at once
		changed, stop := Watch(path)
		stop()
		if changed == nil && runtime.GOOS == "linux" {
			t.Fatal("watches that were stopped count still")
		}
		if changed != nil && !told(changed, testenv.Patience) {
			t.Fatal("its goroutine is still there")
		}
	}
	if changed, stop := Watch(path, path+".missing"); changed != nil {
		stop()
		t.Error("a file that is not there is watched")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
