package trigger

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// A clock that was two hours ahead was set back: schedules fired nothing until it had caught up, with "NEXT in
// 803ms". (35 1.14)
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	stores := map[string]func(*testing.T) func() persistence.Ledger{
		"files": func(t *testing.T) func() persistence.Ledger {
			l := dirstore.LedgerOf(filepath.Join(t.TempDir(), ".loops"))
			return func() persistence.Ledger { return l }
		},
		"SQLite": func(t *testing.T) func() persistence.Ledger {
			return database(t, "sqlite:"+filepath.Join(t.TempDir(), "runs.db"))
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t)()
			begin := time.Date(2026, 11, 28, 12, 0, 1, 0, time.UTC)
			s := &simulation{
				t: t, now: begin, runs: map[persistence.ID]simulatedRun{},
				ledger: func() persistence.Ledger { return l },
			}
			plan, err := NewPlan(
				&fsm.Loop{Name: "often", Schedule: &fsm.Schedule{Cron: "* * * * *", Timezone: "UTC", Overlap: "queue"}})
			if err != nil {
				t.Fatal(err)
			}
			// none is at work any more, whatever the clock says
			s.lasts = func(*rand.Rand) time.Duration { return -24 * time.Hour }
			servers := []*server{{sim: s, left: -1}, {sim: s, left: -1}}
			for _, sv := range servers {
				sv.clock = &Clock{Ledger: sv, World: sv, Now: func() time.Time { return s.now }}
			}
			minutes := func(n int) (fired int) {
				t.Helper()
				before := len(s.runs)
				for range n {
					s.now = s.now.Add(time.Minute)
					for _, sv := range servers {
						if _, err := sv.clock.Tick(t.Context(), []Plan{plan}); err != nil {
							t.Fatal(err)
						}
					}
				}
				return len(s.runs) - before
			}
			ahead := func() time.Time {
				t.Helper()
				at, err := Ahead(t.Context(), l, "often", s.now)
				if err != nil {
					t.Fatal(err)
				}
				return at
			}
			expect := func(what string, got, want int) {
				t.Helper()
				if got != want {
					t.Errorf("%s: %d runs, want %d", what, got, want)
				}
			}
			minutes(1)
			expect("a clock that is right", minutes(5), 5)
			s.now = s.now.Add(2 * time.Hour) // what was missed is one run, or none
			minutes(1)
			expect("two hours ahead", minutes(5), 5)
			newest := s.now.Truncate(time.Minute)
			if !ahead().IsZero() {
				t.Errorf("no time is to come, and %s is said to be", ahead())
			}
			s.now = s.now.Add(-2 * time.Hour)
			if got := ahead(); !got.Equal(newest) {
				t.Errorf("set back: the time to come is %s, want %s", got, newest)
			}
			minutes(1) // is noticed
			expect("set back", minutes(5), 5)
			if got := ahead(); !got.Equal(newest) {
				t.Errorf("after it fired again: the time to come is %s, want %s", got, newest)
			}
			times, err := Times(t.Context(), l, "often")
			if last, _ := Latest(times); err != nil || !last.At.Equal(s.now.Truncate(time.Minute)) {
				t.Errorf("the last time is %s, want %s (%v)", last.At, s.now.Truncate(time.Minute), err)
			}
			s.now = newest.Add(-3*time.Minute + time.Second)
			minutes(1)
			expect("times that the clock has already shown", minutes(5), 5)
			if got := ahead(); !got.IsZero() {
				t.Errorf("the clock has caught up, and %s is to come", got)
			}
			s.now = s.now.Add(-5 * time.Minute)
			expect("set back by less than servers may differ", minutes(5), 0)
			expect("after it has caught up", minutes(3), 3)
		})
	}
}

// A sign of a clock that was ahead let a schedule look attended until the clock had caught up. (35 1.14)
func TestSignOfAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "name: daily\ndescription: d\ninitial: a\nschedule: {cron: \"0 3 * * *\", timezone: UTC}\nstates:\n" +
		"  a: {action: \"true\", next: done}\n  done: {terminal: true}\n"
	if err := os.MkdirAll(filepath.Join(dir, ".loops", "runs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".loops", "daily.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := project.Open(dir, project.Options{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	records, err := p.Records(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	plans, err := Plans(p)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	c := NewClock(records, nil)
	c.Now = func() time.Time { return now.Add(100 * time.Hour) }
	if _, err := c.Tick(t.Context(), plans); err != nil {
		t.Fatal(err)
	}
	if err := c.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, _, err := ListSchedules(t.Context(), p, now)
	if err != nil {
		t.Fatal(err)
	}
	const want = "the schedule of daily has a time on record that is still to come, 2026-12-02T16:00:00Z: the " +
		"clock was ahead"
	if notice := Notice(all, now, "INSTALL"); all[0].Attended || !strings.Contains(notice, want) {
		t.Errorf("attended is %v, and it is said: %q", all[0].Attended, notice)
	}
}

// A server looked at its schedules when the time came that the clock would have shown. (35 1.14)
func TestLookAfterAClockWasSetBack(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 11, 28, 12, minute, 0, 0, time.UTC) }
	for _, c := range []struct {
		name              string
		next, looked, now time.Time
		want              bool
	}{
		{"nothing comes", time.Time{}, at(1), at(2), false},
		{"it is early", at(3), at(1), at(2), false},
		{"it is time", at(3), at(1), at(3), true},
		{"the clock was set back", at(30), at(29), at(2), true},
	} {
		if got := isDue(c.next, c.looked, c.now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Two servers told a run the same event, one of them because its clock was behind by a moment. (34 1.9)
func TestFiringThatAnotherServerHasBegun(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 28, 12, 0, 20, 0, time.UTC)
	for _, c := range []struct {
		name string
		now  time.Time
		want bool
	}{
		{"it was begun just now", until.Add(-pauses[0]), true},
		{"this clock is behind", until.Add(-pauses[0] - time.Millisecond), true},
		{"its server was killed", until, false},
		{"the clock was set back by an hour", until.Add(-time.Hour), false},
	} {
		if got := (Firing{Until: until}).others(c.now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
