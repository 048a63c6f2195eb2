package checkpoint

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// The test binary is also the other processes of these tests: CHECKPOINT_CHILD says what one does, and where.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv("CHECKPOINT_CHILD"); ok {
		mode, root, _ := strings.Cut(text, " ")
		if err := child(mode, root); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if dir := testenv.TempDir(); dir != "" {
		if err := os.Setenv("TMPDIR", dir); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func child(mode, root string) error {
	what, n, _ := strings.Cut(mode, ":")
	dieAt, _ := strconv.Atoi(n)
	ack := func(n int) { fmt.Println(n) } // a pipe: what was printed survives us
	switch what {
	case "dir":
		d, err := OpenDir(root)
		if err != nil {
			return err
		}
		d.disk.step, d.disk.noSync = killer(dieAt), true
		return play(dirScript, 0, func(op dirOp) error { return op.do(d) }, ack)
	case "stages":
		s := OpenStages(root)
		s.disk.step, s.disk.noSync = killer(dieAt), true
		return play(stageScript, 0, func(op stageOp) error { return op.do(s) }, ack)
	case "write":
		return writeForever(root, ack)
	case "limit":
		return writeLimited(root)
	}
	return errors.New("unknown mode " + mode)
}

var everyStep = flag.Bool("every-step", false, "kill at each change of a file, and not only at the first "+
	"one of each kind")

// killPoints returns the numbers of the changes of a script at which a test kills a process, and how many
// changes there are. do does the script, with a step that does not fail.
func killPoints(t *testing.T, do func(step func(string) error) error) (points []int, all int) {
	t.Helper()
	var steps []string
	must(t, do(func(what string) error {
		if triesAgain(steps, what) {
			return nil
		}
		if !slices.Contains(steps, what) || *everyStep {
			points = append(points, len(steps)+1)
		}
		steps = append(steps, what)
		return nil
	}))
	return points, len(steps)
}

// killer kills this process with SIGKILL at the n-th change of a file.
func killer(n int) func(string) error {
	return func(string) error {
		if n--; n == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the kernel is about to do it
		}
		return nil
	}
}

// play does the steps of a script from the given one on and says how many are done.
func play[Op any](script []Op, from int, do func(Op) error, ack func(int)) error {
	for i := from; i < len(script); i++ {
		if err := do(script[i]); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		ack(i + 1)
	}
	return nil
}

// run runs a child to its end and returns how many steps it said were done, and whether it was killed.
func run(t *testing.T, mode, root string) (acked int, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CHECKPOINT_CHILD="+mode+" "+root)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if lines := strings.Fields(string(out)); len(lines) > 0 {
		acked, _ = strconv.Atoi(lines[len(lines)-1])
	}
	if err == nil {
		return acked, false
	}
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || st.Signal() != syscall.SIGKILL {
		t.Fatalf("%s: %v", mode, err)
	}
	return acked, true
}

// A dirOp is one step of a script, with what there is after it.
type dirOp struct {
	do         func(*Dir) error
	checkpoint string // as view returns it
	events     string
}

func opSave(i int) func(*Dir) error {
	return func(d *Dir) error { return d.Save(context.Background(), sample(i)) }
}

func opAppend(kinds ...string) func(*Dir) error {
	return func(d *Dir) error {
		var list []Event
		for _, k := range kinds {
			list = append(list, Event{Kind: k})
		}
		_, err := d.Append(context.Background(), "r1", list...)
		return err
	}
}

func opSpoil(d *Dir) error {
	p, err := d.files("r1")
	if err != nil {
		return err
	}
	return os.WriteFile(p.newest, []byte("spoilt"), 0o600)
}

func opDelete(d *Dir) error { return d.Delete(context.Background(), "r1") }
func opClear(d *Dir) error  { return d.Clear(context.Background(), "r1") }

var dirScript = []dirOp{
	{opSave(1), "1", ""},
	{opSave(2), "2", ""},
	{opAppend("a", "b"), "2", "a1 b2 "},
	{opSave(3), "3", "a1 b2 "},
	{opSpoil, "2!", "a1 b2 "},
	{opSave(4), "4", "a1 b2 "},
	{opAppend("c"), "4", "a1 b2 c3 "},
	{opDelete, "none", "a1 b2 c3 "},
	{opSave(5), "5", "a1 b2 c3 "},
	{opSave(6), "6", "a1 b2 c3 "},
	{opClear, "6", ""},
	{opAppend("d"), "6", "d1 "},
	{opClear, "6", ""},
	{opDelete, "none", ""},
}

func (o dirOp) String() string { return o.checkpoint + " " + o.events }

// state returns what the script has left after n steps.
func dirState(n int) string {
	if n == 0 {
		return "none "
	}
	return dirScript[n-1].String()
}

// A process that is killed before any change of any file leaves what was there or what was to be, and the next one
// continues from there.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	points, all := killPoints(t, func(step func(string) error) error {
		d, err := OpenDir(filepath.Join(t.TempDir(), "runs"))
		if err != nil {
			return err
		}
		d.disk.step, d.disk.noSync = step, true
		return play(dirScript, 0, func(op dirOp) error { return op.do(d) }, func(int) {})
	})
	for _, n := range append(points, all+1) {
		root := filepath.Join(t.TempDir(), "runs")
		acked, killed := run(t, fmt.Sprint("dir:", n), root)
		d, err := OpenDir(root)
		must(t, err)
		d.disk.noSync = true
		got := view(t, d) + " " + events(t, d)
		if !killed {
			if acked != len(dirScript) || n != all+1 || n < 60 {
				t.Fatalf("ended by itself at step %d, %d done", n, acked)
			}
			leftOver(t, root)
			continue
		}
		next := acked
		switch got {
		case dirState(acked):
		case dirState(acked + 1):
			next++
		default:
			t.Fatalf("killed at change %d behind step %d: %q, want %q or %q", n, acked, got, dirState(acked),
				dirState(acked+1))
		}
		list, err := d.ListInterrupted(t.Context())
		if err != nil || (len(list) == 0) != strings.HasPrefix(got, "none") {
			t.Fatalf("killed at change %d: %q, but lists %v, %v", n, got, list, err)
		}
		must(t, play(dirScript, next, func(op dirOp) error {
			err := op.do(d)
			if got := view(t, d) + " " + events(t, d); err == nil && got != op.String() {
				err = fmt.Errorf("%q, want %q", got, op)
			}
			return err
		}, func(int) {}))
		must(t, opDelete(d)) // of a Delete that was killed, an empty folder can be left
		leftOver(t, root)
	}
}

// leftOver wants no file below root, and no folder in it.
func leftOver(t *testing.T, root string) {
	t.Helper()
	must(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != root {
			t.Fatalf("%s is left", path)
		}
		return err
	}))
}

// A change that fails because the disk is full is reported, leaves the old or the new content, and no half-written
// file; the same call works when there is room again.
func TestNoRoomAtEveryStep(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		root := filepath.Join(t.TempDir(), "runs")
		d, err := OpenDir(root)
		must(t, err)
		look, err := OpenDir(root)
		must(t, err)
		d.disk.noSync = true
		left, failed := n, 0
		d.disk.step = func(what string) error {
			if left--; left == 0 {
				return &fs.PathError{Op: what, Path: "x", Err: syscall.ENOSPC}
			}
			return nil
		}
		for i, op := range dirScript {
			err := op.do(d)
			got := view(t, look) + " " + events(t, look)
			if err == nil {
				if got != dirState(i+1) {
					t.Fatalf("change %d, step %d: %q, want %q", n, i, got, dirState(i+1))
				}
				continue
			}
			failed++
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "run r1") {
				t.Fatalf("change %d, step %d: %v", n, i, err)
			}
			if got != dirState(i) && got != dirState(i+1) {
				t.Fatalf("change %d, step %d: %q, want %q or %q", n, i, got, dirState(i), dirState(i+1))
			}
			if strings.HasPrefix(err.Error(), "no events") && got != dirState(i) {
				t.Fatalf("change %d, step %d: an event is there though Append failed: %q", n, i, got)
			}
			half, err := filepath.Glob(filepath.Join(root, "*", ".*"))
			if err != nil || len(half) > 0 && op.checkpoint != "none" {
				t.Fatalf("change %d, step %d: %v, %v is left", n, i, err, half)
			}
			if got == dirState(i) {
				must(t, op.do(d))
			}
			if got := view(t, look) + " " + events(t, look); got != dirState(i+1) {
				t.Fatalf("change %d, step %d, again: %q, want %q", n, i, got, dirState(i+1))
			}
			break
		}
		if failed == 0 {
			if n < 60 {
				t.Fatalf("only %d changes", n)
			}
			return
		}
	}
}

// writeForever saves checkpoint i and appends event i, and says so, until it is killed.
func writeForever(root string, ack func(int)) error {
	d, err := OpenDir(root)
	if err != nil {
		return err
	}
	for i := 1; i < 1e6; i++ {
		if err := errors.Join(opAppend("e")(d), opSave(i)(d)); err != nil {
			return err
		}
		ack(i)
	}
	return nil
}

// Killed at any moment, nothing that was acknowledged is lost.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	for i := range 12 {
		root := filepath.Join(t.TempDir(), "runs")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CHECKPOINT_CHILD=write "+root)
		cmd.Stderr = os.Stderr
		pipe, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		out := bufio.NewReader(pipe)
		line, err := out.ReadString('\n') // it has begun
		if err == nil {
			testenv.Moment(i)
		}
		_ = cmd.Process.Kill()
		rest, _ := io.ReadAll(out)
		_ = cmd.Wait()
		lines := strings.Fields(line + string(rest))
		if len(lines) == 0 {
			t.Fatal("nothing was saved")
		}
		acked, err := strconv.Atoi(lines[len(lines)-1])
		must(t, err)
		d, err := OpenDir(root)
		must(t, err)
		c, err := d.Load(t.Context(), "r1")
		if err != nil || c.Iteration < acked || c.Iteration > acked+1 {
			t.Fatalf("acknowledged %d, %v, there is %+v", acked, err, c)
		}
		n := 0
		for e, err := range d.Since(t.Context(), "r1", 0) {
			if n++; err != nil || e.Seq != uint64(n) {
				t.Fatalf("event %d: %v, %+v", n, err, e)
			}
		}
		if n < c.Iteration || n > c.Iteration+1 {
			t.Fatalf("iteration %d and %d events", c.Iteration, n)
		}
		if last, err := d.Append(t.Context(), "r1", Event{Kind: "e"}); err != nil || last != uint64(n)+1 {
			t.Fatalf("%v, appended %d behind %d", err, last, n)
		}
	}
}

// writeLimited saves and appends under limits of file size, so that writes end in their middle.
func writeLimited(root string) error {
	signal.Ignore(syscall.SIGXFSZ)
	d, err := OpenDir(root)
	if err != nil {
		return err
	}
	if err := errors.Join(opSave(1)(d), opAppend("a", "b")(d)); err != nil {
		return err
	}
	p, err := d.files("r1")
	if err != nil {
		return err
	}
	log, err := os.ReadFile(p.events)
	if err != nil {
		return err
	}
	limited := func(n int, op func(*Dir) error) error {
		var old syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			return err
		}
		now := old
		set(&now.Cur, n)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
			return err
		}
		err := op(d)
		return errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))
	}
	want, err := Encode(sample(2), time.Now())
	if err != nil {
		return err
	}
	for n := range len(want) - 20 { // a shorter time of day makes a shorter file
		if err := limited(n, opSave(2)); !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("save within %d bytes: %w", n, err)
		}
		if c, err := d.Load(context.Background(), "r1"); err != nil || c.Iteration != 1 {
			return fmt.Errorf("saved within %d bytes: %w, %+v", n, err, c)
		}
	}
	for n := range 100 {
		if err := limited(len(log)+n, opAppend("c", "d")); !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("append within %d bytes: %w", n, err)
		}
		if now, err := os.ReadFile(p.events); err != nil || string(now) != string(log) {
			return fmt.Errorf("appended within %d bytes: %w, %s", n, err, now)
		}
	}
	if half, err := filepath.Glob(filepath.Join(p.folder, ".*")); err != nil || len(half) > 0 {
		return fmt.Errorf("%w, %v is left", err, half)
	}
	return errors.Join(opSave(2)(d), opAppend("c", "d")(d))
}

// A write that ends in its middle, as on a full disk, is reported and undone.
func TestShortWrites(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "runs")
	if _, killed := run(t, "limit", root); killed {
		t.Fatal("killed")
	}
	d, err := OpenDir(root)
	must(t, err)
	if got := view(t, d) + " " + events(t, d); got != "2 a1 b2 c3 d4 " {
		t.Fatalf("%q", got)
	}
}

// set sets a limit, whose type is not the same on every system.
func set[T int64 | uint64](limit *T, n int) { *limit = T(n) }
