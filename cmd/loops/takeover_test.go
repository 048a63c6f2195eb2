package main_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// TestTwoResumes: a run whose owner was killed is resumed by two at once. One has it, and the other exits with
// 9 and names the holder. `make torture` does it 200 times.
func TestTwoResumes(t *testing.T) {
	t.Parallel()
	rounds := 3
	if *torture {
		rounds = 200
	}
	for _, store := range stores {
		t.Run(storeName(store), func(t *testing.T) {
			t.Parallel()
			d := newSlowRun(t, store)
			owner := d.start("run", "slow", "--quiet")
			for round := 1; round <= rounds; round++ {
				d.pids(round, never)
				owner.Signal(syscall.SIGKILL)
				<-owner.Done()
				two := []*testenv.Process{d.start("resume", "slow", "--quiet"), d.start("resume", "slow", "--quiet")}
				var loser *testenv.Process
				select {
				case <-two[0].Done():
					loser, owner = two[0], two[1]
				case <-two[1].Done():
					loser, owner = two[1], two[0]
				case <-time.After(testenv.Patience):
					t.Fatalf("round %d: both go on", round)
				}
				want := fmt.Sprintf("is owned by a live process (pid %d)", owner.Pid())
				// it looked again before it took the run
				late := "was resumed by another process while this command waited"
				if code := loser.Exit(); code != 9 || !strings.Contains(loser.Said(), want) &&
					!strings.Contains(loser.Said(), late) {
					t.Fatalf("round %d: one exits with %d and says %q, want 9 and %q; the other says %q", round, code,
						loser.Said(), want, owner.Said())
				}
				if n := len(d.pids(round+1, owner.Ended)); n != round+1 {
					t.Fatalf("round %d: the action was begun %d times; the one that continues says %q", round, n,
						owner.Said())
				}
			}
			owner.Signal(syscall.SIGTERM)
			if code := owner.Exit(); code != 143 {
				t.Errorf("the last one exits with %d and says %q", code, owner.Said())
			}
			events := d.output("history", "slow", "last", "--json", "-n", "0")
			if n := strings.Count(events, `"event": "loop_resume"`); n != rounds {
				t.Errorf("%d events resumed, want %d", n, rounds)
			}
		})
	}
}

// output runs the program to its end and returns what it printed.
func (d slowRun) output(args ...string) string {
	d.t.Helper()
	s := d.start(args...)
	if code := s.Exit(); code != 0 {
		d.t.Fatalf("%v exits with %d: %s", args, code, s.Said())
	}
	return s.Said()
}

// TestReusedPid: the recorded pid of a run whose owner was killed is now that of another process, of this or of another
// boot. The run is shown as interrupted, can be resumed, and no process touches the other process.
func TestReusedPid(t *testing.T) {
	t.Parallel()
	for _, store := range stores {
		for _, boot := range []string{"", "11111111-2222-3333-4444-555555555555"} {
			for _, then := range []string{"resume", "sweep", "stop", "run"} {
				t.Run(fmt.Sprint(storeName(store), "/",
					map[bool]string{true: "other boot", false: "same boot"}[boot != ""], "/", then),
					func(t *testing.T) {
						t.Parallel()
						d := newSlowRun(t, store)
						// the other boot may be one of another machine with our name
						leases := boot != "" && store != "dir"
						if leases {
							d.store += "?lease=1s"
						}
						owner := d.start("run", "slow", "--quiet")
						d.pids(1, never)
						owner.Signal(syscall.SIGKILL)
						<-owner.Done()
						other := exec.Command("sleep", "600")
						must(t, other.Start())
						t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
						d.reuse(owner.Pid(), other.Process.Pid, boot)

						var run struct {
							Status           string
							Alive, Resumable bool
						}
						testenv.Within(testenv.Patience, func() bool {
							must(t, json.Unmarshal([]byte(d.output("status", "slow", "--json")), &run))
							return !leases || !run.Alive
						})
						if run.Status != "interrupted" || run.Alive || !run.Resumable {
							t.Errorf("the run is shown as %+v", run)
						}
						switch then {
						case "resume":
							next := d.start("resume", "slow", "--quiet")
							if n := len(d.pids(2, next.Ended)); n != 2 {
								t.Fatalf("resume exits with %d: %s", next.Exit(), next.Said())
							}
							next.Signal(syscall.SIGTERM)
							if code := next.Exit(); code != 143 {
								t.Errorf("resume exits with %d: %s", code, next.Said())
							}
						case "sweep":
							want := fmt.Sprintf("its process (pid %d) is gone", other.Process.Pid)
							if leases {
								want = "was not heard of for longer than its lease"
							}
							if said := d.output("sweep"); !strings.Contains(said, want) {
								t.Errorf("sweep says %q", said)
							}
						case "stop":
							if s := d.start("stop", "slow"); s.Exit() != 4 {
								t.Errorf("stop exits with %d: %s", s.Exit(), s.Said())
							}
						case "run": // a new one is not kept from starting
							next := d.start("run", "slow", "--quiet")
							if n := len(d.pids(2, next.Ended)); n != 2 {
								t.Fatalf("run exits with %d: %s", next.Exit(), next.Said())
							}
							next.Signal(syscall.SIGTERM)
							<-next.Done()
						}
						if err := other.Process.Signal(syscall.Signal(0)); err != nil {
							t.Errorf("the other process: %v", err)
						}
						var ws syscall.WaitStatus
						if pid, err := syscall.Wait4(other.Process.Pid, &ws, syscall.WNOHANG, nil); pid != 0 ||
							err != nil {
							t.Errorf("the other process was ended: %v", ws.Signal())
						}
					})
			}
		}
	}
}

// reuse writes another pid, and boot if not "", into all records of a run that died.
func (d slowRun) reuse(old, pid int, boot string) {
	d.t.Helper()
	change := func(text string) string {
		text = strings.ReplaceAll(text, fmt.Sprintf(`"pid":%d`, old), fmt.Sprintf(`"pid":%d`, pid))
		text = strings.ReplaceAll(text, fmt.Sprintf(`"pid": %d`, old), fmt.Sprintf(`"pid": %d`, pid))
		if now, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil && boot != "" {
			text = strings.ReplaceAll(text, strings.TrimSpace(string(now)), boot)
		}
		return text
	}
	if d.store != "dir" {
		db, err := sql.Open("sqlite", filepath.Join(d.dir, "runs.db")+"?_pragma=busy_timeout(10000)")
		must(d.t, err)
		defer db.Close()
		var owner string
		must(d.t, db.QueryRow(`SELECT owner FROM leases`).Scan(&owner))
		if change(owner) == owner {
			d.t.Fatalf("the owner is recorded as %s", owner)
		}
		_, err = db.Exec(`UPDATE leases SET owner = ?`, change(owner))
		must(d.t, err)
		return
	}
	changed := 0
	must(d.t, filepath.WalkDir(filepath.Join(d.dir, ".loops", ".running"),
		func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text := change(string(b))
			if strings.HasSuffix(path, ".pid") {
				text = fmt.Sprint(pid)
			}
			if text == string(b) {
				return nil
			}
			changed++
			return os.WriteFile(path, []byte(text), e.Type().Perm())
		}))
	if changed < 3 { // .pid, .lock and the memory
		d.t.Fatalf("the owner is recorded in %d files", changed)
	}
}
