package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// start runs a bash script with MARK=mark in its environment and waits until it has printed a line.
// Whatever is left of its process group is killed at the end of the test.
func start(t *testing.T, mark, script string) *exec.Cmd {
	t.Helper()
	c := exec.Command("bash", "-c", script)
	c.Env = append(os.Environ(), "MARK="+mark)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
	})
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatalf("%q printed nothing: %v", script, err)
	}
	return c
}

func identify(t *testing.T, pid int) Identity {
	t.Helper()
	id, err := here()
	if err != nil {
		t.Fatal(err)
	}
	st, err := look(pid)
	if err != nil {
		t.Fatal(err)
	}
	id.PID, id.StartMS = pid, st.start()
	return id
}

func mark(t *testing.T) string { return fmt.Sprintf("%s-%d", t.Name(), os.Getpid()) }

// began returns when this process started, by the wall clock.
func began(t *testing.T) time.Time {
	t.Helper()
	st, err := look(os.Getpid())
	if err != nil || st.startMS == 0 {
		t.Fatalf("look = %+v, %v", st, err)
	}
	return time.UnixMilli(st.startMS)
}

func TestSelfIsAliveAndKnowsWhenItBegan(t *testing.T) {
	id, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if id.PID != os.Getpid() || id.Host == "" || id.Boot == "" {
		t.Errorf("Self() = %+v", id)
	}
	if age := time.Since(began(t)); age < -tolerance || age > time.Hour {
		t.Errorf("this process began %s ago", age)
	}
	if alive, known := id.Alive(); !alive || !known {
		t.Errorf("Alive() = %v, %v, want true, true", alive, known)
	}
}

func TestAlive(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	wall := began(t).UnixMilli()
	with := func(change func(*Identity)) Identity { id := self; change(&id); return id }
	for _, c := range []struct {
		name         string
		id           Identity
		alive, known bool
	}{
		{"no pid", with(func(id *Identity) { id.PID = 0 }), false, true},
		{"negative pid", with(func(id *Identity) { id.PID = -1 }), false, true},
		{"no pid on another machine", Identity{Host: "elsewhere"}, false, true},
		{"pid beyond all pids", with(func(id *Identity) { id.PID = 4194305 }), false, true},
		{"another machine", with(func(id *Identity) { id.Host = "elsewhere" }), false, false},
		{
			"another boot, of this machine or of one with its name", with(func(id *Identity) { id.Boot = "before" }),
			false, false,
		},
		{"a boot that is not recorded", with(func(id *Identity) { id.Boot = "" }), self.Boot == "", self.Boot == ""},
		{"another PID namespace", with(func(id *Identity) { id.PIDNS++ }), false, false},
		{"recorded by a version that knew no PID namespaces", with(func(id *Identity) { id.PIDNS = 0 }), true, true},
		{
			"recorded by a version that knew none, gone", with(func(id *Identity) { id.PIDNS, id.PID = 0, 4194305 }),
			false, true,
		},
		{"pid used again", with(func(id *Identity) { id.StartMS -= 2500 }), false, true},
		{"pid from the future", with(func(id *Identity) { id.StartMS += 2500 }), false, true},
		{
			"recorded by the wall clock, which was adjusted a little",
			with(func(id *Identity) { id.StartMS = wall - 1500 }), true, true,
		},
		{
			"recorded by the wall clock, pid used again", with(func(id *Identity) { id.StartMS = wall - 2500 }), false,
			true,
		},
		{"start unknown", with(func(id *Identity) { id.StartMS = 0 }), true, true},
		{"only a pid", Identity{PID: self.PID}, true, true},
		{"process of another user", Identity{PID: 1}, true, true},
	} {
		if alive, known := c.id.Alive(); alive != c.alive || known != c.known {
			t.Errorf("%s: Alive() = %v, %v, want %v, %v", c.name, alive, known, c.alive, c.known)
		}
	}
}

func TestZombieIsDead(t *testing.T) {
	c := start(t, "", "echo; exec sleep 60")
	id := identify(t, c.Process.Pid)
	if alive, _ := id.Alive(); !alive {
		t.Fatal("a sleeping process counts as dead")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	testenv.Wait(t, "the killed process that nobody waited for is dead", func() bool {
		alive, _ := id.Alive()
		return !alive
	})
	if err := syscall.Kill(id.PID, 0); err != nil {
		t.Fatalf("it was no zombie any more: %v", err)
	}
}

func TestNameWithBracketsAndBlanks(t *testing.T) {
	// The kernel shows the name of the file in /proc/PID/stat as it is.
	name := t.TempDir() + "/a) Z 1 (b"
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sleep, name); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(name, "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	st, err := look(c.Process.Pid)
	if err != nil || st.ppid != os.Getpid() || st.zombie {
		t.Errorf("look = %+v, %v; want parent %d, no zombie", st, err, os.Getpid())
	}
}

func TestStartedAfter(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	began := began(t)
	for _, c := range []struct {
		name string
		pid  int
		t    time.Time
		want bool
	}{
		{"record older than the process", self.PID, began.Add(-time.Minute), true},
		{"record younger than the process", self.PID, began.Add(time.Minute), false},
		{"record of about the same time", self.PID, began.Add(-time.Second), false},
		{"no such process", 4194305, began.Add(-time.Minute), false},
		{"no pid", 0, began.Add(-time.Minute), false},
	} {
		if got := StartedAfter(c.pid, c.t); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMarked(t *testing.T) {
	m := mark(t)
	one := start(t, m, "echo; exec sleep 60")
	inner := start(t, "outer;"+m+";other", "echo; exec sleep 60")
	start(t, m+"0", "echo; exec sleep 60")
	start(t, "x"+m, "echo; exec sleep 60")
	got, err := Marked("MARK", m)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	for _, id := range got {
		found[id.PID] = true
		if alive, known := id.Alive(); !alive || !known {
			t.Errorf("%+v: Alive() = %v, %v", id, alive, known)
		}
	}
	if len(got) != 2 || !found[one.Process.Pid] || !found[inner.Process.Pid] {
		t.Errorf("found %v, want pids %d and %d", got, one.Process.Pid, inner.Process.Pid)
	}
	marks, err := Marks("MARK")
	if err != nil || !marks[m] || !marks["outer"] || !marks["x"+m] || marks[m+"1"] {
		t.Errorf("marks %v: %v", marks, err)
	}
	if ids, err := Marked("MARK", ""); err != nil || len(ids) != 0 {
		t.Errorf("no element: %v, %v, want none", ids, err)
	}
}

// The test binary runs itself below a marked bash: neither may be found, their marked sibling must be.
func TestMarkedSparesItselfAndItsAncestors(t *testing.T) {
	if m := os.Getenv("PROC_TEST_MARK"); m != "" {
		ids, err := Marked("MARK", m)
		fmt.Println("\nfound", len(ids), err)
		return
	}
	m := mark(t)
	c := exec.Command("bash", "-c", "sleep 60 & "+os.Args[0]+" -test.run '^"+t.Name()+"$' -test.v; kill $!; true")
	c.Env = append(os.Environ(), "MARK="+m, "PROC_TEST_MARK="+m)
	out, err := c.Output()
	if err != nil || !strings.Contains(string(out), "\nfound 1 <nil>\n") {
		t.Errorf("%v: printed %s, want: found 1", err, out)
	}
}

func TestHas(t *testing.T) {
	for _, c := range []struct {
		block string
		want  bool
	}{
		{"A=1\x00M=x\x00", true},
		{"M=a;x;b\x00", true},
		{"M=a;xb\x00", false},
		{"XM=x\x00", false},
		{"A=M=x\x00", false},
		{"M=a\x00M=x\x00", false},
		{"M=x", true},
		{"M=\x00", false},
		{"A=1\x00M\x00a;x\x00", true},
		{"M\x00a\x00M=x\x00", false},
		{"M\x00A=x\x00", false},
		{"M", false},
		{"", false},
	} {
		if got := has(c.block, "M", "x"); got != c.want {
			t.Errorf("has(%q) = %v, want %v", c.block, got, c.want)
		}
	}
}

func TestGroupAndMemory(t *testing.T) {
	c := start(t, "", "sleep 60 & echo; wait")
	ids, err := Group(c.Process.Pid)
	if err != nil || len(ids) != 2 {
		t.Errorf("Group = %v, %v; want bash and sleep", ids, err)
	}
	if got := TreeRSS(c.Process.Pid); got < 1<<20 || got > 1<<30 {
		t.Errorf("bash and sleep hold %d bytes", got)
	}
	if got := TreeRSS(4194305); got != 0 {
		t.Errorf("no process holds %d bytes", got)
	}
}

func TestEnd(t *testing.T) {
	polite := start(t, "", "trap 'exit 0' TERM; echo; while :; do sleep 0.01; done")
	deaf := start(t, "", "trap '' TERM; echo; while :; do sleep 0.01; done")
	stopped := start(t, "", "echo; kill -STOP $$")
	later := identify(t, start(t, "", "echo; exec sleep 60").Process.Pid)
	reused := later
	reused.StartMS -= 60000

	ids := []Identity{
		identify(t, polite.Process.Pid), identify(t, deaf.Process.Pid), identify(t, stopped.Process.Pid),
		reused,
		{PID: 4194305},
		{PID: os.Getpid(), Host: "elsewhere"},
	}
	for grace, which := range map[time.Duration][]Identity{testenv.Patience: ids[:1], 300 * time.Millisecond: ids[1:]} {
		want := map[bool]int{true: 1, false: 2}[len(which) == 1]
		if ended, err := End(context.Background(), which, grace); ended != want || err != nil {
			t.Errorf("End = %d, %v; want %d", ended, err, want)
		}
	}
	for _, id := range ids[:3] {
		if alive, _ := id.Alive(); alive {
			t.Errorf("%+v is alive", id)
		}
	}
	if alive, _ := later.Alive(); !alive {
		t.Error("a process with a reused pid was ended")
	}
	if err := polite.Wait(); err != nil {
		t.Errorf("TERM did not come first: %v", err)
	}
}

func TestEndOfContextSkipsTheGrace(t *testing.T) {
	deaf := start(t, "", "trap '' TERM; echo; while :; do sleep 0.01; done")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if ended, err := End(ctx, []Identity{identify(t, deaf.Process.Pid)}, time.Hour); ended != 1 || err != nil {
		t.Errorf("End = %d, %v", ended, err)
	}
}

func BenchmarkSelf(b *testing.B) {
	for b.Loop() {
		if _, err := Self(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarked(b *testing.B) {
	for b.Loop() {
		if _, err := Marked("MARK", "none"); err != nil {
			b.Fatal(err)
		}
	}
}

// A process is found also at the moment in which it becomes another program and has no environment to be read.
func TestMarkedWhileItExecutes(t *testing.T) {
	m := mark(t)
	const again = `(($2 > 0)) && exec bash -c "$1" bash "$1" $(($2 - 1))`
	c := start(t, m, "echo x; exec bash -c '"+again+"' bash '"+again+"' 3000000") // ends with the test
	for i := range 100 {
		found, err := Marked("MARK", m)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || found[0].PID != c.Process.Pid {
			t.Fatalf("look %d: found %v, want pid %d", i, found, c.Process.Pid)
		}
	}
}

// A start that is counted from the start of the machine, or from the epoch where that is not known.
func TestExact(t *testing.T) {
	for start, want := range map[int64]bool{0: false, 1: true, 90_000: true, 1_790_000_000_000: false} {
		if got := (Identity{PID: 1, StartMS: start}).Exact(); got != want {
			t.Errorf("%d: %v", start, got)
		}
	}
}
