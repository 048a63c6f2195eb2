package action

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/agent"
)

// awayTool starts a tool in a session of its own and waits until it is there.
const awayTool = `setsid bash -c ': >"$LOOPS_RUN_DIR/tool"; exec sleep 600' >/dev/null 2>&1 & until [ -e "$LOOPS_RUN_DIR/tool" ]; do sleep 0.01; done; `

// TestOverdueHost: a host that stays after its last event is ended, its tools in the background are not.
func TestOverdueHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		exit         int
		background   int
	}{
		{"stays", "echo say x; echo done; sleep 600", 0, 0},
		{"ignores every signal but KILL", "trap '' INT TERM; echo say x; echo done; sleep 600", 0, 0},
		{"failed", "echo say x; echo fail auth no; echo done; sleep 600", 1, 0},
		{"helpers of its group", "sleep 600 & echo say x; echo done; sleep 600", 0, 0},
		{"tools in sessions of their own", awayTool + "echo say x; echo done; sleep 600", 0, 1},
		{"closes its outputs", "echo say x; echo done; exec >&- 2>&-; sleep 600", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			h := fakeHost(t, "fake", c.script)
			var exit agent.Exit
			h.Stream = func(agent.Request) agent.Stream { return &fakeStream{exit: &exit} }
			r.Hosts = []*agent.CLI{h}
			r.Grace = short
			a := ask("x")
			a.Timeout, a.Idle = later, later
			const lastTurn = 4
			turns := 0
			r.turn = func(j *job) {
				if !j.talk.done() || j.ending.on {
					return
				}
				j.a.Idle = time.Nanosecond // the silence after the last event is not what ends it
				if turns++; turns == 1 || turns == lastTurn {
					j.talk.doneAt = j.talk.doneAt.Add(-doneGrace / 2)
				}
				j.alarm.ring() // it has the next poll return
			}
			res := do(t, r, a)
			if res.Stdout != "x" || res.ExitCode != c.exit || res.TimeoutKind != "" || res.Background != c.background {
				t.Errorf("%+v", res)
			}
			if !exit.Stopped {
				t.Error("the stream was not told that the host was stopped")
			}
			if turns < lastTurn {
				t.Error("it was ended after half of the time that it may take for its end")
			}
			left := r.alive(t, 1)
			if len(left) != c.background {
				t.Errorf("%v are alive", left)
			}
			end(t, left)
		})
	}
}

// TestOverdueHostStopped: while it waits for such a host, a stop ends everything. The end of the wait alone
// would spare what is in the background.
func TestOverdueHostStopped(t *testing.T) {
	t.Parallel()
	for _, overdue := range []bool{false, true} {
		r := newRunner(t)
		r.Grace = short
		r.Hosts = []*agent.CLI{fakeHost(t, "fake", awayTool+"trap '' INT TERM; echo say x; echo done; sleep 600")}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		r.turn = func(j *job) {
			switch {
			case !j.talk.done():
			case !overdue || j.ending.on:
				stop()
			default:
				j.talk.doneAt = j.talk.doneAt.Add(-doneGrace)
			}
		}
		if _, err := r.Run(ctx, ask("x"), nil); err != nil {
			t.Error(err)
		}
		if left := r.alive(t, 1); len(left) > 0 {
			t.Errorf("overdue: %v: %v are alive", overdue, left)
			end(t, left)
		}
	}
}

// TestToolsStay: what a host's tools leave in the background when it ends by itself stays and is counted.
func TestToolsStay(t *testing.T) {
	t.Parallel()
	res, r := prompted(t, awayTool+"echo done", nil)
	left := r.alive(t, 1)
	if res.Background != 1 || len(left) != 1 || res.ExitCode != 0 {
		t.Errorf("%+v, %v are alive", res, left)
	}
	end(t, left)
}

func TestPromptSilence(t *testing.T) {
	t.Parallel()
	// What counts is bytes on either stream, whatever they mean.
	script := nextByte + `for i in 1 2 3 4; do printf x; next; printf y >&2; next; done;` + reached + `sleep 600`
	res, _ := prompted(t, script, func(r *Runner, a *fsm.Action) {
		a.Idle, r.Grace = later, short
		drip(t, r, 8)
		dripped := r.turn
		r.turn = func(j *job) {
			dripped(j)
			if exists(filepath.Join(r.RunDir, "reached")) {
				j.a.Idle = time.Millisecond
			}
		}
	})
	if res.TimeoutKind != "idle" || res.ExitCode != 124 || res.Stderr != "yyyy" {
		t.Errorf("%+v", res)
	}
	if res.Reply.Failure != fsm.FailTimeout || res.Reply.Reason != "ended after 1ms without a sign of life" {
		t.Errorf("%+v", *res.Reply)
	}
}

// TestPromptTexts: every text arrives as it is, and none blocks, also where the host does not read it.
func TestPromptTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text string }{
		{"like a flag", "--help"},
		{"zero byte", "a\x00b"},
		{"300 KB", strings.Repeat("0123456789\n", 30_000)},
		{"10 MB", strings.Repeat("0123456789\n", 1_000_000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, _ := prompted(t, `echo "say $(wc -c)"; echo done`, func(_ *Runner, a *fsm.Action) { a.Text = c.text })
			if want := fmt.Sprint(len(c.text)); res.Stdout != want || res.ExitCode != 0 {
				t.Errorf("%q, exit %d, %q", res.Stdout, res.ExitCode, res.Stderr)
			}
			res, _ = prompted(t, `echo done`, func(_ *Runner, a *fsm.Action) { a.Text = c.text })
			if res.ExitCode != 0 {
				t.Errorf("not read: %+v", res)
			}
		})
	}
}

// TestPromptLog: every line is in the log, with what is left out noted.
func TestPromptLog(t *testing.T) {
	t.Parallel()
	read := func(r *Runner) string {
		b, err := os.ReadFile(filepath.Join(r.RunDir, "output", "000001-a.log"))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	_, r := prompted(t, `printf 'what\n\n\000say x\r\nsay y\ndone'`, nil)
	if got, want := read(r), "what\n\n\x00say x\r\nsay y\ndone\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	long := `printf 'say '; head -c 9000000 /dev/zero; `
	res, r := prompted(t, "echo say a; "+long+"echo; echo say b; echo done; "+long, nil)
	left := "[a line of 9000004 bytes was skipped: no more than 8388608 are read]\n"
	if got, want := read(r), "say a\n"+left+"say b\ndone\n"+left; got != want || res.Stdout != "a\nb" {
		t.Errorf("%q, want %q; %q", got, want, res.Stdout)
	}
	_, r = prompted(t, `echo first; yes "$(printf %0999d 0)" | head -c 68000000; echo done`, nil)
	got := read(r)
	if want := "0\n[892005 bytes are missing here: a log holds 67108864; the last line was:]\n" +
		"done\n"; !strings.HasSuffix(got, want) || !strings.HasPrefix(got, "first\n00") || len(got) > logMost+200 {
		t.Errorf("%d bytes, the last are %q", len(got), got[max(0, len(got)-200):])
	}
	_, r = prompted(t, `sleep 600 & trap 'echo ouch >&2; exit' INT; echo before >&2;`+reached+`wait`,
		func(r *Runner, a *fsm.Action) {
			a.Timeout = later
			expire(t, r)
		})
	if got, want := read(r), "[standard error after it was asked to stop:]\nouch\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPromptMemory: a host prints 60 MB of text in lines of a megabyte, and our heap stays small.
func TestPromptMemory(t *testing.T) {
	// Not parallel: the test measures the memory of the process.
	script := `printf -v line 'say %01000000d' 0; for i in {1..60}; do echo "$line"; done; echo done`
	r := newRunner(t)
	r.Hosts = []*agent.CLI{fakeHost(t, "fake", script)}
	var peak, seen atomic.Int64
	runtime.GC() // of what tests before this one left
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := r.Run(context.Background(), ask("x"), func(text string) {
		seen.Add(int64(len(text)))
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak.Store(max(peak.Load(), int64(m.HeapInuse)))
	})
	if err != nil || res.ExitCode != 0 || res.Bytes != 60_000_060 || seen.Load() < 60_000_000 {
		t.Errorf("%v, exit %d, %d bytes, %d passed on", err, res.ExitCode, res.Bytes, seen.Load())
	}
	if peak.Load() > 40<<20 {
		t.Errorf("the heap had %d MB, %d of them at the beginning", peak.Load()>>20, before.HeapInuse>>20)
	}
	full, err := os.ReadFile(res.File)
	if err != nil || len(full) != 60_000_060 || bytes.Count(full, []byte("\n")) != 60 {
		t.Errorf("%v: the file has %d bytes", err, len(full))
	}
}
