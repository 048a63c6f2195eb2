package sqlstore_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/sqlstore"
	"loops/reconcile"
)

// This test binary is also the process that owns runs: with LOOPS_TEST_OWNER set it does what its value says, with the
// words in LOOPS_TEST_WORDS, prints what happened, and continues until its standard input ends.
const (
	envOwner = "LOOPS_TEST_OWNER"
	envWords = "LOOPS_TEST_WORDS"
)

var (
	rounds = flag.Int("rounds", 5, "how often TestTwoResumes resumes a run")
	starts = flag.Int("starts", 20, "starts of one loop in TestStartsInOneSecond")
)

var owners = map[string]func(t *testing.T, location, folder string, words []string){
	// record begins a run and records steps for as long as it can, each acknowledged in a line.
	"record": func(t *testing.T, location, folder string, _ []string) {
		s := open(t, location)
		s.Folder = folder
		j, err := s.Create(t.Context(), spec(self(t)))
		must(t, err)
		fmt.Println("run", j.Run().ID)
		for n := 1; ; n++ {
			if err := j.Record(t.Context(), step(n)); err != nil {
				fmt.Println("fenced", errors.Is(err, persistence.ErrFenced), err)
				return
			}
			fmt.Println("step", n)
		}
	},
	// wait begins a run, records a step and waits until the run is lost.
	"wait": func(t *testing.T, location, folder string, _ []string) {
		s := open(t, location)
		s.Folder = folder
		j := create(t, s, self(t))
		fmt.Println("run", j.Run().ID)
		<-j.Lost()
		fmt.Println("lost")
		err := j.Record(t.Context(), step(2))
		fmt.Println("fenced", errors.Is(err, persistence.ErrFenced), err)
		fmt.Println("closed", j.Close(t.Context()))
	},
	// resume takes over a run when it is asked to, and reports whether it has it.
	"resume": func(t *testing.T, location, folder string, words []string) {
		s := open(t, location)
		s.Folder, s.Liveness = folder, reconcile.OwnerAlive
		fmt.Println("ready")
		in := bufio.NewReader(os.Stdin)
		_, _ = in.ReadString('\n')
		j, memory, err := s.Resume(t.Context(), persistence.ID(words[0]), spec(self(t)))
		if err != nil {
			held, ok := errors.AsType[*persistence.HeldError](err)
			fmt.Println("held", ok, err)
			if ok {
				fmt.Println("by", held.Owner.PID)
			}
			return
		}
		must(t, j.Record(t.Context(), step(memory.Step+1)))
		fmt.Println("won", os.Getpid())
		_, _ = in.ReadString('\n')
		must(t, j.Close(t.Context()))
	},
	// commit records checkpoints and decisions, as many as requested.
	"commit": func(t *testing.T, location, folder string, words []string) {
		s := open(t, location)
		s.Folder = folder
		j := create(t, s, self(t))
		checkpoints, _ := strconv.Atoi(words[0])
		decisions, _ := strconv.Atoi(words[1])
		for n := range checkpoints {
			must(t, j.Record(t.Context(), step(n+2)))
		}
		begun := time.Now()
		for n := range decisions {
			b := step(n + 2)
			b.Checkpoint = false
			must(t, j.Record(t.Context(), b))
		}
		took := time.Since(begun)
		must(t, j.Close(t.Context()))
		must(t, s.Close())
		fmt.Println("done", took.Milliseconds())
	},
	// starts begins and ends runs of one loop, all in one second.
	"starts": func(t *testing.T, location, folder string, words []string) {
		s := open(t, location)
		s.Folder = folder
		n, _ := strconv.Atoi(words[0])
		for range n {
			j := create(t, s, self(t))
			b := step(2)
			b.Snapshot.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndTerminal}
			must(t, j.Record(t.Context(), b))
			must(t, j.Close(t.Context()))
		}
		must(t, s.Close())
		fmt.Println("done")
	},
	"checkpoints": checkpointsProcess,
}

func TestOwnerProcess(t *testing.T) {
	t.Parallel()
	name := os.Getenv(envOwner)
	if name == "" {
		return
	}
	words := strings.Split(os.Getenv(envWords), "\n")
	owners[name](t, words[0], words[1], words[2:])
}

// An owner is such a process.
type owner struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.Closer
	out  *bufio.Reader
	tell io.Writer
}

func start(t testing.TB, prefix []string, name, location, folder string, words ...string) *owner {
	t.Helper()
	args := append(prefix, os.Args[0], "-test.run", "^TestOwnerProcess$", "-test.v")
	cmd := exec.Command(args[0], args[1:]...)
	// Folders of a process that is killed are removed with that of the test.
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), envOwner+"="+name,
		envWords+"="+strings.Join(append([]string{location, folder}, words...), "\n"))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return &owner{t: t, cmd: cmd, in: in, tell: in, out: bufio.NewReader(out)}
}

// line returns the next line that begins with one of the words, and false at the end.
func (o *owner) line(words ...string) (string, bool) {
	for {
		l, err := o.out.ReadString('\n')
		if err != nil {
			return "", false
		}
		for _, w := range words {
			if strings.HasPrefix(l, w+" ") || l == w+"\n" {
				return strings.TrimSuffix(l, "\n"), true
			}
		}
	}
}

// want is line, which must be there; it returns what is behind the word.
func (o *owner) want(word string) string {
	o.t.Helper()
	l, ok := o.line(word)
	if !ok {
		o.t.Fatalf("the process did not say %q", word)
	}
	return strings.TrimPrefix(strings.TrimPrefix(l, word), " ")
}

func (o *owner) kill() {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
}

// TestKilledWhileRecording: whatever was acknowledged is there, and the run can be taken over at once.
func TestKilledWhileRecording(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := location(t)
		s := opened(t, at)
		s.Liveness = reconcile.OwnerAlive
		for range 6 {
			o := start(t, nil, "record", at, s.Folder)
			id := persistence.ID(o.want("run"))
			acked := 0
			for last := 1 + rand.IntN(60); acked < last; {
				n, err := strconv.Atoi(o.want("step"))
				must(t, err)
				acked = n
			}
			must(t, o.cmd.Process.Kill())
			for { // what it said before it was killed; Wait would close the pipe with what is still in it
				l, ok := o.line("step")
				if !ok {
					break
				}
				if n, err := strconv.Atoi(strings.TrimPrefix(l, "step ")); err == nil {
					acked = n
				}
			}
			_ = o.cmd.Wait()
			// Whether the save that was being answered counts is open until a process takes the run over.
			j, memory, err := s.Resume(t.Context(), id, spec(self(t)))
			must(t, err)
			if n := whole(t, s, id); memory.Step < acked || memory.Step > acked+1 || n != 2*memory.Step {
				t.Fatalf("step %d and %d events are there, %d steps were acknowledged", memory.Step, n, acked)
			}
			must(t, j.Record(t.Context(), step(memory.Step+1)))
			if n := whole(t, s, id); n != 2*memory.Step+2 {
				t.Errorf("%d events", n)
			}
			must(t, j.Close(t.Context()))
		}
	})
}

// TestPausedOwner: an owner that was stopped for longer than its lease finds itself fenced off when it continues.
func TestPausedOwner(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		for _, name := range []string{"record", "wait"} {
			at := location(t)
			s := opened(t, with(at, "lease=4s")) // half of that it waits for an owner that is there
			s.Liveness = reconcile.OwnerAlive
			o := start(t, nil, name, with(at, "lease=12s"), s.Folder) // it looks at its lease every four seconds
			id := persistence.ID(o.want("run"))
			if name == "record" {
				o.want("step")
			}
			if _, _, err := s.Resume(t.Context(), id, spec(self(t))); err == nil {
				t.Fatal("a live run was taken over")
			}
			must(t, o.cmd.Process.Signal(syscall.SIGSTOP))
			j := takeOver(t, s, id, o)
			before := whole(t, s, id)
			must(t, j.Record(t.Context(), step(1000)))
			must(t, o.cmd.Process.Signal(syscall.SIGCONT))
			text := o.want("fenced")
			if want := fmt.Sprintf("another process (pid %d on ", os.Getpid()); !strings.HasPrefix(text, "true ") ||
				!strings.Contains(text, want) {
				t.Errorf("%s: the process said %q", name, text)
			}
			if name == "wait" {
				if text := o.want("closed"); text != "<nil>" {
					t.Errorf("close: %s", text)
				}
			}
			must(t, o.in.Close())
			must(t, o.cmd.Wait())
			must(t, j.Record(t.Context(), step(1001)))
			if n := whole(t, s, id); n != before+4 {
				t.Errorf("%s: %d events, want %d", name, n, before+4)
			}
			if m, err := s.Snapshot(t.Context(), id); err != nil || m.Step != 1001 {
				t.Errorf("%s: memory %+v, %v", name, m, err)
			}
			must(t, j.Close(t.Context()))
		}
	})
}

// takeOver ends the lease of a run whose owner is stopped, and resumes the run.
func takeOver(t *testing.T, s *sqlstore.Store, id persistence.ID, o *owner) persistence.Journal {
	t.Helper()
	must(t, s.Patience(t.Context(), 50)) // the owner may be stopped with the lock of SQLite
	var j persistence.Journal
	testenv.Wait(t, "the run to be free", func() bool {
		_, err := s.Exec(t.Context(), `UPDATE leases SET until = 1`)
		if err == nil {
			j, _, err = s.Resume(t.Context(), id, spec(self(t)))
		}
		if err == nil {
			return true
		}
		if errors.Is(err, persistence.ErrBusy) { // it was stopped in the middle of a write, and has the lock of SQLite
			must(t, testenv.LetRun(o.cmd.Process.Pid))
			return false
		}
		if _, ok := errors.AsType[*persistence.HeldError](err); !ok {
			t.Fatal(err)
		}
		return false
	})
	return j
}

// TestTwoResumes: of two processes that take over a dead run at once one gets it, and the other's error names that one.
func TestTwoResumes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := location(t)
		s := opened(t, at)
		s.Liveness = reconcile.OwnerAlive
		o := start(t, nil, "wait", at, s.Folder)
		id := persistence.ID(o.want("run"))
		o.kill()
		for round := range *rounds {
			two := []*owner{
				start(t, nil, "resume", at, s.Folder, string(id)),
				start(t, nil, "resume", at, s.Folder, string(id)),
			}
			for _, o := range two {
				o.want("ready")
			}
			for _, o := range two {
				_, err := io.WriteString(o.tell, "go\n")
				must(t, err)
			}
			said := make([]string, 2)
			for i, o := range two {
				said[i], _ = o.line("won", "held")
			}
			w := 0
			if strings.HasPrefix(said[1], "won") {
				w = 1
			}
			if !strings.HasPrefix(said[w], "won ") || !strings.HasPrefix(said[1-w], "held true") {
				t.Fatalf("round %d: they said %q", round, said)
			}
			if by := two[1-w].want("by"); by != strings.TrimPrefix(said[w], "won ") {
				t.Errorf("it is held by %s, and the other said %q", by, said[w])
			}
			two[1-w].kill()
			if m, err := s.Snapshot(t.Context(), id); err != nil || m.Step != round+2 {
				t.Errorf("memory %+v, %v", m, err)
			}
			two[w].kill() // dies as the owner
		}
		if n := whole(t, s, id); n != 2+2**rounds {
			t.Errorf("%d events, want %d", n, 2+2**rounds)
		}
	})
}

// TestStartsInOneSecond: starts of one loop in one second, in several processes, are all kept.
func TestStartsInOneSecond(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := location(t)
		s := opened(t, at)
		const processes = 4
		each := *starts / processes
		var all [processes]*owner
		for i := range all {
			all[i] = start(t, nil, "starts", at, s.Folder, strconv.Itoa(each))
		}
		for _, o := range all {
			o.want("done")
		}
		runs, err := s.Runs(t.Context(), persistence.Query{})
		must(t, err)
		seen := map[persistence.ID]bool{}
		for _, r := range runs {
			if seen[r.ID] || !r.Archived || r.Status != persistence.Completed || len(r.Damage) > 0 {
				t.Errorf("run %+v", r)
			}
			seen[r.ID] = true
			if n := whole(t, s, r.ID); n != 4 {
				t.Errorf("%d events of %s, want 4", n, r.ID)
			}
		}
		if len(seen) != processes*each {
			t.Errorf("%d runs, want %d", len(seen), processes*each)
		}
	})
}

// TestSyncs counts what makes commits durable: one sync for a checkpoint, one for all decisions of 40 ms, and
// three each time the log is full.
func TestSyncs(t *testing.T) {
	t.Parallel()
	strace := testenv.Command(t, "strace")
	count := func(checkpoints, decisions int) (syncs, ms int) {
		log := t.TempDir() + "/calls"
		o := start(t, []string{strace, "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", log}, "commit",
			with(dialects[0].location(t), "lease=1h"), t.TempDir(),
			strconv.Itoa(checkpoints), strconv.Itoa(decisions))
		ms, err := strconv.Atoi(o.want("done"))
		must(t, err)
		must(t, o.in.Close())
		must(t, o.cmd.Wait())
		b, err := os.ReadFile(log)
		must(t, err)
		return strings.Count(string(b), "sync("), ms
	}
	base, _ := count(0, 0)
	if n, _ := count(40, 0); n-base < 40 || n-base > 46 {
		t.Errorf("40 checkpoints sync %d times", n-base)
	}
	if n, ms := count(0, 40); n-base < 1 || n-base > 8+ms/40 {
		t.Errorf("40 decisions within %d ms sync %d times", ms, n-base)
	}
}
