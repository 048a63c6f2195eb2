package action

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/internal/testenv"
)

const (
	// reached is a command of an action that has done what its test waits for.
	reached = ` : >"$LOOPS_RUN_DIR/reached"; `

	// awaitSeen is a command that waits until the test has seen what the action did.
	awaitSeen = ` until [ -e "$LOOPS_RUN_DIR/seen" ]; do sleep 0.01; done; `

	later = time.Hour              // a limit that no machine is slow enough for
	short = 200 * time.Millisecond // a grace for what ignores TERM
)

// expire lets the limits of the next action expire when the action has run the command reached.
func expire(t testing.TB, r *Runner) {
	t.Helper()
	over := false
	r.turn = func(j *job) {
		if over {
			return
		}
		over = true
		file := filepath.Join(r.RunDir, "reached")
		if !testenv.Within(testenv.Patience, func() bool { return exists(file) || j.gone() }) || !exists(file) {
			t.Error("the action did not do what its limit waits for")
		}
		if j.a.Timeout > 0 {
			j.a.Timeout = time.Millisecond
		}
		if j.a.Idle > 0 {
			j.a.Idle = time.Millisecond
		}
	}
}

// show lets an action pass the command awaitSeen once done returns true, which is asked before each poll.
func show(t testing.TB, r *Runner, done func(*job) bool) {
	t.Helper()
	shown := false
	r.turn = func(j *job) {
		if !shown && done(j) {
			shown = true
			write(t, r, "seen")
		}
	}
}

// write makes an empty file in the folder of the run.
func write(t testing.TB, r *Runner, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.RunDir, name), nil, 0o600); err != nil {
		t.Error(err)
	}
}

// isRead reports whether anything that the action printed was read.
func isRead(j *job) bool { return j.heard.After(j.began) }

// nextByte is a function of an action: it waits until the byte that was printed last was read.
const nextByte = `next() { n=$((n+1)); until [ -e "$LOOPS_RUN_DIR/byte$n" ]; do sleep 0.01; done; }; `

// drip lets an action call the function next n times. Before each call the action has been silent for most of
// its idle limit.
func drip(t testing.TB, r *Runner, n int) {
	t.Helper()
	read := 0
	r.turn = func(j *job) {
		got := j.out.total + j.err.total
		if j.talk != nil {
			got += int64(len(j.talk.pend))
		}
		if read == n || got <= int64(read) {
			return
		}
		read++
		j.heard = j.heard.Add(-later * 3 / 4)
		write(t, r, fmt.Sprintf("byte%d", read))
	}
}
