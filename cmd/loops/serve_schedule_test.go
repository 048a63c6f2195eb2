package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/internal/testenv"

	"loops/persistence"
	ledgerfiles "loops/persistence/dirstore"
	"loops/persistence/sqlstore"
)

// Two servers look after one project whose schedules are due, and are killed again and again: each loop runs
// once, and what was missed is made up for; with catch_up: all each missed time once.
func TestServeFiresEachScheduleOnce(t *testing.T) {
	for _, c := range []struct {
		store, catchUp string
		loops, runs    int // schedules, and the runs of each
	}{{"dir", "one", 6, 1}, {"sqlite:.loops/runs.db", "one", 6, 1}, {"dir", "all", 2, 2}} {
		store, loops := c.store, c.loops
		t.Run(store+" "+c.catchUp, func(t *testing.T) {
			dir := serveDir(t)
			must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
			var record persistence.Ledger = ledgerfiles.LedgerOf(filepath.Join(dir, ".loops"))
			if store != "dir" {
				s, err := sqlstore.Open(t.Context(), "sqlite:"+filepath.Join(dir, ".loops", "runs.db"))
				must(t, err)
				record = s.Ledger("shop")
				defer s.Close()
			}
			// the midnights of yesterday and today have come since
			since := time.Now().UTC().Truncate(24 * time.Hour).Add(-30 * time.Hour)
			for n := range loops {
				name := fmt.Sprint("nightly", n)
				must(t, os.WriteFile(filepath.Join(dir, ".loops", name+".yaml"), fmt.Appendf(nil, `name: %s
description: Runs at night.
initial: work
schedule: {cron: "0 0 * * *", timezone: UTC, catch_up: %s}
states:
  work: {action: echo "$LOOPS_RUN_ID" >> ran.%s, next: done}
  done: {terminal: true}
`, name, c.catchUp, name), 0o600))
				body, err := json.Marshal(map[string]any{"spec": "0 0 * * * | UTC", "since": since})
				must(t, err)
				must(t, record.Add(t.Context(),
					persistence.Entry{List: "schedules", Key: name, Open: true, Added: since, Body: body}))
			}
			random := rand.New(rand.NewPCG(17, 4))
			serve := func() *exec.Cmd {
				cmd := exec.Command(binary(t), "-C", dir, "serve", "--store", store)
				cmd.Dir, cmd.Env = dir, cleanEnv(binary(t), dir)
				must(t, cmd.Start())
				return cmd
			}
			kill := func(cmd *exec.Cmd, within int) {
				// a server is killed at any time of its work
				time.Sleep(time.Duration(random.IntN(within)) * time.Millisecond)
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
			for range 4 {
				one, other := serve(), serve()
				kill(one, 700)
				kill(other, 300)
			}
			last := serve()
			defer kill(last, 1)
			ran := func() (all int, once bool) {
				once = true
				for n := range loops {
					b, _ := os.ReadFile(filepath.Join(dir, fmt.Sprint("ran.nightly", n)))
					k := strings.Count(string(b), "\n")
					all, once = all+k, once && k == c.runs
				}
				return all, once
			}
			testenv.Within(testenv.Patience, func() bool { _, once := ran(); return once })
			// One that comes twice would come before the end of this command.
			if out, err := exec.Command(binary(t), "-C", dir, "schedule", "fire", "--store",
				store).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("schedule fire after all ran: %v\n%s", err, out)
			}
			if all, once := ran(); !once {
				t.Errorf("%d loops ran %d times", loops, all)
			}
			out, err := exec.Command(binary(t), "-C", dir, "schedule", "list", "--store", store, "--json").Output()
			must(t, err)
			var listed []struct {
				Loop  string
				Times []struct {
					At, State, Run string
					Missed         int
				}
			}
			must(t, json.Unmarshal(out, &listed))
			midnight := time.Now().UTC().Truncate(24 * time.Hour)
			for _, l := range listed {
				if c.runs > 1 {
					if len(l.Times) != c.runs || l.Times[0].State != "started" || l.Times[1].State != "started" ||
						l.Times[0].Run >= l.Times[1].Run || l.Times[0].Missed+l.Times[1].Missed > 0 {
						t.Errorf("%s: %+v, want two times that were started", l.Loop, l.Times)
					}
					continue
				}
				if len(l.Times) != 1 || l.Times[0].State != "started" || l.Times[0].Missed != 1 ||
					l.Times[0].Run != string(persistence.MakeID(l.Loop, midnight)) {
					t.Errorf("%s: %+v, want one time that was started, for %s and the one before it", l.Loop, l.Times,
						midnight)
				}
			}
			if len(listed) != loops {
				t.Errorf("%d schedules are listed, want %d", len(listed), loops)
			}
		})
	}
}

// nightlyLoop fires at midnight, and makes up for what was missed.
const nightlyLoop = `name: nightly
description: Runs at night.
initial: work
schedule: {cron: "0 0 * * *", timezone: UTC, catch_up: one}
states:
  work: {action: echo ran >> ran, next: done}
  done: {terminal: true}
`

// missNightly has the only schedule of a ledger, that of nightlyLoop, be one that was seen first two days ago.
func missNightly(t *testing.T, record persistence.Ledger) {
	t.Helper()
	all, err := record.Entries(t.Context(), "schedules")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	since := time.Now().Add(-50 * time.Hour).UTC()
	all[0].Body, err = json.Marshal(map[string]any{"spec": "0 0 * * * | UTC", "since": since})
	must(t, err)
	_, err = record.Change(t.Context(), all[0])
	must(t, err)
}

// TestScheduleFire: without a server, a timer that calls it each minute, also twice at once, has each time fired once.
func TestScheduleFire(t *testing.T) {
	t.Parallel()
	dir := serveDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o755))
	writeText(t, filepath.Join(dir, ".loops/nightly.yaml"), nightlyLoop)
	fire := func() string {
		out, err := exec.Command(binary(t), "-C", dir, "schedule", "fire").CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := fire(); out != "" { // it counts from here on
		t.Errorf("the first call says %s", out)
	}
	record := ledgerfiles.LedgerOf(filepath.Join(dir, ".loops"))
	missNightly(t, record)
	said := make(chan string, 2)
	for range 2 {
		go func() { said <- fire() }()
	}
	if out := <-said + <-said; strings.Count(out, "nightly: ") != 1 || !strings.Contains(out, " started: nightly-") {
		t.Errorf("two calls at once say %s", out)
	}
	if out := fire(); out != "" {
		t.Errorf("a call with nothing due says %s", out)
	}
	testenv.Wait(t, "the run", func() bool { b, _ := os.ReadFile(filepath.Join(dir, "ran")); return len(b) > 0 })
	if b, _ := os.ReadFile(filepath.Join(dir, "ran")); string(b) != "ran\n" {
		t.Errorf("it ran: %q", b)
	}
}
