package sqlstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/sqlstore"
)

// TestMemoryRows: however long a run is, its memory is found by few rows, though all are kept for forks.
func TestMemoryRows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		s := opened(t, location(t))
		j := create(t, s, elsewhere)
		id := j.Run().ID
		for n := 2; n <= 600; n++ {
			b := step(n)
			b.Checkpoint = false
			b.Snapshot.Captured = value.NewMap("out", value.NewMap("output", fmt.Sprint(n, strings.Repeat("x", 1000))))
			must(t, j.Record(t.Context(), b))
			if n%50 == 0 {
				var rows int
				must(t, s.Ask(t.Context(), &rows, `SELECT count(*) FROM memory WHERE seq >= (SELECT whole FROM runs)`))
				if rows > 250 {
					t.Errorf("%d rows since the last whole memory", rows)
				}
				m, err := s.Snapshot(t.Context(), id)
				must(t, err)
				if m.Step != n {
					t.Errorf("step %d, want %d", m.Step, n)
				}
			}
		}
		var rows int
		if must(t, s.Ask(t.Context(), &rows, `SELECT count(*) FROM memory`)); rows != 600 {
			t.Errorf("%d memories of 600 are kept", rows)
		}
		must(t, j.Close(t.Context()))

		// The last whole memory is damaged: the one before it and the patches since are enough.
		n, err := s.Exec(t.Context(), `UPDATE memory SET whole = 'x' WHERE seq = (SELECT whole FROM runs)`)
		if err != nil || n != 1 {
			t.Fatalf("%d rows: %v", n, err)
		}
		k, m, err := s.Resume(t.Context(), id, spec(elsewhere))
		must(t, err)
		if m.Step != 600 || !strings.HasPrefix(fmt.Sprint(first(m.Captured)), "600x") {
			t.Errorf("step %d", m.Step)
		}
		must(t, k.Record(t.Context(), step(601)))
		must(t, k.Close(t.Context()))
		if m, err := s.Snapshot(t.Context(), id); err != nil || m.Step != 601 {
			t.Errorf("memory %+v, %v", m, err)
		}

		// Then a patch is, too.
		_, err = s.Exec(t.Context(), `UPDATE memory SET patch = '{' WHERE seq = (SELECT max(seq) FROM memory)`)
		must(t, err)
		_, err = s.Snapshot(t.Context(), id)
		damage, ok := errors.AsType[*persistence.DamageError](err)
		if !ok || !strings.HasPrefix(damage.File, s.Name()+": memory of run fix-20261121T103405 at event ") {
			t.Errorf("error is %v", err)
		}
		if rs, err := s.Runs(t.Context(), persistence.Query{}); err != nil || len(rs) != 1 || rs[0].Step != 601 {
			t.Errorf("runs = %+v, %v", rs, err)
		}
	})
}

func first(m *value.Map) any {
	v, _ := m.Get("out")
	o, _ := v.(*value.Map).Get("output")
	return o
}

// TestTextsOnce: a large text is stored once, in whatever places of the memory it is.
func TestTextsOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		s := opened(t, location(t))
		j := create(t, s, elsewhere)
		big := strings.Repeat("0123456789abcdef", 8<<10) + "\xff\x00"
		for n := 2; n < 10; n++ {
			b := step(n)
			b.Snapshot.Captured = value.NewMap("out", value.NewMap("output", big))
			b.Snapshot.PrevResult = value.NewMap("output", big)
			must(t, j.Record(t.Context(), b))
			if n == 5 {
				must(t, j.Close(t.Context()))
				var err error
				j, _, err = s.Resume(t.Context(), j.Run().ID, spec(elsewhere))
				must(t, err)
			}
		}
		must(t, j.Close(t.Context()))
		var rows, bytes int
		must(t, s.Ask(t.Context(), &rows, `SELECT count(*) FROM texts`))
		must(t, s.Ask(t.Context(), &bytes,
			`SELECT sum(coalesce(length(patch), 0) + coalesce(length(whole), 0)) FROM memory`))
		if rows != 1 || bytes > 20_000 {
			t.Errorf("%d texts, %d bytes of memory", rows, bytes)
		}
		m, err := s.Snapshot(t.Context(), j.Run().ID)
		must(t, err)
		if first(m.Captured) != big {
			t.Error("the text is another one")
		}
		_, err = s.Exec(t.Context(), `DELETE FROM texts`)
		must(t, err)
		_, err = s.Snapshot(t.Context(), j.Run().ID)
		if _, ok := errors.AsType[*persistence.DamageError](err); !ok {
			t.Errorf("error is %v, want a *DamageError", err)
		}
	})
}

// TestMissingEvents: a gap in the history is reported.
func TestMissingEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		s := opened(t, location(t))
		j := create(t, s, elsewhere)
		must(t, j.Record(t.Context(), step(2)))
		must(t, j.Close(t.Context()))
		_, err := s.Exec(t.Context(), `DELETE FROM events WHERE seq = 2`)
		must(t, err)
		var said []string
		for e, err := range s.Events(t.Context(), j.Run().ID, 0) {
			if err != nil {
				said = append(said, err.Error())
			} else {
				said = append(said, fmt.Sprint(e.Seq))
			}
		}
		want := []string{"1", s.Name() + ": event 2 of run fix-20261121T103405: damaged: it is missing", "3", "4"}
		if strings.Join(said, "\n") != strings.Join(want, "\n") {
			t.Errorf("said %q, want %q", said, want)
		}
	})
}

// TestWaiting: what may wait is not there for others at once, but soon, and at the latest with a checkpoint.
func TestWaiting(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := location(t)
		other := opened(t, at)
		for _, durability := range []string{"strict", "grouped"} {
			s := opened(t, with(at, "durability="+durability))
			j := create(t, s, elsewhere)
			id := j.Run().ID
			have := func(n int) bool { return whole(t, other, id) == n }
			decision := step(2)
			decision.Checkpoint = false
			must(t, j.Record(t.Context(), decision))
			if durability == "strict" && !have(4) {
				t.Error("a decision is not there when it was recorded")
			}
			soon := func(n int) {
				t.Helper()
				testenv.Wait(t, fmt.Sprintf("%d events, %s", n, durability), func() bool { return have(n) })
			}
			soon(4)
			must(t, j.Record(t.Context(), &fsm.Batch{Events: []fsm.Event{{Kind: "action_output", Time: began}}}))
			soon(5)
			must(t, j.Record(t.Context(), &fsm.Batch{Events: []fsm.Event{{Kind: "action_output", Time: began}}}))
			must(t, j.Record(t.Context(), step(3)))
			if !have(8) {
				t.Errorf("%s: a checkpoint is not there when it was recorded", durability)
			}
			must(t, j.Record(t.Context(), &fsm.Batch{Events: []fsm.Event{{Kind: "action_output", Time: began}}}))
			must(t, j.Record(t.Context(), &fsm.Batch{Events: []fsm.Event{{
				Kind: "action_output", Time: began,
				Fields: []fsm.Field{{Key: "line", Value: strings.Repeat("x", 100_000)}},
			}}}))
			if !have(10) {
				t.Errorf("%s: much output waits", durability)
			}
			must(t, j.Record(t.Context(), &fsm.Batch{Events: []fsm.Event{{Kind: "action_output", Time: began}}}))
			must(t, j.Close(t.Context()))
			if !have(11) {
				t.Errorf("%s: output is lost", durability)
			}
		}
	})
}

// TestDecisionsSoonDurable: a decision is made durable a little later, whether another record follows or not.
// It stayed at risk until the next checkpoint, which may be hours away. With none it stays so.
func TestDecisionsSoonDurable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := location(t)
		for _, durability := range []string{"strict", "grouped", "none"} {
			j := create(t, opened(t, with(at, "durability="+durability)), elsewhere)
			if got := sqlstore.Loose(j); got != (durability == "none") {
				t.Errorf("%s: after a checkpoint: not durable %v", durability, got)
			}
			decision := step(2)
			decision.Checkpoint = false
			must(t, j.Record(t.Context(), decision))
			testenv.Wait(t, "a decision to be durable, "+durability, func() bool {
				return durability == "none" || !sqlstore.Loose(j)
			})
			must(t, j.Close(t.Context()))
		}
	})
}

// TestResultsOutliveTheProcess: at every level an action's result, and a checkpoint, are with the database when
// they are recorded, and not only in this process.
func TestResultsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := location(t)
		other := opened(t, at)
		for _, durability := range []string{"strict", "grouped", "none"} {
			j := create(t, opened(t, with(at, "durability="+durability)), elsewhere)
			id := j.Run().ID
			if n := whole(t, other, id); n != 2 {
				t.Errorf("%s: %d events after a checkpoint, want 2", durability, n)
			}
			result := step(1)
			result.Checkpoint, result.Events = false, []fsm.Event{{Kind: "action_complete", Time: began}}
			must(t, j.Record(t.Context(), result))
			if n := whole(t, other, id); n != 3 {
				t.Errorf("%s: %d events after a result, want 3", durability, n)
			}
			must(t, j.Close(t.Context()))
		}
	})
}

// TestDefinition: the text a run was begun with, and the one it continues with.
func TestDefinition(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		s := opened(t, location(t))
		for _, text := range []string{"name: fix\n", "name: other\n", ""} {
			sp := spec(elsewhere)
			sp.Definition = nil
			if text != "" {
				sp.Definition = []byte(text)
			}
			j, err := s.Create(t.Context(), sp)
			must(t, err)
			must(t, j.Record(t.Context(), step(1)))
			must(t, j.Close(t.Context()))
			if got, err := s.Definition(t.Context(), j.Run().ID); err != nil || string(got) != text {
				t.Errorf("definition %q, %v, want %q", got, err, text)
			}
			sp.Definition = []byte("name: new\n")
			k, _, err := s.Resume(t.Context(), j.Run().ID, sp)
			must(t, err)
			must(t, k.Close(t.Context()))
			if got, err := s.Definition(t.Context(), j.Run().ID); err != nil || string(got) != "name: new\n" {
				t.Errorf("definition %q, %v", got, err)
			}
		}
		if _, err := s.Definition(t.Context(), "fix-20200101T000000"); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("error is %v, want ErrNotFound", err)
		}
	})
}

// TestFlippedBits: a text that was changed and is still well-formed is not believed.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		s := opened(t, location(t))
		j := create(t, s, elsewhere)
		must(t, j.Record(t.Context(), step(2)))
		must(t, j.Close(t.Context()))
		for _, text := range []string{
			`UPDATE events SET body = replace(body, '"step": 2', '"step": 3') WHERE seq = 3`,
			`UPDATE memory SET patch = replace(patch, '"current_state": "s2"', '"current_state": "s3"') WHERE seq = 4`,
			`UPDATE runs SET about = replace(about, '"file": "fix.yaml"', '"file": "fox.yaml"')`,
		} {
			if n, err := s.Exec(t.Context(), text); err != nil || n != 1 {
				t.Fatalf("%s: %d rows, %v", text, n, err)
			}
		}
		var damage []string
		for e, err := range s.Events(t.Context(), j.Run().ID, 0) {
			if err != nil {
				damage = append(damage, err.Error())
			} else if e.Seq == 3 {
				t.Errorf("event %+v is believed", e)
			}
		}
		_, err := s.Snapshot(t.Context(), j.Run().ID)
		damage = append(damage, fmt.Sprint(err))
		rs, err := s.Runs(t.Context(), persistence.Query{})
		must(t, err)
		damage = append(damage, rs[0].Damage...)
		want := strings.ReplaceAll(`DB: event 3 of run fix-20261121T103405: damaged: the checksum does not hold
DB: memory of run fix-20261121T103405 at event 4: damaged: the checksum does not hold
DB: run fix-20261121T103405: about cannot be read: the checksum does not hold`, "DB", s.Name())
		if got := strings.Join(damage, "\n"); got != want {
			t.Errorf("damage:\n%s\nwant\n%s", got, want)
		}
		if r := rs[0]; r.ID != j.Run().ID || r.Loop != "fix" || r.Status != persistence.Running || r.File != "" {
			t.Errorf("run = %+v", r)
		}
	})
}
