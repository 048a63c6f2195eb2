package main_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"loops/internal/testenv"
)

// The loop that is interrupted: actions, captures, messages, a decision, a wait, and sub-loops two deep. Its actions
// leave a file each, by opening it: they make none of the calls that are interfered with, but for one write of output.
const injectLoop = `name: inject
description: interrupted at every system call that writes
initial: a
backoff: 0.001
states:
  a: {action: ': > ran.a.$LOOPS_ATTEMPT; echo one', capture: a, append_to_messages: "a ${captured.a.output}", next: sub}
  sub: {loop: middle, with: {who: "${captured.a.output}"}, on_yes: choose, on_no: failed, on_error: failed}
  choose: {evaluate: {type: output_contains, source: "${captured.sub.inner.leaf.output}", pattern: "leaf one"}, on_yes: z, on_no: failed}
  z: {action: ': > ran.z.$LOOPS_ATTEMPT; echo ${captured.a.output}', capture: z, on_yes: done, on_no: failed, on_error: failed}
  done: {terminal: true}
  failed: {terminal: true}
`

const injectMiddle = `name: middle
description: runs another one
initial: m
parameters: {who: {type: string, required: true}}
states:
  m: {action: ': > ran.m.$LOOPS_ATTEMPT', next: inner}
  inner: {loop: leaf, context_passthrough: true, on_yes: done, on_no: failed, on_error: failed}
  done: {terminal: true}
  failed: {terminal: true}
`

const injectLeaf = `name: leaf
description: is run two deep
initial: l
states:
  l: {action: ': > ran.l.$LOOPS_ATTEMPT; echo leaf ${context.who}', capture: leaf, next: l2}
  l2: {action: ': > ran.l2.$LOOPS_ATTEMPT', next: done}
  done: {terminal: true}
`

func newInjectDir(t *testing.T, store string) crashDir {
	t.Helper()
	d := crashDir{t.TempDir(), store}
	must(t, os.Mkdir(filepath.Join(d.cwd, ".loops"), 0o755))
	for name, text := range map[string]string{"inject": injectLoop, "middle": injectMiddle, "leaf": injectLeaf} {
		must(t, os.WriteFile(filepath.Join(d.cwd, ".loops", name+".yaml"), []byte(text), 0o644))
	}
	return d
}

// saysWhy matches what is printed where the disk refuses something: what it was, and what to do.
var saysWhy = regexp.MustCompile(
	`(?s)(could not be recorded|runs cannot be recorded|records of runs cannot be used).*(no space left on device|input/output error|disk I/O error|disk may be full).*(, then: loops (resume|status) inject-|, then start anew with: loops run inject|, then try again)`)

// checkInjected compares what a run left that was interrupted and continued with what an unbroken one leaves.
func (d crashDir) checkInjected(t *testing.T, want leftovers) {
	t.Helper()
	got := d.left(t)
	if diff := compareLeft(want, got); diff != "" {
		t.Errorf("%s\nfiles: %v\nevents:\n%s", diff,
			visible(d.cwd, ".loops/.running/*", ".loops/.history/*/*", "ran.*"), tail(got.events, 30))
	}
	// An action whose result is on record never ran again, none ran three times, and only the one in flight ran twice.
	if all := visible(d.cwd, "ran.*"); len(all) > 6 {
		t.Errorf("the five actions left %v", all)
	}
	for _, name := range []string{"a", "m", "l", "l2", "z"} {
		if runs := visible(d.cwd, "ran."+name+".*"); len(runs) < 1 || len(runs) > 2 {
			t.Errorf("the action of %s left %v", name, runs)
		}
	}
}

// goOn resumes an interrupted run until it is done.
func (d crashDir) goOn(t *testing.T) {
	t.Helper()
	if status := d.status(t, "inject"); status == "running" {
		t.Fatal("the run is shown as running, and its process is dead")
	}
	switch code := d.start(t, "resume", "inject", "--quiet").end(t, 0); code {
	case 0:
	case 4: // it was interrupted before anything was recorded, or after its end
		d.sweep(t)
		if d.status(t, "inject") == "completed" {
			return
		}
		if ran := visible(d.cwd, "ran.*"); len(ran) > 0 {
			t.Fatalf("there is nothing to resume, but actions ran: %v", ran)
		}
		if code := d.start(t, "run", "inject", "--quiet").end(t, 0); code != 0 {
			t.Fatalf("run exits with %v: %s", code, d.said(t))
		}
	default:
		t.Fatalf("resume exits with %v: %s", code, d.said(t))
	}
}

// TestInterruptedAtEveryWrite ends the real program, or refuses it what it asks of the disk, at one call that
// changes files after the other: then the run is resumed, and what it leaves is compared with an unbroken one.
// `make torture` does so at each call; otherwise a few are chosen, and half of the kinds of trouble on each
// database.
func TestInterruptedAtEveryWrite(t *testing.T) {
	t.Parallel()
	testenv.Tracing(t)
	for k, store := range stores {
		for i, c := range []struct {
			name string
			interference
		}{
			{"killed", interference{calls: changeCalls}},
			{"no room once", interference{calls: roomCalls, errno: syscall.ENOSPC}},
			{"no room from then on", interference{calls: roomCalls, errno: syscall.ENOSPC, rest: true}},
			{"disk error once", interference{calls: diskCalls, errno: syscall.EIO}},
		} {
			if k > 0 && (i+k)%2 != 0 && !*torture {
				continue
			}
			t.Run(storeName(store)+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				whole := newInjectDir(t, store)
				code, _, calls := whole.interfere(t, c.interference, 0, "run", "inject", "--quiet")
				if code != 0 {
					t.Fatalf("the unbroken run exits with %v: %s", code, whole.said(t))
				}
				want := whole.left(t)
				first, step := 1, 1
				if !*torture {
					step = max(1, calls/3)
					first += rand.New(rand.NewPCG(*crashSeed, 0)).IntN(step)
				}
				interrupted := 0
				for n := first; n <= 2*calls; n += step {
					d := newInjectDir(t, store)
					code, hit, _ := d.interfere(t, c.interference, n, "run", "inject", "--quiet")
					text := d.said(t)
					if code != 0 {
						interrupted++
					}
					switch {
					case code == 0 && hit != "" && c.errno == 0:
						t.Errorf("the program was killed and exits with 0: %s", text)
					case code == 0 && strings.Contains(text, "could not be moved to the archive"):
						d.sweep(t)
					case code == 0: // no such call, or one that matters little: room for a faster look later, say
					case code == -float64(syscall.SIGKILL) && c.errno == 0,
						code == 74 && c.errno != 0 && saysWhy.MatchString(text):
						d.goOn(t)
					default:
						t.Errorf("the program exits with %v", code)
					}
					if !t.Failed() {
						d.checkInjected(t, want)
					}
					if t.Failed() {
						t.Fatalf("interfered with %d of %d, %s; exit code %v: %s", n, calls, hit, code, text)
					}
					if hit == "" {
						break
					}
				}
				if interrupted == 0 {
					t.Error("no run was interrupted")
				}
				t.Logf("%d runs were interrupted, at %d calls", interrupted, calls)
			})
		}
	}
}
