package trigger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/dirstore"
	"loops/persistence/sqlstore"
)

// simulatedLook is how often a server looks at what is open: a year is long.
const simulatedLook = 15 * time.Minute

// errKilled ends what a server does at the moment it is killed.
var errKilled = errors.New("killed")

// A simulation is a year in which servers look after schedules, and are killed.
type simulation struct {
	t      *testing.T
	random *rand.Rand
	ledger func() persistence.Ledger
	now    time.Time
	plan   Plan
	lasts  func(*rand.Rand) time.Duration // a run

	runs  map[persistence.ID]simulatedRun
	ticks []tick
}

type simulatedRun struct {
	by    string
	began time.Time
	ends  time.Time
}

// A tick is one look of a server at the schedule.
type tick struct {
	at     time.Time
	killed bool
}

// A server is one process: its clock, and after how many operations it is killed.
type server struct {
	sim   *simulation
	clock *Clock
	left  int // operations until it is killed; negative = it is not
	next  time.Time
	back  time.Time // a dead one is started again then; zero = it lives
}

// step is called before and after each thing that a server does to the world.
func (s *server) step() error {
	if s.left == 0 {
		return errKilled
	}
	s.left--
	return nil
}

// around does what a server does to the world: it may be killed before it, and after it, when it is done.
func (s *server) around(do func() error) error {
	if err := s.step(); err != nil {
		return err
	}
	err := do()
	return errors.Join(err, s.step())
}

func (s *server) Add(ctx context.Context, e persistence.Entry) error {
	return s.around(func() error { return s.sim.ledger().Add(ctx, e) })
}

func (s *server) Change(ctx context.Context, e persistence.Entry) (out persistence.Entry, err error) {
	err = s.around(func() error { out, err = s.sim.ledger().Change(ctx, e); return err })
	return out, err
}

func (s *server) Entries(ctx context.Context, list string, keys ...string) ([]persistence.Entry, error) {
	return s.sim.ledger().Entries(ctx, list, keys...)
}

func (s *server) Trim(ctx context.Context, list string, before time.Time, keep int) error {
	return s.sim.ledger().Trim(ctx, list, before, keep)
}

func (s *server) Started(_ context.Context, id persistence.ID) (string, bool, error) {
	r, ok := s.sim.runs[id]
	return r.by, ok, nil
}

func (s *server) Busy(context.Context, string) (string, error) {
	for id, r := range s.sim.runs {
		if r.ends.After(s.sim.now) {
			return string(id), nil
		}
	}
	return "", nil
}

func (s *server) Newest(context.Context) (string, error) { return "", nil }

func (s *server) Queued(persistence.ID) (bool, error) { return false, nil }

// Begin starts the run as a store does: one of an id.
func (s *server) Begin(_ context.Context, _ Plan, f Firing) error {
	return s.around(func() error {
		if _, taken := s.sim.runs[f.Run]; taken {
			return persistence.ErrTaken
		}
		s.sim.runs[f.Run] = simulatedRun{f.By(), s.sim.now, s.sim.now.Add(s.sim.lasts(s.sim.random))}
		return nil
	})
}

// run lets two servers look after the schedule until a time, and kills them at random.
func (s *simulation) run(until time.Time) {
	start := func(sv *server) {
		*sv = server{sim: s, left: s.random.IntN(24)} // about every second time of the schedule
		sv.clock = &Clock{Ledger: sv, World: sv, Now: func() time.Time { return s.now }, Look: simulatedLook}
		sv.next = s.now
	}
	servers := []*server{{}, {}}
	for _, sv := range servers {
		start(sv)
	}
	for s.now.Before(until) {
		sv := servers[0]
		if wake(servers[1]).Before(wake(sv)) {
			sv = servers[1]
		}
		if s.now = wake(sv); !sv.back.IsZero() {
			start(sv)
			continue
		}
		next, err := sv.clock.Tick(s.t.Context(), []Plan{s.plan})
		killed := errors.Is(err, errKilled)
		s.ticks = append(s.ticks, tick{s.now, killed})
		switch {
		case killed:
			sv.back = s.now.Add(time.Duration(s.random.ExpFloat64() * float64(20*time.Hour)))
		case err != nil:
			s.t.Fatal(err)
		default:
			sv.next = next.Add(time.Duration(s.random.IntN(800)) * time.Millisecond) // a busy machine
		}
	}
	// One server is left in peace, so that what is open comes to its end.
	last := &server{}
	start(last)
	last.left = -1
	for i := range 200 {
		next, err := last.clock.Tick(s.t.Context(), []Plan{s.plan})
		if err != nil {
			s.t.Fatal(err)
		}
		s.ticks = append(s.ticks, tick{s.now, false})
		if next.Sub(s.now) > simulatedLook {
			break
		}
		if i == 199 {
			s.t.Fatal("something stays open")
		}
		s.now = next
	}
}

func wake(s *server) time.Time {
	if !s.back.IsZero() {
		return s.back
	}
	return s.next
}

// check compares what was fired with what the rule says, for each time of the year.
func (s *simulation) check(begin time.Time) (started, skipped, missed int) {
	s.t.Helper()
	byTime := map[string][]persistence.ID{}
	for id, r := range s.runs {
		byTime[r.by] = append(byTime[r.by], id)
	}
	recorded := map[time.Time]Firing{}
	times, err := Times(s.t.Context(), s.ledger(), s.plan.Loop)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range times {
		recorded[f.At] = f
	}
	oldest := times[0].At // those before it were trimmed
	for at := s.plan.Next(begin); !at.After(s.now); at = s.plan.Next(at) {
		f := Firing{At: at.UTC()}
		ran := byTime[f.By()]
		delete(byTime, f.By())
		if len(ran) > 1 {
			s.t.Errorf("%s was fired %d times: %v", at, len(ran), ran)
		}
		row, found := recorded[at.UTC()]
		if found && (row.State == Started) != (len(ran) == 1) || row.Open() {
			s.t.Errorf("%s is %s (%s) on record, and has the runs %v", at, row.State, row.Why, ran)
		}
		// Which server looked first after the time, and lived to decide? One that was killed meanwhile may have
		// decided, too.
		i, _ := slices.BinarySearchFunc(s.ticks, at, func(k tick, at time.Time) int { return k.at.Compare(at) })
		j := i
		for j < len(s.ticks) && s.ticks[j].killed {
			j++
		}
		first := s.ticks[j].at
		onceKilled := j > i
		superseded := !s.plan.Next(at).After(first)
		inTime := first.Sub(at) <= onTime
		fired := len(ran) == 1
		switch {
		case fired:
			started++
		case !found && at.UTC().Before(oldest):
			// it was trimmed, and what it came to is seen by its run alone
		case found && row.State == Skipped:
			skipped++
		case found && row.State == Missed:
			missed++
		}
		if at.UTC().Before(oldest) && !fired {
			continue
		}
		want := map[string]bool{}
		if inTime || onceKilled && s.ticks[i].at.Sub(at) <= onTime || s.plan.Schedule.CatchUp == "one" &&
			(!superseded || onceKilled) {
			want[Started], want[Skipped] = true, true
		}
		if !inTime && s.plan.Schedule.CatchUp != "one" && (!superseded || onceKilled) {
			want[Missed] = true
		}
		if superseded {
			want[""] = true
		}
		is := row.State
		if !found && fired {
			is = Started
		}
		if !want[is] {
			s.t.Errorf("%s: it is %q, want one of %v; first looked at at %s", at, is, want, first)
		}
		if is == Skipped && s.plan.Schedule.Overlap == "queue" {
			s.t.Errorf("%s was skipped, and should have waited: %s", at, row.Why)
		}
	}
	for by, ran := range byTime {
		s.t.Errorf("the runs %v were started by %q, which is no time of the schedule", ran, by)
	}
	return started, skipped, missed
}

// In a year with two servers that are killed at random, no time of a schedule is fired twice, and none is lost
// against the rule: in files, in SQLite and in PostgreSQL.
func TestYearWithTwoServersKilled(t *testing.T) {
	t.Parallel()
	stores := []struct {
		name string
		open func(t *testing.T) func() persistence.Ledger
	}{
		{"files", func(t *testing.T) func() persistence.Ledger {
			loops := filepath.Join(t.TempDir(), ".loops")
			return func() persistence.Ledger { return dirstore.LedgerOf(loops) }
		}},
		{"SQLite", func(t *testing.T) func() persistence.Ledger {
			return database(t, "sqlite:"+filepath.Join(t.TempDir(), "runs.db"))
		}},
		{"PostgreSQL", func(t *testing.T) func() persistence.Ledger {
			return database(t, postgres(t))
		}},
	}
	cases := []struct {
		cron, zone, catchUp, overlap string
		lasts                        func(*rand.Rand) time.Duration
	}{
		{"30 2 * * sun,tue,thu,fri", "Europe/Berlin", "none", "queue", upTo(30 * time.Hour)},
		{"30 2 * * *", "Europe/Berlin", "one", "skip", upTo(26 * time.Hour)},
		{"0 */12 * * sun,wed", "America/New_York", "none", "skip", upTo(14 * time.Hour)},
	}
	for n, store := range stores { // the rule is the same code for all, and what a store promises its contract holds
		c := cases[n]
		t.Run(fmt.Sprintf("%s/%s %s %s", store.name, c.cron, c.catchUp, c.overlap), func(t *testing.T) {
			plan, err := NewPlan(
				&fsm.Loop{
					Name:     "nightly",
					Schedule: &fsm.Schedule{Cron: c.cron, Timezone: c.zone, Overlap: c.overlap, CatchUp: c.catchUp},
				})
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			s := &simulation{
				t: t, random: rand.New(rand.NewPCG(17, uint64(n))), ledger: store.open(t), now: begin,
				plan: plan, lasts: c.lasts, runs: map[persistence.ID]simulatedRun{},
			}
			months := 12
			if testenv.Raced {
				months = 2
			}
			s.run(begin.AddDate(0, months, 0))
			started, skipped, missed := s.check(begin)
			kills := 0
			for _, k := range s.ticks {
				if k.killed {
					kills++
				}
			}
			t.Logf("%d runs, %d skipped and %d missed among the last, %d kills", started, skipped, missed, kills)
			if started < 100*months/12 || kills < 40*months/12 {
				t.Errorf("%d runs and %d kills show little", started, kills)
			}
		})
	}
}

func upTo(most time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(most))) }
}

// postgres returns the location of a real server for this test.
func postgres(t *testing.T) string {
	t.Helper()
	s, err := testenv.StartPostgres(t.Context(), testenv.QuickSettings...)
	if errors.Is(err, testenv.ErrNoPostgres) {
		testenv.Skip(t, "PostgreSQL: "+err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
	return s.URL("")
}

func database(t *testing.T, location string) func() persistence.Ledger {
	t.Helper()
	s, err := sqlstore.Open(context.WithoutCancel(t.Context()), location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return func() persistence.Ledger { return s.Ledger("here") }
}
