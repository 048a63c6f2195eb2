package main_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"loops/internal/testenv"
)

// Long outputs that the next state reads, out here and in a sub-loop, a variable too long for an environment,
// and texts with files of their own. Each action says to the disk that it began. The last one prints what all
// of them found.
const powerLoop = `name: power
description: the power is cut
initial: a
states:
  a: {action: 'echo "$LOOPS_RUN_ID a" >> "$POWER_MARK"; seq 20000', capture: a, next: b}
  b: {action: 'echo "$LOOPS_RUN_ID b" >> "$POWER_MARK"; sha256sum < "${captured.a.file}"', capture: b, next: c}
  c: {action: 'echo "$LOOPS_RUN_ID c" >> "$POWER_MARK"; sha256sum < "$LOOPS_CAPTURED_A_FILE"; echo "$LOOPS_CAPTURED_A_FILE"', capture: c, next: d}
  d: {action: 'echo "$LOOPS_RUN_ID d" >> "$POWER_MARK"; tail -n 1 <<< "${captured.c.output}" | xargs sha256sum | cut -c -64', capture: d, next: sub}
  sub: {loop: inner, context_passthrough: true, on_yes: z, on_no: failed, on_error: failed}
  z: {action: 'echo "$LOOPS_RUN_ID z" >> "$POWER_MARK"; echo "found ${captured.b.output} $(head -n 1 <<< "${captured.c.output}") ${captured.d.output} ${captured.sub.i2.output}"', next: done}
  done: {terminal: true}
  failed: {terminal: true, failure: true}
`

const powerInner = `name: inner
description: is run inside
initial: i
states:
  i: {action: 'echo "$LOOPS_RUN_ID i" >> "$POWER_MARK"; seq 30000', capture: i, next: i2}
  i2: {action: 'echo "$LOOPS_RUN_ID i2" >> "$POWER_MARK"; sha256sum < "${captured.i.file}"', capture: i2, next: done}
  done: {terminal: true}
`

const (
	powerChild = "POWER_CHILD" // set in the process that has the mounts
	powerBin   = "POWER_BIN"
	powerSize  = 48 << 20
)

// TestPowerCut runs the real program on a real ext4, on a disk that logs what is written, and has the power cut at each
// moment at which the disk was asked to keep what it has: what came before is there, what came later is not, or only
// parts of it are. From each such disk every run is resumed, and must end as the unbroken one: what an earlier state
// wrote is whole, nothing that was recorded is done again, what a command reported as done is done, and what is shown
// is true. `make torture` cuts at every flush, and again with random parts of what came later; otherwise a few cuts are
// chosen.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	if os.Getenv(powerChild) != "" {
		powerCuts(t)
		return
	}
	needsDisk(t)
	// The mounts belong to a process of their own: they go with it, however it ends.
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), exe, powerArguments()...)
	cmd.Env = append(os.Environ(), powerChild+"="+t.TempDir(), powerBin+"="+binary(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := testenv.Output(cmd)
	for line := range strings.Lines(string(out)) {
		if err != nil || strings.Contains(line, "cuts") {
			t.Log(strings.TrimRight(line, "\n"))
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// powerArguments are those of the process that cuts the power, which runs only that.
func powerArguments() []string {
	which := "^TestPowerCut$"
	if f := flag.Lookup("test.run"); f != nil && strings.Contains(f.Value.String(), "TestPowerCut/") { // one scene
		which = f.Value.String()
	}
	return []string{
		"-test.v", "-test.timeout=0", "-test.run=" + which, fmt.Sprintf("-torture=%v", *torture),
		fmt.Sprintf("-crash-seed=%d", *crashSeed),
	}
}

// needsDisk skips the test where no disk can be made whose power is cut.
func needsDisk(t *testing.T) {
	t.Helper()
	testenv.Root(t, "only root mounts file systems")
	for _, path := range []string{"/dev/fuse", "/dev/loop-control"} {
		if _, err := os.Stat(path); err != nil {
			testenv.Skip(t, path)
		}
	}
	for _, name := range []string{"mkfs.ext4", "mount", "umount"} {
		testenv.Command(t, name)
	}
}

// A powerScene is what is done before the power is cut: each line is a command of the program, in a folder, after which
// the disk logs that it was done.
type powerScene struct {
	name     string
	store    string
	commands [][]string
	dirs     []string // where there are runs afterwards
}

func powerCuts(t *testing.T) {
	fork := []string{"main", "fork", "power", "--at", "2", "--quiet"}
	for _, s := range []powerScene{
		{"run", "dir", [][]string{{"main", "run", "power", "--quiet"}}, []string{"main"}},
		{"run sqlite", "sqlite:runs.db", [][]string{{"main", "run", "power", "--quiet"}}, []string{"main"}},
		{
			"run grouped", "dir",
			[][]string{{"main", "run", "power", "--quiet", "--durability", "grouped"}},
			[]string{"main"},
		},
		{"export, import, fork", "dir", [][]string{
			{"main", "run", "power", "--quiet"},
			{"main", "export", "power", "-o", "../out/power.tar.zst"},
			{"other", "import", "../out/power.tar.zst"},
			fork,
		}, []string{"main", "other"}},
		{"capped, resumed", "dir", [][]string{
			{"main", "run", "power", "--quiet", "-n", "2"}, {"main", "resume", "power", "--quiet", "-n", "20"},
		}, []string{"main"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			newPowerRig(t, s).cut(t)
		})
	}
}

// A powerRig is a disk to cut the power of, and what was done on it.
type powerRig struct {
	scene  powerScene
	bin    string
	at     string // where the disk is mounted: recorded paths are below it
	base   []byte // the disk before
	log    []powerEntry
	marked string // where actions say that they began, when there is no log
	found  string // what the last action printed in the unbroken run
}

func newPowerRig(t *testing.T, s powerScene) *powerRig {
	t.Helper()
	top := filepath.Join(os.Getenv(powerChild), strings.ReplaceAll(s.name, " ", "-"))
	must(t, os.MkdirAll(top, 0o755))
	must(t, unix.Mount("loops-power", top, "tmpfs", 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(top, unix.MNT_DETACH) })
	r := &powerRig{
		scene: s, bin: os.Getenv(powerBin), at: filepath.Join(top, "mnt"),
		marked: filepath.Join(top, "marked"),
	}
	must(t, os.Mkdir(r.at, 0o755))

	image := filepath.Join(top, "base")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, powerSize))
	powerCommand(t, "mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", "-J", "size=4",
		image)
	r.mount(t, image)
	for _, dir := range []string{"main/.loops", "other/.loops", "out"} {
		must(t, os.MkdirAll(filepath.Join(r.at, dir), 0o755))
	}
	for _, dir := range []string{"main", "other"} {
		must(t, os.WriteFile(filepath.Join(r.at, dir, ".loops/power.yaml"), []byte(powerLoop), 0o644))
		must(t, os.WriteFile(filepath.Join(r.at, dir, ".loops/inner.yaml"), []byte(powerInner), 0o644))
	}
	r.unmount(t)
	base, err := os.ReadFile(image)
	must(t, err)
	must(t, os.Remove(image))
	r.base = base

	disk := newPowerDisk(t, filepath.Join(top, "fuse"), slices.Clone(base))
	r.mount(t, disk.disk())
	for _, c := range s.commands {
		if code, text := r.loops(t, disk.marks(), c[0], c[1:]...); code != 0 && code != 5 {
			t.Fatalf("loops %q exits with %d: %s", c[1:], code, text)
		}
		disk.mark("done " + strings.Join(c[1:], " "))
	}
	for _, run := range r.runs(t, "main") {
		r.found = r.printed(t, "main", run.ID)
	}
	if len(strings.Fields(r.found)) < 5 || strings.Contains(r.found, emptySum) {
		t.Fatalf("the unbroken run printed %q", r.found)
	}
	disk.mu.Lock()
	r.log = slices.Clone(disk.log) // what the end of the mount writes comes too late
	disk.mu.Unlock()
	r.unmount(t)
	return r
}

// emptySum is what sha256sum says of an empty file.
var emptySum = fmt.Sprintf("%x", sha256.Sum256(nil))

// mount mounts an image or a disk in the place that all of them have.
func (r *powerRig) mount(t *testing.T, image string) {
	t.Helper()
	powerCommand(t, "mount", "-t", "ext4", "-o", "loop,noatime", image, r.at)
}

func (r *powerRig) unmount(t *testing.T) {
	t.Helper()
	var err error // a process that was ended may still be in it
	testenv.Within(testenv.Patience, func() bool { err = unix.Unmount(r.at, 0); return err == nil })
	must(t, err)
}

func powerCommand(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// loops runs the program in a project of the mounted disk. marks is where actions say that they began.
func (r *powerRig) loops(t *testing.T, marks, dir string, args ...string) (code int, text string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "timeout", append([]string{"-s", "KILL", "120", r.bin}, args...)...)
	cmd.Dir = filepath.Join(r.at, dir)
	cmd.Env = append(cleanEnv(r.bin, filepath.Dir(r.at)), "POWER_MARK="+marks, "LOOPS_STORE="+r.scene.store)
	out, err := cmd.CombinedOutput()
	if _, is := errors.AsType[*exec.ExitError](err); err != nil && !is {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

type powerRun struct {
	ID     string `json:"instance_id"`
	Status string `json:"status"`
}

// runs are those that a project lists, the first one first.
func (r *powerRig) runs(t *testing.T, dir string) (runs []powerRun) {
	t.Helper()
	code, text := r.loops(t, r.marked, dir, "history", "power", "--json")
	if code == 4 && strings.Contains(text, "no database") {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &runs); code != 0 || err != nil {
		t.Fatalf("history in %s exits with %d: %v: %s", dir, code, err, text)
	}
	slices.Reverse(runs)
	return runs
}

// printed is what the last action of a run printed.
func (r *powerRig) printed(t *testing.T, dir, id string) string {
	t.Helper()
	for _, e := range r.events(t, dir, id) {
		if strings.HasPrefix(e.Line, "found ") {
			return e.Line
		}
	}
	return ""
}

type powerEvent struct {
	Event string `json:"event"`
	State string `json:"state"`
	Line  string `json:"line"`
	File  string `json:"output_file"`
	Seq   int    `json:"seq"`
}

func (r *powerRig) events(t *testing.T, dir, id string) (events []powerEvent) {
	t.Helper()
	code, text := r.loops(t, r.marked, dir, "events", id, "--json")
	if code != 0 {
		t.Errorf("events %s exits with %d: %s", id, code, text)
	}
	for line := range strings.Lines(text) {
		var e powerEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("events %s: %v: %s", id, err, line)
		}
		events = append(events, e)
	}
	return events
}

// complete returns the states whose actions have a result on record, each as often as it has.
func complete(events []powerEvent) (states []string) {
	state := ""
	for i, e := range events {
		if e.Event == "state_enter" {
			state = e.State
		}
		if e.Event == "action_complete" {
			states = append(states, state)
		}
		if e.Seq != i+1 {
			states = append(states, fmt.Sprintf("event %d is in the place of event %d", e.Seq, i+1))
		}
	}
	return states
}

// cut goes through the cuts.
func (r *powerRig) cut(t *testing.T) {
	var flushes []int // where the log continues behind each flush
	for i, e := range r.log {
		if e.flush() {
			flushes = append(flushes, i+1)
		}
	}
	step := 1
	if !*torture {
		step = max(1, len(flushes)/2)
	}
	rnd := rand.New(rand.NewPCG(*crashSeed, 0))
	t.Logf("again with: go test ./cmd/loops -run TestPowerCut -crash-seed %d", *crashSeed)
	disk := slices.Clone(r.base)
	applied, cuts, bad := 0, 0, 0
	for k, from := range flushes {
		for ; applied < from; applied++ {
			r.log[applied].apply(disk, nil)
		}
		if (k+1)%step != 0 && k+1 != len(flushes) {
			continue
		}
		until := len(r.log)
		if k+1 < len(flushes) {
			until = flushes[k+1] - 1
		}
		images := [][]byte{disk}
		if *torture {
			images = append(images, r.withParts(disk, from, until, rnd))
		}
		for i, image := range images {
			cuts++
			name := fmt.Sprintf("behind flush %d of %d", k+1, len(flushes))
			if i > 0 {
				name += ", with parts of what came later"
			}
			if !t.Run(name, func(t *testing.T) { r.survive(t, image, until) }) {
				bad++
			}
		}
	}
	t.Logf("%s: %d cuts, %d bad", r.scene.name, cuts, bad)
}

// apply does a write. parts, if not nil, chooses which blocks of it reach the disk.
func (e powerEntry) apply(disk []byte, parts *rand.Rand) {
	const block = 4096
	for n := 0; n < len(e.data); n += block {
		if parts == nil || parts.IntN(2) == 0 {
			copy(disk[e.at+int64(n):], e.data[n:min(n+block, len(e.data))])
		}
	}
}

// withParts is a disk to which a part of what was written between two places of the log came.
func (r *powerRig) withParts(disk []byte, from, until int, rnd *rand.Rand) []byte {
	disk = slices.Clone(disk)
	for _, e := range r.log[from:until] {
		e.apply(disk, rnd)
	}
	return disk
}

// survive looks at a disk as the loss of power left it. until is where in the log the power may have gone.
func (r *powerRig) survive(t *testing.T, image []byte, until int) {
	path := r.at + ".image"
	must(t, os.WriteFile(path, image, 0o600))
	r.mount(t, path)
	t.Cleanup(func() { r.unmount(t) })
	must(t, os.WriteFile(r.marked, nil, 0o644))
	var began, done []string
	for _, e := range r.log[:until] {
		if what, ok := strings.CutPrefix(e.mark, "done "); ok {
			done = append(done, what)
		} else if e.mark != "" {
			began = append(began, e.mark)
		}
	}
	for i, c := range r.scene.commands {
		if i < len(done) {
			r.wasDone(t, c)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := exec.Command("find", r.at, "-type", "f", "-printf", "%P %s\n").Output()
			t.Logf("files and their lengths, afterwards:\n%s", out)
		}
	})
	before := map[string][]string{}
	for _, dir := range r.scene.dirs {
		for _, run := range r.runs(t, dir) {
			before[dir+run.ID] = complete(r.events(t, dir, run.ID))
			r.looks(t, dir, run)
		}
	}
	for _, dir := range r.scene.dirs {
		r.goOn(t, dir)
	}
	again, err := os.ReadFile(r.marked)
	must(t, err)
	r.onceOnly(t, began, strings.Split(strings.TrimSpace(string(again)), "\n"), before)
}

var isRunning = regexp.MustCompile(`(?m)(^|\s)running(\s|$)`)

// looks reads what is shown of a run whose machine lost its power: nothing of it is damaged, and none is running.
func (r *powerRig) looks(t *testing.T, dir string, run powerRun) {
	t.Helper()
	for _, args := range [][]string{
		{"status", run.ID},
		{"list", "--running"},
		{"history", run.ID},
		{"sweep", "--dry-run"},
	} {
		code, text := r.loops(t, r.marked, dir, args...)
		lives := args[0] != "sweep" && isRunning.MatchString(text) // sweep names files among the running ones
		if code != 0 || lives || strings.Contains(strings.ToLower(text), "damaged") ||
			strings.Contains(text, "state.json") {
			t.Errorf("loops %q exits with %d: %s", args, code, text)
		}
	}
}

// goOn resumes what can be resumed in a project, and looks at all that it has.
func (r *powerRig) goOn(t *testing.T, dir string) {
	t.Helper()
	runs := r.runs(t, dir)
	if len(runs) == 0 && dir == "main" {
		if code, text := r.loops(t, r.marked, dir, "run", "power", "--quiet"); code != 0 {
			t.Errorf("nothing is on record, and run exits with %d: %s", code, text)
		}
		runs = r.runs(t, dir)
	}
	for _, run := range runs {
		if run.Status != "completed" {
			if code, text := r.loops(t, r.marked, dir, "resume", run.ID, "--quiet", "-n", "20"); code != 0 ||
				strings.Contains(strings.ToLower(text), "damaged") {
				t.Errorf("resume %s, which was %s, exits with %d: %s", run.ID, run.Status, code, text)
			}
		}
		events := r.events(t, dir, run.ID)
		states := complete(events)
		slices.Sort(states)
		if want := "a b c d i i2 z"; strings.Join(states, " ") != want && dir+run.ID == dir+runs[0].ID {
			t.Errorf("%s has results of %q, want %s", run.ID, states, want)
		}
		if got := r.printed(t, dir, run.ID); got != r.found {
			t.Errorf("%s ends with %q\nunbroken: %q", run.ID, got, r.found)
		}
		r.whole(t, dir, run.ID, events)
	}
}

// whole looks at what the record of a run names: long outputs, and what the run was made of.
func (r *powerRig) whole(t *testing.T, dir, id string, events []powerEvent) {
	t.Helper()
	for _, e := range events {
		if e.File == "" {
			continue
		}
		// the project may have been another
		path := filepath.Join(r.at, dir, ".loops/runs", id, "output", filepath.Base(e.File))
		if st, err := os.Stat(path); err != nil || st.Size() == 0 {
			t.Errorf("%s has an output that is empty, %v", e.File, err)
		}
	}
	if code, text := r.loops(t, r.marked, dir, "export", id, "-f", "-o", r.at+".tar.gz"); code != 0 {
		t.Errorf("export %s exits with %d: %s", id, code, text)
	}
	if out, err := exec.CommandContext(t.Context(), "tar", "-xOzf", r.at+".tar.gz", "definition.yaml").
		Output(); err != nil || !strings.Contains(string(out), "the power is cut") {
		t.Errorf("the definition of %s is lost: %q, %v", id, out, err)
	}
}

// wasDone looks for what a command had reported as done before the power was cut.
func (r *powerRig) wasDone(t *testing.T, command []string) {
	t.Helper()
	dir, verb := command[0], command[1]
	switch verb {
	case "run", "import":
		if runs := r.runs(t, dir); len(runs) == 0 || runs[0].Status != "completed" && !slices.Contains(command, "-n") {
			t.Errorf("%s was done, and history shows %v", verb, runs)
		}
	case "resume":
		if runs := r.runs(t, dir); len(runs) == 0 || runs[0].Status != "completed" {
			t.Errorf("%s was done, and history shows %v", verb, runs)
		}
	case "fork":
		if runs := r.runs(t, dir); len(runs) != 2 || runs[1].Status != "completed" {
			t.Errorf("%s was done, and history shows %v", verb, runs)
		}
	case "export":
		if _, err := os.Stat(filepath.Join(r.at, "out/power.tar.zst")); errors.Is(err, fs.ErrNotExist) {
			t.Error("the exported file is gone")
		}
		must(t, os.MkdirAll(filepath.Join(r.at, "third/.loops"), 0o755))
		if code, text := r.loops(t, r.marked, "third", "import", "../out/power.tar.zst"); code != 0 {
			t.Errorf("what was exported is not whole: import exits with %d: %s", code, text)
		}
	}
}

// onceOnly compares what began before and after the cut: an action with a result on record does not run again, none but
// the last of a run runs twice, and what one began before the cut is on record as far as the one before it.
func (r *powerRig) onceOnly(t *testing.T, began, again []string, recorded map[string][]string) {
	t.Helper()
	var ids []string
	for _, m := range slices.Concat(began, again) {
		if id, _, ok := strings.Cut(m, " "); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	of := func(marks []string, id string) (states []string) {
		for _, m := range marks {
			if state, ok := strings.CutPrefix(m, id+" "); ok {
				states = append(states, state)
			}
		}
		return states
	}
	for _, id := range ids {
		first, second := of(began, id), of(again, id)
		results := recorded["main"+id]
		for _, state := range second {
			if slices.Contains(results, state) {
				t.Errorf("%s: %s has a result on record (%q) and ran again: %q, then %q", id, state, results, first,
					second)
			}
		}
		for i, state := range first {
			if i+1 < len(first) && !slices.Contains(results, state) {
				t.Errorf("%s: %s was followed by %s, and its result is not on record: %q", id, state, first[i+1],
					results)
			}
		}
	}
}
