package dirstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// A script is a run that goes into sub-loops and out again, three deep, with its memory after each batch.
type script struct {
	j     *journal
	ends  []int64  // of the batches, in the journal
	after []string // what is remembered then
	last  *fsm.Snapshot
}

func remembered(s *fsm.Snapshot) string {
	e := snapshot.NewWriter(nil)
	appendFlat(e, &record{}, s, true)
	return string(e.Buf)
}

// play records the script. log is how long the line is that each change inside adds to the logs around it.
func play(t *testing.T, d *Store, log int) *script {
	t.Helper()
	p := &script{j: begin(t, d)}
	p.j.lag.timer = time.AfterFunc(time.Hour, func() {}) // no time that passes writes the state file
	top := step(1).Snapshot
	visit := func(name string) *fsm.Child {
		s := step(1).Snapshot
		s.Loop, s.Phase, s.Context, s.StartedAt = name, fsm.PhasePending, value.NewMap("k", "v"),
			at.Add(time.Duration(len(p.ends))*time.Second)
		return &fsm.Child{Name: name, Memory: s, Timeout: time.Minute}
	}
	var rest []*fsm.Child // as deep as there are any
	for i, change := range []func(){
		func() {},
		func() { top.Child = visit("a") },
		func() { top.Child.Memory.Phase = fsm.PhaseActing },
		func() { top.Child.Memory.Child = visit("b") },
		func() { top.Child.Memory.Child.Memory.Child = visit("c") },
		func() { rest[2].Memory.Captured.Set("x", value.NewMap("output", "é\n")) },
		func() {
			rest[2].Memory.Messages = []string{"one"}
			rest[2].Memory.Edges = rest[2].Memory.Edges.With("a->b", 1)
		},
		func() { rest[2].Memory.Result = &fsm.Result{Stdout: "x"}; rest[2].Memory.Phase = fsm.PhaseActed },
		func() { rest[1].Memory.Child = nil; rest[1].Memory.Captured.Delete("c1") },
		func() { rest[1].Memory.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndTerminal} },
		func() { rest[0].Memory.Child = visit("b") },
		func() { top.Child = nil; top.Step++ },
		func() { top.Child = visit("a") },
		func() { rest[0].Memory.Child = visit("b") },
		func() { rest[1].Memory.Step++ },
		func() { rest[1].Memory.Step++ },
	} {
		change()
		rest = rest[:0]
		for s := top; s.Child != nil; s = s.Child.Memory {
			rest = append(rest, s.Child)
		}
		for _, c := range rest[:max(0, len(rest)-1)] {
			c.Log = append(c.Log, fmt.Sprint(i, strings.Repeat("-", log)))
		}
		b := &fsm.Batch{
			Snapshot: top, Checkpoint: i%2 == 0,
			Events: []fsm.Event{{Kind: "state_enter", Time: at, Depth: len(rest)}, {Kind: "route", Time: at}},
		}
		p.j.written = time.Now().Add(time.Hour) // decisions follow each other at once
		if err := p.j.Record(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		p.ends, p.after = append(p.ends, p.j.offset), append(p.after, remembered(top))
	}
	p.j.die()
	p.last = top
	return p
}

// withLogs is a memory with other logs in its sub-loops, where they have any.
func withLogs(s *fsm.Snapshot, log ...string) string {
	s = snapshot.Clone(s)
	for p := s; p.Child != nil; p = p.Child.Memory {
		if len(p.Child.Log) > 0 {
			p.Child.Log = log
		}
	}
	return remembered(s)
}

// until is what is remembered, and how many events there are, when the journal ends at byte n.
func (p *script) until(n int64) (memory string, events int) {
	for i, end := range p.ends {
		if end <= n {
			memory, events = p.after[i], 2*(i+1)
		}
	}
	return memory, events
}

// Whatever byte the journal of a run inside sub-loops ends at, it continues at the last step that is whole, at
// any depth.
func TestTornInsideSubLoops(t *testing.T) {
	t.Parallel()
	for name, log := range map[string]int{"short logs": 1, "long logs": snapshot.LogFrom / 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			p := play(t, d, log)
			files := p.j.files
			all, err := os.ReadFile(files.events)
			if err != nil {
				t.Fatal(err)
			}
			state, err := os.ReadFile(files.state)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(files.state); err != nil {
				t.Fatal(err)
			}
			for n := int64(len(all)); n >= p.ends[0]; n-- {
				if every := map[bool]int{false: testenv.Some(11, 1), true: 89}[log > 1]; n%int64(every) != 0 &&
					!near(n, p.ends) {
					continue // the middle of lines: a sample of it
				}
				memory, events := p.until(n)
				if err := os.Truncate(files.events, n); err != nil {
					t.Fatal(err)
				}
				if s, err := d.Snapshot(t.Context(), p.j.id); err != nil || remembered(s) != memory {
					t.Fatalf("%d bytes, without a state file: %v", n, err)
				}
				if n%29 != 0 && !near(n, p.ends) {
					continue // the rest takes long, and is the same everywhere in a line
				}
				if err := os.WriteFile(files.state, state, 0o600); err != nil {
					t.Fatal(err)
				}
				newer, cut := memory, false
				if seq := int(stateSeq(files.state)); seq > events {
					newer, cut = p.after[seq/2-1], log > 1 // long logs are only in the journal
				}
				s, err := d.Snapshot(t.Context(), p.j.id)
				if err != nil {
					t.Fatalf("%d bytes, with the state file: %v", n, err)
				} else if got := remembered(s); got != newer && !(cut && strings.Contains(got, "log_truncated")) {
					t.Fatalf("%d bytes, with the state file: %.3000s", n, got)
				}
				if err := errors.Join(os.Remove(files.state), os.RemoveAll(files.torn)); err != nil {
					t.Fatal(err)
				}
				k, s, err := d.Resume(t.Context(), p.j.id, persistence.Spec{})
				if err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
				if got := remembered(s); got != memory {
					t.Fatalf("%d bytes: got\n%s\nwant\n%s", n, got, memory)
				}
				if seq := k.(*journal).seq; int(seq) != events {
					t.Fatalf("%d bytes: %d events, want %d", n, seq, events)
				}
				k.(*journal).die()
				if err := os.WriteFile(files.events, all[:n], 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func near(n int64, ends []int64) bool {
	for _, e := range ends {
		if n >= e-3 && n <= e+3 {
			return true
		}
	}
	return false
}

// A damaged line of the journal ends what is remembered, at any depth, but a state file that is ahead of it is
// believed.
func TestSpoiltInsideSubLoops(t *testing.T) {
	t.Parallel()
	for name, log := range map[string]int{"short logs": 1, "long logs": snapshot.LogFrom / 2} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			p := play(t, d, log)
			all, err := os.ReadFile(p.j.files.events)
			if err != nil {
				t.Fatal(err)
			}
			state, err := os.ReadFile(p.j.files.state)
			if err != nil {
				t.Fatal(err)
			}
			if log > 1 && !bytes.Contains(state, []byte(`"lines": `)) {
				t.Fatal("the state file holds the logs")
			}
			for i := 1; i < len(p.ends); i++ {
				spoilt := bytes.Clone(all)
				spoilt[p.ends[i]-2] = 'x' // the last byte of the line with the memory
				if err := errors.Join(os.WriteFile(p.j.files.events, spoilt, 0o644),
					os.WriteFile(p.j.files.state, state, 0o600)); err != nil {
					t.Fatal(err)
				}
				want, complaint := p.after[len(p.after)-1], false
				switch {
				case i == len(p.ends)-1: // behind what the state file knows
					want = p.after[i-1]
				case log > 1: // the state file counts the lines, which are there no more
					want, complaint = withLogs(p.last, lost), true
				}
				k, s, err := d.Resume(t.Context(), p.j.id, persistence.Spec{})
				if err != nil {
					t.Fatalf("batch %d: %v", i, err)
				}
				if got := remembered(s); got != want {
					t.Errorf("batch %d, with the state file: got\n%s\nwant\n%s", i, got, want)
				}
				if told := strings.Contains(fmt.Sprint(k.Run().Damage),
					"the log of a sub-loop, which begins at byte 0, cannot be read"); told != complaint {
					t.Errorf("batch %d: damage %q", i, k.Run().Damage)
				}
				k.(*journal).die()
				if err := os.WriteFile(p.j.files.events, spoilt, 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Remove(p.j.files.state); err != nil {
					t.Fatal(err)
				}
				s, err = d.Snapshot(t.Context(), p.j.id)
				if err != nil || remembered(s) != p.after[i-1] {
					t.Errorf("batch %d, without the state file: %v", i, err)
				}
			}
		})
	}
}

// What a step writes is what it changes, however deep it is and however much is remembered around it.
func TestStepInsideIsSmall(t *testing.T) {
	t.Parallel()
	sizes := map[int]int64{}
	for _, depth := range []int{0, 1, 4} {
		d := open(t)
		j := begin(t, d)
		top := small()
		s := top
		for range depth {
			for i := range 40 {
				s.Captured.Set(fmt.Sprint("big", i), value.NewMap("output", strings.Repeat("y", 5000)))
				s.Messages = append(s.Messages, strings.Repeat("m", 100))
			}
			s.Child = &fsm.Child{Name: "sub", Memory: small()}
			for range 500 {
				s.Child.Log = append(s.Child.Log, strings.Repeat("l", 1000))
			}
			s = s.Child.Memory
		}
		b := func() *fsm.Batch {
			return &fsm.Batch{
				Snapshot: top, Checkpoint: true,
				Events: []fsm.Event{{Kind: "route", Time: at, Depth: depth}},
			}
		}
		if err := j.Record(t.Context(), b()); err != nil {
			t.Fatal(err)
		}
		before := j.offset
		for i := range 10 {
			s.Step = i + 1
			s.Edges = s.Edges.With("a->b", s.Edges.Get("a->b")+1)
			for p := top; p.Child != nil; p = p.Child.Memory {
				p.Child.Log = append(p.Child.Log, "one line")
			}
			if err := j.Record(t.Context(), b()); err != nil {
				t.Fatal(err)
			}
		}
		sizes[depth] = (j.offset - before) / 10
		if st, err := os.Stat(j.files.state); err != nil || st.Size() > int64(2000+depth*40*5400) {
			t.Errorf("depth %d: the state file has %d bytes (%v)", depth, st.Size(), err)
		}
		j.die()
	}
	if sizes[1] > sizes[0]+120 || sizes[4] > sizes[0]+4*120 {
		t.Errorf("bytes a step by depth: %v", sizes)
	}
	t.Logf("bytes a step by depth: %v", sizes)
}

// little-loops keeps the name of a sub-loop and drops its memory. Where there is a journal of ours the memory comes
// from there; where there is none the sub-loop starts over.
func TestNameOfASubLoopAlone(t *testing.T) {
	t.Parallel()
	d := open(t)
	b := step(1)
	b.Snapshot.Child = &fsm.Child{Name: "deep", Memory: step(7).Snapshot}
	j := begin(t, d, b)
	j.die()
	const state = `{"loop_name": "fix", "current_state": "s1", "iteration": 1, "captured": {}, "started_at": "2026-11-21T08:37:17.206209+00:00", "status": "running", "accumulated_ms": 0, "active_sub_loop": "deep"}`
	if err := os.WriteFile(j.files.state, []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := d.Snapshot(t.Context(), j.id)
	if err != nil || s.Child == nil || s.Child.Name != "deep" || s.Child.Memory.Step != 7 {
		t.Errorf("with our journal: %v, %+v", err, s)
	}
	const event = `{"event": "state_enter", "ts": "2026-11-21T08:37:17.206209+00:00", "state": "s1", "iteration": 1}` + "\n"
	if err := os.WriteFile(j.files.events, []byte(event), 0o600); err != nil {
		t.Fatal(err)
	}
	k, s, err := d.Resume(t.Context(), j.id, persistence.Spec{})
	if err != nil || s.Child != nil || s.Phase != fsm.PhaseActing || s.Step != 1 {
		t.Fatalf("without: %v, %+v", err, s)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
