package storetest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
)

func (t *T) send(id persistence.ID, c persistence.Command) persistence.Command {
	t.Helper()
	sent, err := t.S.Send(t.ctx, id, c)
	if err != nil {
		t.Fatalf("send %s to %s: %v", c.Kind, id, err)
	}
	return sent
}

func (t *T) commands(id persistence.ID, after uint64) []persistence.Command {
	t.Helper()
	all, err := t.S.Commands(t.ctx, id, after)
	if err != nil {
		t.Fatalf("commands of %s: %v", id, err)
	}
	return all
}

// asked compares the commands of a run, as 1 stop 0, 2 pause -1: number, kind and segment of each.
func (t *T) asked(id persistence.ID, after uint64, want string) {
	t.Helper()
	if got := commandText(t.commands(id, after)); got != want {
		t.Errorf("commands of %s after %d are %q, want %q", id, after, got, want)
	}
}

func commandText(all []persistence.Command) string {
	var text []string
	for _, c := range all {
		text = append(text, fmt.Sprint(c.N, " ", c.Kind, " ", c.Segment))
	}
	return strings.Join(text, ", ")
}

// refused wants a command to be refused because no owner would act on it.
func (t *T) refused(id persistence.ID, c persistence.Command) {
	t.Helper()
	_, err := t.S.Send(t.ctx, id, c)
	ended, ok := errors.AsType[*persistence.EndedError](err)
	if !ok || ended.ID != id || ended.Meant != c.Segment {
		t.Errorf("%s for segment %d: error is %v, want an *EndedError", c.Kind, c.Segment, err)
	}
}

// live makes a run that this process owns.
func (t *T) live(loop string) persistence.Journal {
	t.Helper()
	j := t.create(loop)
	t.record(j, t.enter(snap(loop, 1)))
	return j
}

var (
	stop    = persistence.Command{Kind: persistence.CommandStop}
	pause   = persistence.Command{Kind: persistence.CommandPause, Segment: persistence.AnySegment}
	unpause = persistence.Command{Kind: persistence.CommandUnpause, Segment: persistence.AnySegment}
)

// What is asked of runs.
var commanding = []test{
	{"a command is there as it was sent, with a number", func(t *T) {
		j := t.live("fix")
		id := j.Run().ID
		t.asked(id, 0, "")
		at := time.Date(2026, 11, 21, 11, 0, 0, 987654321, time.FixedZone("east", 3600))
		args := value.NewMap("max_steps", int64(90), "why", "more é \x00 \n", "in",
			value.NewMap("deep", []any{1.5, nil, true}))
		before := time.Now().Add(-time.Second)
		sent := []persistence.Command{
			t.send(id, stop),
			t.send(id, persistence.Command{Kind: persistence.CommandExtend, At: at, Args: args}),
			t.send(id, persistence.Command{Kind: "one of tomorrow", Segment: persistence.AnySegment, N: 77}),
		}
		got := t.commands(id, 0)
		if len(got) != 3 {
			t.Fatalf("%d commands, want 3", len(got))
		}
		for i, c := range got {
			want := sent[i]
			if c.N != uint64(i)+1 || c.N != want.N || c.Kind != want.Kind || c.Segment != want.Segment ||
				!c.At.Equal(want.At) ||
				string(value.AppendJSON(nil, orEmpty(c.Args))) != string(value.AppendJSON(nil, orEmpty(want.Args))) ||
				(c.Args == nil) != (want.Args == nil) {
				t.Errorf("command %d is %+v, and was sent as %+v", i+1, c, want)
			}
		}
		if got[0].At.Before(before) || got[0].At.After(time.Now().Add(time.Second)) ||
			!got[1].At.Equal(at.Truncate(time.Microsecond)) || got[2].Segment != persistence.AnySegment {
			t.Errorf("commands are %+v", got)
		}
		t.close(j)
	}},
	{"commands after a number are those behind it, in order", func(t *T) {
		j := t.live("fix")
		id := j.Run().ID
		for range 3 {
			t.send(id, pause)
			t.send(id, unpause)
		}
		t.asked(id, 4, "5 pause -1, 6 unpause -1")
		for _, after := range []uint64{6, 7, math.MaxUint64} {
			t.asked(id, after, "")
		}
		t.send(id, stop)
		t.asked(id, 6, "7 stop 0")
		t.asked(id, 7, "")
		t.asked(id, 5, "6 unpause -1, 7 stop 0")
		t.close(j)
	}},
	{"of two who send at once each gets a number of its own", func(t *T) {
		j := t.live("fix")
		id := j.Run().ID
		const senders, each = 4, 10
		var wg sync.WaitGroup
		for n := range senders {
			wg.Go(func() {
				last := uint64(0)
				for range each {
					c, err := t.S.Send(t.ctx, id,
						persistence.Command{Kind: persistence.CommandWake, Args: value.NewMap("sender", int64(n))})
					if err != nil || c.N <= last {
						t.Errorf("command %d follows %d: %v", c.N, last, err)
						return
					}
					last = c.N
				}
			})
		}
		seen := uint64(0)
		for range 50 { // and the owner looks meanwhile
			for _, c := range t.commands(id, seen) {
				if seen++; c.N != seen {
					t.Fatalf("command %d after %d", c.N, seen-1)
				}
			}
		}
		wg.Wait()
		by := map[any]int{}
		for i, c := range t.commands(id, 0) {
			if c.N != uint64(i)+1 {
				t.Errorf("command %d has number %d", i+1, c.N)
			}
			sender, _ := c.Args.Get("sender")
			by[sender]++
		}
		if len(by) != senders || by[int64(0)] != each {
			t.Errorf("commands by sender: %v", by)
		}
		t.close(j)
	}},
	{"a stop sent as a run ends does not stop its next segment", func(t *T) {
		j := t.live("fix")
		id := j.Run().ID
		t.send(id, stop)
		t.record(j, t.ended(snap("fix", 1), fsm.EndInterrupted))
		t.close(j)
		t.refused(id, stop)
		j, s := t.resume(id, "fix")
		segment := j.Run().Segment
		for _, c := range t.commands(id, 0) {
			if c.For(segment) {
				t.Errorf("segment %d acts on %+v", segment, c)
			}
		}
		// Nothing was recorded yet, and the run is known to be in its next segment.
		if r := t.one(id); r.Segment != segment {
			t.Errorf("the run is in segment %d, and listed in %d", segment, r.Segment)
		}
		t.refused(id, stop)
		next := stop
		next.Segment = t.one(id).Segment
		if c := t.send(id, next); c.N != 2 || !c.For(segment) || c.For(segment+1) {
			t.Errorf("sent as %+v", c)
		}
		s.Outcome = nil
		t.record(j, t.enter(s))
		t.refused(id, stop)
		next.Segment++
		t.refused(id, next)
		t.close(j)
		t.asked(id, 0, "1 stop 0, 2 stop 1")
	}},
	{"nobody acts on a command for a run that ended for good", func(t *T) {
		id := t.finished("fix", fsm.EndTerminal)
		t.refused(id, stop)
		t.refused(id, pause)
		t.asked(id, 0, "")
		dead := t.crashed("fix", 1)
		t.must(t.S.Interrupt(t.ctx, dead, start, "dead"))
		t.refused(dead, stop)
		t.send(dead, pause) // it can be resumed
		t.asked(dead, 0, "1 pause -1")
	}},
	{"an unknown run has no commands", func(t *T) {
		j := t.create("new") // nothing of it is recorded
		begun := j.Run().ID
		for _, id := range []persistence.ID{"fix-20261121T103405", "", ".", "../x", "a\x00b", begun} {
			_, err := t.S.Send(t.ctx, id, stop)
			t.is(err, persistence.ErrNotFound)
			_, err = t.S.Commands(t.ctx, id, 0)
			t.is(err, persistence.ErrNotFound)
		}
		t.close(j)
	}},
	{"what cannot be recorded is not taken", func(t *T) {
		j := t.live("fix")
		id := j.Run().ID
		for _, c := range []persistence.Command{
			{},
			{Kind: persistence.CommandStop, Segment: -2},
			{Kind: persistence.CommandExtend, Args: value.NewMap("text", strings.Repeat("x", persistence.MaxCommand))},
		} {
			if _, err := t.S.Send(t.ctx, id, c); err == nil {
				t.Errorf("%.20q for segment %d was taken", c.Kind, c.Segment)
			}
		}
		t.send(id, persistence.Command{
			Kind: persistence.CommandExtend,
			Args: value.NewMap("text", strings.Repeat("x", persistence.MaxCommand/2)),
		})
		t.asked(id, 0, "1 extend 0")
		t.close(j)
	}},
	{"a pause outlives the owner of the run, also in the archive", func(t *T) {
		j := t.live("fix")
		id := j.Run().ID
		paused := func(want bool) {
			t.Helper()
			since, is := persistence.PausedSince(t.commands(id, 0), t.one(id).Segment)
			if is != want || since.IsZero() == want {
				t.Errorf("paused: %v since %v, want %v", is, since, want)
			}
		}
		paused(false)
		t.send(id, pause)
		t.close(j)
		paused(true)
		t.must(t.S.Interrupt(t.ctx, id, start, "dead"))
		paused(true)
		for range 3 { // there and back
			j, s := t.resume(id, "fix")
			paused(true)
			t.send(id, unpause)
			paused(false)
			t.send(id, pause)
			s.Outcome = nil
			t.record(j, t.enter(s))
			t.record(j, t.ended(s, fsm.EndInterrupted))
			t.close(j)
			paused(true)
		}
		t.send(id, unpause)
		paused(false)
		if n := len(t.commands(id, 0)); n != 8 {
			t.Errorf("%d commands, want 8", n)
		}
	}},
	{"commands go with their run", func(t *T) {
		for _, end := range []string{fsm.EndInterrupted, ""} {
			id, _ := t.kept("fix", end)
			was := t.size(id)
			t.send(id, persistence.Command{
				Kind: "answer", Segment: persistence.AnySegment,
				Args: value.NewMap("text", strings.Repeat("x", 5000)),
			})
			if now := t.size(id); now < was+5000 {
				t.Errorf("end %q: size is %d, and was %d before a command of 5000 bytes", end, now, was)
			}
			other, _ := t.kept("fix", end)
			t.send(other, pause)
			t.must(t.S.Remove(t.ctx, id))
			_, err := t.S.Commands(t.ctx, id, 0)
			t.is(err, persistence.ErrNotFound)
			_, err = t.S.Send(t.ctx, id, pause)
			t.is(err, persistence.ErrNotFound)
			t.asked(other, 0, "1 pause -1")
			t.must(t.S.Remove(t.ctx, other))
		}
	}},
	{"a run is copied with its commands", func(t *T) {
		id := t.crashed("fix", 2)
		t.must(t.S.Interrupt(t.ctx, id, start, "dead"))
		t.send(id, pause)
		t.send(id, persistence.Command{
			Kind: "answer", Segment: persistence.AnySegment,
			Args: value.NewMap("text", "é"),
		})
		to := NewMemory()
		t.Cleanup(func() { t.must(to.Close()) })
		run := t.one(id)
		first, err := persistence.Copy(t.ctx, t.S, to, run)
		t.must(err)
		t.must(t.S.Remove(t.ctx, id))
		back, err := persistence.Copy(t.ctx, to, t.S, run)
		if err != nil || back != first {
			t.Fatalf("copied back as %v, and was %v: %v", back, first, err)
		}
		t.asked(id, 0, "1 pause -1, 2 answer -1")
		if c := t.send(id, unpause); c.N != 3 {
			t.Errorf("the next command is %d", c.N)
		}
		changed, err := persistence.Sum(t.ctx, t.S, t.one(id))
		if err != nil || changed == first {
			t.Errorf("with one command more the sum is the same: %v", err)
		}
	}},
	{"very many commands", func(t *T) {
		id := t.crashed("fix", 1)
		r := t.one(id)
		memory, err := t.S.Snapshot(t.ctx, id)
		t.must(err)
		d, err := t.S.Definition(t.ctx, id)
		t.must(err)
		es := t.events(id, 0)
		rec := persistence.Recorded{
			Run: r, Memory: memory, Definition: d,
			Events: func(yield func(fsm.Event, error) bool) {
				for _, e := range es {
					if !yield(e, nil) {
						return
					}
				}
			},
		}
		many := uint64(testenv.Some(20_000, 100_000))
		if testenv.Raced {
			many = 2_000
		}
		for n := range many {
			rec.Commands = append(rec.Commands, persistence.Command{N: n + 1, Kind: persistence.CommandWake, At: start})
		}
		t.must(t.S.Remove(t.ctx, id))
		rec.Commands[1].N = 1
		if err := t.S.Import(t.ctx, rec); err == nil {
			t.Fatal("two commands with one number were imported")
		}
		rec.Commands[1].N = 2
		t.must(t.S.Import(t.ctx, rec))
		if all := t.commands(id, 0); len(all) != int(many) || all[many-1].N != many {
			t.Errorf("%d commands", len(all))
		}
		t.asked(id, many, "")
		t.send(id, pause)
		t.asked(id, many-1, fmt.Sprintf("%d wake 0, %d pause -1", many, many+1))
		for range 1000 {
			t.asked(id, many+1, "")
		}
	}},
}
