package action

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/agent"
)

// TestPromptSkipped: a line that is too long to be read is said to be missing, and is a failure where the final message
// may have been in it.
func TestPromptSkipped(t *testing.T) {
	const long = "head -c 9000000 /dev/zero; echo; "
	const one = "1 line of 9000000 bytes, more than the 8388608 that are read of one"
	const missing = "fake said nothing more after a line that was too long to be read, so that its final message " +
		"may be missing; skipped: "
	for _, c := range []struct {
		name, script    string
		exit            int
		skipped, reason string
	}{
		{"before the final message", long + "echo say b; echo done", 0, one, ""},
		{"after the last word", "echo say b; echo done; " + long, 0, one, ""},
		{"the final message", "echo say b; " + long + "echo done", 1, one, missing + one},
		{
			"two of them", "echo say b; " + long + long + "echo done", 1,
			"2 lines of up to 9000000 bytes, more than the 8388608 that are read of one",
			missing + "2 lines of up to 9000000 bytes, more than the 8388608 that are read of one",
		},
		{"the last word", "echo say b; " + long, 1, one, "it ended without a last word; skipped: " + one},
		{
			"a line without an end", "echo say b; head -c 9000000 /dev/zero", 1, one,
			"it ended without a last word; skipped: " + one,
		},
		{"with a failure of another kind", "echo say b; echo fail auth no; " + long + "echo done", 1, one, "no"},
		{
			"of the longest that is read", "echo say b; printf 'model '; head -c 8388602 /dev/zero; echo; echo done", 0,
			"", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, _ := prompted(t, c.script, nil)
			if res.ExitCode != c.exit || res.Stdout != "b" || res.Reply.Skipped != c.skipped ||
				res.Reply.Reason != c.reason {
				t.Errorf("exit %d, %q, skipped %q, %s: %q", res.ExitCode, res.Stdout, res.Reply.Skipped,
					res.Reply.Failure, res.Reply.Reason)
			}
			if c.exit != 0 && c.reason != "no" && res.Reply.Failure != fsm.FailTruncated {
				t.Errorf("the failure is %q", res.Reply.Failure)
			}
		})
	}
}

// TestPromptSkippedMemory: our heap stays small while a host prints one line of 100 MB.
func TestPromptSkippedMemory(t *testing.T) {
	// Not parallel: the test measures the memory of the process.
	r := newRunner(t)
	r.Hosts = []*agent.CLI{fakeHost(t, "fake", "head -c 100000000 /dev/zero; echo; echo say b; echo done")}
	runtime.GC() // of what tests before this one left
	var peak atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), int64(m.HeapInuse)))
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	res, err := r.Run(context.Background(), ask("x"), nil)
	close(stop)
	<-stopped
	if err != nil || res.ExitCode != 0 || !strings.HasPrefix(res.Reply.Skipped, "1 line of 100000000 bytes") {
		t.Errorf("%v, exit %d, %+v", err, res.ExitCode, *res.Reply)
	}
	if peak.Load() > 40<<20 {
		t.Errorf("the heap had %d MB", peak.Load()>>20)
	}
}
