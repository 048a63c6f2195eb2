package trigger

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// A memoryLedger is a ledger in memory: a month of hours stays on record, and is read at each look.
type memoryLedger struct {
	lists map[string][]persistence.Entry
}

func (m *memoryLedger) Add(_ context.Context, e persistence.Entry) error {
	list := m.lists[e.List]
	i, taken := slices.BinarySearchFunc(list, e.Key, func(e persistence.Entry, key string) int {
		return cmp.Compare(e.Key, key)
	})
	if taken || e.Last && i < len(list) {
		return persistence.ErrTaken
	}
	e.Rev = 1
	m.lists[e.List] = slices.Insert(list, i, e)
	return nil
}

func (m *memoryLedger) Change(_ context.Context, e persistence.Entry) (persistence.Entry, error) {
	for i, on := range m.lists[e.List] {
		if on.Key == e.Key && on.Rev == e.Rev {
			e.Rev++
			m.lists[e.List][i] = e
			return e, nil
		}
	}
	return e, persistence.ErrChanged
}

func (m *memoryLedger) Entries(_ context.Context, list string, keys ...string) (all []persistence.Entry, err error) {
	for _, e := range m.lists[list] {
		if len(keys) == 0 || slices.Contains(keys, e.Key) {
			all = append(all, e)
		}
	}
	return all, nil
}

func (m *memoryLedger) Trim(context.Context, string, time.Time, int) error { return nil }

// With catch_up: all, two servers that are killed at random run each time of a schedule once, one after the
// other in the order of the times, or leave it out with the reason and the count on record: over both changes
// of clocks, with several cron lines, excepted dates and each overlap.
func TestCatchUpAllWithTwoServersKilled(t *testing.T) {
	t.Parallel()
	spring, autumn := time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 12, 0, 0, 0, 0, time.UTC)
	for n, c := range []struct {
		cron, zone, overlap string
		except              []string
		limit               int
		begin               time.Time
	}{
		{"30 * * * *", "Europe/Berlin", "skip", nil, 40, spring},
		{"30 * * * *", "Europe/Berlin", "queue", nil, 24, autumn},
		{
			"30 2 * * *; 0 */3 * * *; 15 2,3 * * sun", "Europe/Berlin", "skip",
			[]string{"2026-10-14..2026-10-16", "2026-10-25"},
			3, autumn,
		},
		{
			"*/30 1-3 * * *\n0 12 * * mon-fri", "America/New_York", "queue",
			[]string{"2026-03-18"},
			1,
			spring.AddDate(0, 0, -12),
		},
		{"@every 45m", "", "skip", nil, 24, autumn},
	} {
		t.Run(fmt.Sprintf("%s %s %d", strings.ReplaceAll(c.cron, "\n", ";"), c.overlap, c.limit), func(t *testing.T) {
			t.Parallel()
			plan, err := NewPlan(&fsm.Loop{Name: "nightly", Schedule: &fsm.Schedule{
				Cron: c.cron, Timezone: c.zone, Overlap: c.overlap, Except: c.except, CatchUp: "all",
				CatchUpLimit: c.limit,
			}})
			if err != nil {
				t.Fatal(err)
			}
			l := &memoryLedger{map[string][]persistence.Entry{}}
			s := &simulation{
				t: t, random: rand.New(rand.NewPCG(36, uint64(n))), ledger: func() persistence.Ledger { return l },
				now: c.begin, plan: plan,
				lasts: upTo(40 * time.Minute), runs: map[persistence.ID]simulatedRun{},
			}
			s.run(c.begin.AddDate(0, 0, 28))
			s.checkAll(c.begin)
		})
	}
}

// checkAll compares what was fired with the rule of catch_up: all.
func (s *simulation) checkAll(begin time.Time) {
	s.t.Helper()
	runs := map[string][]simulatedRun{}
	for _, r := range s.runs {
		runs[r.by] = append(runs[r.by], r)
	}
	times, err := Times(s.t.Context(), s.ledger(), s.plan.Loop)
	if err != nil {
		s.t.Fatal(err)
	}
	var last simulatedRun
	count := map[string]int{}
	over := 0
	at := begin
	for _, f := range times {
		for range f.Missed { // those before it that the row stands for
			at = s.plan.Next(at)
		}
		if at = s.plan.Next(at); !at.Equal(f.At) {
			s.t.Fatalf("%s is on record (%+v), and the next time is %s", f.At, f, at)
		}
		ran := runs[f.By()]
		delete(runs, f.By())
		if f.Open() || len(ran) > 1 || (len(ran) == 1) != (f.State == Started) {
			s.t.Errorf("%s is %s (%s), and has the runs %v", f.At, f.State, f.Why, ran)
		}
		switch {
		case f.State == Skipped && (f.CatchUp || s.plan.Schedule.Overlap == "queue"), f.State == Failed,
			f.State == Missed && !f.Over, f.Missed > 0 && !f.Over:
			s.t.Errorf("%s is %s (%s), %d missed before", f.At, f.State, f.Why, f.Missed)
		}
		if f.State == Started {
			if ran[0].began.Before(f.At) || ran[0].began.Before(last.ends) {
				s.t.Errorf("the run of %s began at %s, the run before ended at %s", f.At, ran[0].began, last.ends)
			}
			last = ran[0]
		}
		count[f.State]++
		if f.CatchUp {
			count["made up for"]++
		}
		if f.Over {
			over += f.Missed + 1
		}
	}
	if at = s.plan.Next(at); !at.After(s.now) {
		s.t.Errorf("%s is not on record", at)
	}
	for by, ran := range runs {
		s.t.Errorf("the runs %v were started by %q, which is no time of the schedule", ran, by)
	}
	kills := 0
	for _, k := range s.ticks {
		if k.killed {
			kills++
		}
	}
	s.t.Logf("%v, %d over the limit, %d kills", count, over, kills)
	if count["made up for"] < 20 || kills < 20 {
		s.t.Errorf("%d times that were made up for and %d kills show little", count["made up for"], kills)
	}
}

// Of 30 hours that were missed the newest 24 run, one after the other, whatever overlap says; the time that
// comes meanwhile waits for them, and those beyond the limit are on record with their count.
func TestCatchUpAll(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]persistence.Ledger{
		"files":  dirstore.LedgerOf(filepath.Join(t.TempDir(), ".loops")),
		"SQLite": database(t, "sqlite:"+filepath.Join(t.TempDir(), "runs.db"))(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Date(2026, 11, 28, 12, 0, 1, 0, time.UTC)
			s := &simulation{
				t: t, now: begin, runs: map[persistence.ID]simulatedRun{},
				ledger: func() persistence.Ledger { return l },
			}
			plan, err := NewPlan(
				&fsm.Loop{
					Name: "often",
					Schedule: &fsm.Schedule{
						Cron: "@hourly", Timezone: "UTC", Overlap: "skip", CatchUp: "all",
						CatchUpLimit: 24,
					},
				})
			if err != nil {
				t.Fatal(err)
			}
			s.lasts = func(*rand.Rand) time.Duration { return time.Minute }
			sv := &server{sim: s, left: -1}
			var told []string
			sv.clock = &Clock{
				Ledger: sv, World: sv, Now: func() time.Time { return s.now },
				Tell: func(f Firing) {
					told = append(told, fmt.Sprintf("%s %s %s %d", f.At.Format("02T15:04"), f.State, f.Why, f.Missed))
				},
			}
			look := func() {
				t.Helper()
				if _, err := sv.clock.Tick(t.Context(), []Plan{plan}); err != nil {
					t.Fatal(err)
				}
			}
			look()
			s.now = s.now.Add(31 * time.Hour) // 13:00 to 18:00 of the next day were missed, 19:00 is in time
			look()
			if len(s.runs) != 1 {
				t.Fatalf("%d runs began at once", len(s.runs))
			}
			times, err := Times(t.Context(), l, "often")
			if err != nil || len(times) != 26 || times[25].State != Waiting || times[25].CatchUp ||
				times[24].State != Waiting || times[24].Run != "" {
				t.Fatalf("on record: %+v (%v)", times, err)
			}
			f, _ := Latest(times)
			if f.State != Started || f.Missed != 6 {
				t.Errorf("the latest is %+v, want one that was started, and 6 missed before", f)
			}
			for range 30 {
				s.now = s.now.Add(time.Minute)
				look()
			}
			want := []string{"28T18:00 missed no server was running, and catch_up_limit is 24 5"}
			end := begin.Add(30 * time.Hour)
			for at := begin.Truncate(time.Hour).Add(7 * time.Hour); at.Before(end); at = at.Add(time.Hour) {
				want = append(want, at.Format("02T15:04")+" started made up for 0")
			}
			want = append(want, "29T19:00 started  0")
			if !slices.Equal(told, want) {
				t.Errorf("told:\n%s\nwant:\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
			}
			s.now = begin.Add(32 * time.Hour)
			look()
			if times, _ := Times(t.Context(), l, "often"); times[len(times)-1].State != Started {
				t.Errorf("the next time: %+v", times[len(times)-1])
			}
		})
	}
}

// A schedule of each second that nothing fired for a year is looked at without counting its 31 million times.
func TestDueOfAYear(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"@every 1s", "* * * * *", "@hourly"} {
		plan, err := NewPlan(&fsm.Loop{Name: "often", Schedule: &fsm.Schedule{Cron: line, Timezone: "UTC"}})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		newest, before := plan.due(now.AddDate(-1, 0, 0), now, 3)
		if len(newest) != 3 || before != mostCounted || !newest[2].Equal(now) ||
			!plan.Next(newest[0]).Equal(newest[1]) || !plan.Next(newest[1]).Equal(newest[2]) {
			t.Errorf("%s: %v, and %d before", line, newest, before)
		}
	}
}
