package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/persistence"
)

// kept is a store that keeps what a worker says of one run.
type kept struct {
	persistence.Placer
	memory *fsm.Snapshot
	found  persistence.Finding
}

func (k *kept) Snapshot(context.Context, persistence.ID) (*fsm.Snapshot, error) {
	if k.memory == nil {
		return nil, errors.New("damaged")
	}
	return k.memory, nil
}

func (k *kept) Found(_ context.Context, _ persistence.ID, f persistence.Finding) error {
	k.found = f
	return nil
}

// TestParkedRunIsCarriedAgain: a run that was carried because its time had come, and that parks again, has a
// time at which it is carried again; so it has where its process did not come to take it.
func TestParkedRunIsCarriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, parksAgain)
}

func parksAgain(t *testing.T) {
	waits := func(kind string, next, deadline time.Duration) *fsm.Snapshot {
		w := &fsm.Awaiting{Kind: kind, Next: time.Now().Add(next)}
		if kind == fsm.AwaitFor {
			w.Until = w.Next
		}
		if deadline > 0 {
			w.Deadline = time.Now().Add(deadline)
		}
		return &fsm.Snapshot{Awaiting: w}
	}
	both := func(list ...*fsm.Snapshot) *fsm.Snapshot {
		m := &fsm.Snapshot{}
		for _, c := range list {
			m.Branches = append(m.Branches, &fsm.BranchMemory{Child: &fsm.Child{Memory: c}})
		}
		return m
	}
	drained, stop := context.WithCancel(t.Context())
	stop()
	scarce := persistence.Run{
		Status: persistence.Interrupted, Ended: fsm.EndInterrupted, Limited: true,
		Error: "no pipe can be made", Step: 1, Segment: 2,
	}
	const rests = "/p is locked by run b-20261121T103405 (pid 3)"
	for _, c := range []struct {
		name    string
		ctx     context.Context
		memory  *fsm.Snapshot
		begun   bool // its process took it
		code    int
		said    string
		after   time.Duration
		note    string
		again   bool
		noOther bool // is to have the job
	}{
		{"it looks", t.Context(), waits(fsm.AwaitFile, time.Second, 0), true, 10, "", 30 * time.Second, "", true, true},
		{"it looks seldom", t.Context(), waits(fsm.AwaitURL, time.Hour, 0), true, 10, "", time.Hour, "", true, true},
		{
			"it looks, and times out before", t.Context(), waits(fsm.AwaitFile, time.Second, 9*time.Second), true, 10,
			"", 9 * time.Second, "", true, true,
		},
		{
			"its question has no end", t.Context(), waits(fsm.AwaitAsk, time.Minute, 0), true, 10, "",
			persistence.Never,
			"", true, true,
		},
		{
			"a branch asks, and another one waits", t.Context(),
			both(waits(fsm.AwaitAsk, time.Minute, 0), waits(fsm.AwaitFor, 7*time.Second, 0)), true, 10, "",
			7 * time.Second, "", true, true,
		},
		{
			"the first of two", t.Context(),
			both(waits(fsm.AwaitFor, 8*time.Second, 0), waits(fsm.AwaitFor, 6*time.Second, 0)), true, 10, "",
			6 * time.Second, "", true, true,
		},
		{
			"its time is over by now", t.Context(), waits(fsm.AwaitFor, -time.Minute, 0), true, 10, "", time.Second, "",
			true, true,
		},
		{
			"in a sub-loop", t.Context(),
			&fsm.Snapshot{Child: &fsm.Child{Memory: waits(fsm.AwaitFor, 5*time.Second, 0)}}, true, 10, "",
			5 * time.Second, "", true, true,
		},
		{"its memory cannot be read", t.Context(), nil, true, 10, "", time.Second, "", true, true},
		{
			"and the worker ends", drained, waits(fsm.AwaitFor, 5*time.Second, 0), true, 10, "", 5 * time.Second, "",
			false, true,
		},
		{
			"the worker ends before it was taken", drained, waits(fsm.AwaitFor, -time.Second, 0), false, 1, "", 0, "",
			false, false,
		},
		{
			"its paths are locked", t.Context(), waits(fsm.AwaitFor, -time.Second, 0), false, conflicted,
			"loops: " + rests, restOfBlocked, rests, false, true,
		},
		{
			"it was refused", t.Context(), waits(fsm.AwaitFor, -time.Second, 0), false, 1, "loops: no such loop",
			time.Second, "no such loop", false, true,
		},
		{"the machine had no descriptor", t.Context(), nil, true, 75, "", restOfScarce, scarce.Error, false, true},
	} {
		before := persistence.Placed{
			Open:  true,
			State: persistence.Run{Status: persistence.Awaiting, Ended: fsm.EndParked, Step: 1, Segment: 1},
		}
		before.Run = "a-20261121T103405"
		now := before
		if c.begun {
			now.State.Segment++
		}
		if c.code == 75 {
			now.State = scarce
		}
		store := &kept{memory: c.memory}
		w := &worker{Options: Options{Say: t.Logf}, store: store, notes: map[persistence.ID]string{}}
		again, over := w.leave(c.ctx, before, now, c.code, c.said, nil)
		f := store.found
		if off := f.After - c.after; !f.Open || off < -time.Second || off > time.Second || f.Note != c.note ||
			again != c.again || over != c.noOther {
			t.Errorf("%s: found %+v, again %v, over %v; want after %v with note %q, again %v, over %v", c.name, f,
				again, over, c.after, c.note, c.again, c.noOther)
		}
	}
}

func TestWhyOf(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"": "its process was killed",
		"loops: /p is locked by run a (pid 3)\n  wait for it:   loops run x --queue\n" +
			"  lock nothing:  loops run x --no-lock\n": "/p is locked by run a (pid 3)",
		"loops: warning: old\nloops: x.yaml is not here as it was submitted\n" +
			"Try: loops validate x\n": "x.yaml is not here as it was submitted",
		"panic: boom\n\ngoroutine 1\n": "panic: boom",
	} {
		if got := whyOf(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

func TestParseAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"30m": "2026-11-21T11:00:00Z", "22:00": "2026-11-21T22:00:00Z", "10:30": "2026-11-22T10:30:00Z",
		"2026-12-01":       "2026-12-01T00:00:00Z",
		"2026-12-01T05:06": "2026-12-01T05:06:00Z", "2026-12-01T05:06:07+01:00": "2026-12-01T04:06:07Z",
	} {
		at, err := ParseAt(text, now)
		if got := at.UTC().Format(time.RFC3339); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "soon", "-5m", "25:00"} {
		if at, err := ParseAt(bad, now); err == nil {
			t.Errorf("%q is %s", bad, at)
		}
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	for tries, want := range map[int]time.Duration{
		0: time.Second, 3: 8 * time.Second, 5: 30 * time.Second,
		100: 30 * time.Second,
	} {
		if got := pause(tries); got != want {
			t.Errorf("after %d tries %s, want %s", tries, got, want)
		}
	}
}
