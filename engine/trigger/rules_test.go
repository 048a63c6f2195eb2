package trigger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/engine/trigger"
	"loops/fsm"
	"loops/persistence"
)

// TestStandOf is what workers do about a run, by its record.
func TestStandOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		p     persistence.Placed
		stand trigger.Stand
	}{
		{"queued", run(persistence.Queued, ""), trigger.Due},
		{"its process died", run(persistence.Running, ""), trigger.Due},
		{"found dead", run(persistence.Interrupted, ""), trigger.Due},
		{"its worker was told to end", run(persistence.Interrupted, fsm.EndInterrupted), trigger.Due},
		{"came to its cap", run(persistence.Interrupted, fsm.EndMaxSteps), trigger.Over},
		{"used its budget", run(persistence.Interrupted, fsm.EndBudget), trigger.Over},
		{"stopped by a user", run(persistence.UserStopped, fsm.EndUserStopped), trigger.Over},
		{"completed", run(persistence.Completed, fsm.EndTerminal), trigger.Over},
		{"failed", run(persistence.Failed, fsm.EndTerminal), trigger.Over},
		{"timed out", run(persistence.TimedOut, fsm.EndTimeout), trigger.Over},
		{"handed to an agent", run(persistence.Awaiting, fsm.EndHandoff), trigger.Over},
		{"parked, and what it waits for came", run(persistence.Awaiting, fsm.EndParked), trigger.Due},
		{
			"parked", with(run(persistence.Awaiting, fsm.EndParked), func(p *persistence.Placed) { p.Waits = true }),
			trigger.Parks,
		},
		{"owned", with(run(persistence.Running, ""), func(p *persistence.Placed) { p.Claimed = true }), trigger.Owned},
		{"workers are done with it", with(run(persistence.Running, ""), func(p *persistence.Placed) {
			p.Open = false
		}), trigger.Over},
	} {
		if got := trigger.StandOf(c.p); got != c.stand {
			t.Errorf("%s: %d, want %d", c.name, got, c.stand)
		}
	}
}

func run(status persistence.Status, ended string) persistence.Placed {
	return persistence.Placed{
		Open: true, State: persistence.Run{Status: status, Ended: ended},
		Job: persistence.Job{Queue: "q"},
	}
}

func with(p persistence.Placed, change func(*persistence.Placed)) persistence.Placed {
	change(&p)
	return p
}

// TestArranged: cases are runs as "id key status", with what the queue holds of each behind a colon, and the
// plan for them.
func TestArranged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, runs, limits, want string }{
		{"queued runs without a job get one", "a k queued, b k queued", "", "place a b"},
		{"those that have one do not", "a k queued:free, b k queued:alive, c k running:alive", "", ""},
		{"the queue was emptied", "a k running, b k owned, c k queued, d k done", "", "place a c"},
		{"a run whose worker is gone", "a k running:gone, b k owned:gone, c k queued:gone", "", "replace a c"},
		{"an owner let its lease run out", "a k frozen:alive, b k taken-over:alive", "", "replace a"},
		{"the completion of a job lags", "a k done:alive, b k done:gone", "", ""},
		{"a run was withdrawn", "a k done:free", "", "drop a"},
		{"a parked run has no job", "a k parked:free, b k parked", "", "drop a"},
		{"a run that is not due yet", "a k late", "", ""},
		{"a parked run that was answered, although it was to wait", "a k answered", "", "place a"},
		{"one whose paths are locked rests", "a k blocked", "", ""},
		{"keys take turns", "a k queued, b k queued, c k queued, d l queued, e m queued", "", "place a d e b c"},
		{"a limit counts owners and jobs", "a k owned, b k queued, c k queued, d l queued", "k 2", "place b d"},
		{"a limit that is reached", "a k owned, b k queued:alive, c k queued", "k 2", ""},
		{"a run that is replaced counts once", "a k running:gone, b k queued", "k 2", "place b replace a"},
		{"a limit of the queue", "a k queued, b l queued", "queue:q 1", "place a"},
		{
			"no more of one key than others wait for", repeated("k", trigger.Window+2) + ", z l queued", "",
			"place k00 z k01 k02 k03 k04 k05 k06 k07",
		},
	} {
		queued := map[persistence.ID]trigger.Ticket{}
		var all []persistence.Placed
		for entry := range strings.SplitSeq(c.runs, ", ") {
			entry, job, _ := strings.Cut(entry, ":")
			var id, key, what string
			if _, err := fmt.Sscan(entry, &id, &key, &what); err != nil {
				t.Fatal(err)
			}
			p := run(persistence.Status(what), "")
			switch what {
			case "owned":
				p.Claimed, p.State.Status = true, persistence.Running
			case "done":
				p.State.Status = persistence.Completed
			case "parked":
				p.State.Status, p.State.Ended, p.Waits = persistence.Awaiting, fsm.EndParked, true
			case "frozen", "taken-over": // its owner, or the one before
				p.State.Status, p.State.Lapsed, p.State.Leased = persistence.Running, true, now.Add(time.Second)
				if what == "taken-over" {
					p.State.Leased = now.Add(-time.Second)
				}
			case "answered", "blocked":
				p.State.Status, p.State.Ended, p.At = persistence.Awaiting, fsm.EndParked, now.Add(time.Minute)
				if what == "blocked" {
					p.Note = "/p is locked by run b"
				}
			case "late":
				p.State.Status, p.At = persistence.Queued, now.Add(time.Minute)
			}
			p.Run, p.Key = persistence.ID(id), key
			all = append(all, p)
			if job != "" {
				queued[p.Run] = trigger.Ticket{Taken: job != "free", Worker: job, Since: now}
			}
		}
		limits := trigger.QueueLimits{}
		if c.limits != "" {
			var name string
			var n int
			if _, err := fmt.Sscan(c.limits, &name, &n); err != nil {
				t.Fatal(err)
			}
			limits[name] = n
		}
		plan := trigger.Arranged(all, queued, func(worker string, _ persistence.ID) bool { return worker == "gone" },
			limits, now)
		var got []string
		for _, part := range []struct {
			what string
			ids  []persistence.ID
		}{{"place", ids(plan.Place)}, {"replace", ids(plan.Replace)}, {"drop", plan.Drop}} {
			if len(part.ids) > 0 {
				got = append(got, part.what)
			}
			for _, id := range part.ids {
				got = append(got, string(id))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, strings.Join(got, " "), c.want)
		}
	}
}

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func ids(jobs []persistence.Job) (ids []persistence.ID) {
	for _, j := range jobs {
		ids = append(ids, j.Run)
	}
	return ids
}

func repeated(key string, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s%02d %s queued", key, i, key))
	}
	return strings.Join(all, ", ")
}

// TestChannel: the order of labels is nothing, and what is queued for some labels is nothing for others.
func TestChannel(t *testing.T) {
	t.Parallel()
	names := []string{
		trigger.QueueChannel("q", "", nil), trigger.QueueChannel("q", "", []string{"a"}),
		trigger.QueueChannel("q", "", []string{"a", "b"}), trigger.QueueChannel("q", "", []string{"ab"}),
		trigger.QueueChannel("q", "git", nil), trigger.QueueChannel("q", "git", []string{"a"}),
		trigger.QueueChannel("q", "", []string{"git"}),
	}
	if trigger.QueueChannel("q", "", []string{"b", "a", "b"}) != names[2] {
		t.Error("the order of labels makes another channel")
	}
	if slices.Sort(names); len(slices.Compact(names)) != 7 {
		t.Error("two channels have one name:", names)
	}
	for _, bad := range []string{"", "A", "a--b", "-a", "a b", strings.Repeat("a", 41)} {
		if trigger.CheckQueue(bad) == nil {
			t.Errorf("%q is the name of a queue", bad)
		}
	}
	if err := trigger.CheckQueue("nightly_2-b"); err != nil {
		t.Error(err)
	}
}
