package main_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

// cutHold is a loop whose run continues until there is a file.
const cutHold = `name: hold
description: goes on until it is let go
initial: hold
scope: [held]
states:
  hold: {action: ': > begun; while [ ! -e go ]; do sleep 0.02; done', next: last}
  last: {action: ': > last.$LOOPS_ATTEMPT', next: done}
  done: {terminal: true}
`

// cutWaiter waits in the queue while a run of that loop is running.
const cutWaiter = `name: waiter
description: wants what is held
initial: a
scope: [held]
states:
  a: {action: ': > waited', next: done}
  done: {terminal: true}
`

const cutBackoff = `name: backoff
description: waits between its states
initial: a
backoff: 600
states:
  a: {action: ': > begun', next: done}
  done: {terminal: true}
`

// A cutCommand is a command that is cut short. Names of runs in its words are replaced by their ids.
type cutCommand struct {
	args    string
	placed  bool                         // it needs workers, and with that PostgreSQL
	setUp   func(*testing.T, cutProject) // what has to be there before, or to continue
	between func(*testing.T, cutProject) // before it is called again
	again   string                       // what finishes it; "" = the same
	codes   []float64                    // what that may exit with, but for 0
	touches []string                     // runs that it may change
	done    func(cutRun) bool            // reports whether it did its job, if it exits with 0
	settled func(*testing.T, cutProject) // brings what happens to its end, and looks at that
}

// recorded reports whether the command has to do with what is recorded of runs.
func (c cutCommand) recorded() bool {
	return !strings.HasPrefix(c.args, "stage ") && !strings.HasPrefix(c.args, "new ")
}

// A cutRun is what there is after a command.
type cutRun struct {
	cutProject
	t    *testing.T
	said string
	now  map[string]string
}

func (r cutRun) gone(names ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return r.now[r.ids[n]] != "" })
}

func (r cutRun) statusOf(name string) string {
	status, _, _ := strings.Cut(r.now[r.ids[name]], " ")
	return status
}

func (p cutProject) there(name string) bool {
	_, err := os.Stat(filepath.Join(p.cwd, name))
	return err == nil
}

// more reports whether there is a run that was not there at first.
func (r cutRun) more() bool { return len(r.begun()) > 0 }

// declared is a secret that the runs of good have on record.
var declared = strings.Repeat("x", 500)

// declaring declares it.
func declaring(t *testing.T, p cutProject) {
	must(t, os.WriteFile(filepath.Join(p.cwd, "value"), []byte(declared), 0o600))
	must(t, os.WriteFile(filepath.Join(p.cwd, ".loops", "config.yaml"), []byte("secrets: {BIG: {file: value}}\n"),
		0o600))
}

// masked reports whether no file of the records has the secret. What a database has, events show.
func (r cutRun) masked() bool {
	found := false
	must(r.t, filepath.WalkDir(filepath.Join(r.cwd, ".loops"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !strings.HasPrefix(filepath.Base(path), "runs.db") {
			b, err := os.ReadFile(path)
			found = found || err == nil && strings.Contains(string(b), declared)
		}
		return err
	}))
	return !found
}

// begun is what there is of runs that were not there at first.
func (r cutRun) begun() (sums []string) {
	for id, sum := range r.now {
		if !slices.Contains([]string{r.ids["first"], r.ids["good"], r.ids["open"], r.ids["dead"]}, id) {
			sums = append(sums, sum)
		}
	}
	return sums
}

// begunDone looks whether a run that was not there at first has completed.
func begunDone(t *testing.T, p cutProject) {
	now := cutRun{p, t, "", p.recorded(t)}
	if !slices.ContainsFunc(now.begun(), func(sum string) bool { return strings.HasPrefix(sum, "completed") }) {
		t.Errorf("no run that was begun has completed: %v", now.now)
	}
}

// carriedOn has a worker carry what was submitted, until all of it has completed.
func carriedOn(t *testing.T, p cutProject) {
	w := p.start(t, "worker", "--slots", "2")
	p.await(t, "the submitted runs to complete", func() bool {
		begun := cutRun{p, t, "", p.recorded(t)}.begun()
		return len(begun) > 0 && !slices.ContainsFunc(begun, func(sum string) bool {
			return !strings.HasPrefix(sum, "completed ") || !strings.HasSuffix(sum, `"kept\n"`)
		})
	})
	must(t, w.cmd.Process.Signal(syscall.SIGTERM))
	w.end(t, 0)
}

var cutCommands = []cutCommand{
	{args: "rm ID(good)", codes: []float64{4}, touches: []string{"good"}, done: func(r cutRun) bool {
		return r.gone("good")
	}},
	{args: "rm ID(dead) --force", codes: []float64{4}, touches: []string{"dead"}, done: func(r cutRun) bool {
		return r.gone("dead")
	}},
	{args: "prune --keep-last 0", touches: []string{"good", "first"}, done: func(r cutRun) bool {
		return r.gone("good", "first")
	}},
	{
		args: "scrub --all", setUp: declaring, touches: []string{"first", "good", "open", "dead"},
		done: func(r cutRun) bool { return r.statusOf("good") == "completed" && r.masked() },
	},
	{args: "sweep", touches: []string{"dead"}, done: func(r cutRun) bool {
		return r.statusOf("dead") == "interrupted"
	}},
	{args: "import away.tar.gz", touches: []string{"away"}, done: func(r cutRun) bool {
		return r.statusOf("away") == "completed"
	}},
	{args: "export ID(good) -o new.tar.gz --force", done: func(r cutRun) bool { return r.there("new.tar.gz") }},
	{args: "store copy FROM TO", touches: []string{"dead"}, codes: []float64{9}, done: func(cutRun) bool {
		return true
	}},
	{args: "run good --quiet", touches: []string{"dead"}, done: cutRun.more},
	{args: "run -b good", touches: []string{"dead"}, done: cutRun.more, settled: begunDone},
	{
		args: "resume ID(open) -n 9 --quiet", again: "resume open -n 9 --quiet", codes: []float64{4},
		touches: []string{"open", "dead"}, done: func(r cutRun) bool { return r.statusOf("open") == "completed" },
	},
	{
		args: "resume ID(open) --extend steps=9 --quiet", again: "resume open --extend steps=9 --quiet",
		codes: []float64{4}, touches: []string{"open", "dead"}, done: func(r cutRun) bool {
			return r.statusOf("open") == "completed"
		},
	},
	{args: "resume ID(dead) --quiet", codes: []float64{4}, touches: []string{"dead"}, done: func(r cutRun) bool {
		return r.statusOf("dead") == "completed"
	}},
	{args: "resume -b ID(dead)", codes: []float64{4}, touches: []string{"dead"}, done: func(r cutRun) bool {
		return !r.gone("dead")
	}, settled: completed("dead")},
	{args: "fork ID(good) --at 1 --quiet", touches: []string{"dead"}, done: cutRun.more},
	{
		args: "submit good --no-lock --quiet", placed: true, touches: []string{"dead"}, done: cutRun.more,
		settled: carriedOn,
	},
	{args: "new fresh --from sequence", codes: []float64{1}, done: func(r cutRun) bool {
		return r.there(".loops/fresh.yaml")
	}},

	{args: "stop hold", setUp: holding, codes: []float64{4}, done: stoppedHold, settled: resumedHold},
	{args: "stop --all", setUp: holdingUp, codes: []float64{4}, done: func(r cutRun) bool {
		return stoppedHold(r) && r.queued() == ""
	}, settled: func(t *testing.T, p cutProject) {
		p.live["waiter"].endWith(t, 1, 143)
		resumedHold(t, p)
	}},
	{args: "pause hold", setUp: holding, done: cutRun.pauses, settled: pausedHold},
	{
		args: "unpause hold", setUp: pausing, codes: []float64{4}, done: func(r cutRun) bool { return !r.pauses() },
		settled: unpausedHold,
	},
	{
		args: "extend hold steps=1", setUp: holding, done: func(cutRun) bool { return true },
		settled: func(t *testing.T, p cutProject) {
			p.letGo(t)
			p.live["hold"].endWith(t, 0)
		},
	},
	{
		args: "retry-now backoff", setUp: backingOff, codes: []float64{4}, done: func(cutRun) bool { return true },
		settled: func(t *testing.T, p cutProject) {
			p.live["backoff"].endWith(t, 0)
		},
	},
	{args: "queue remove QUEUED", setUp: holdingUp, codes: []float64{4}, done: func(r cutRun) bool {
		return r.queued() == ""
	}, settled: func(t *testing.T, p cutProject) {
		p.live["waiter"].endWith(t, 1, 143)
		p.letGo(t)
		p.live["hold"].endWith(t, 0)
		if p.there("waited") {
			t.Error("it was taken out of the queue, and ran")
		}
	}},

	{args: "stage begin --dir work", setUp: staged("2026-01-01"), done: func(r cutRun) bool {
		return r.staged() == ""
	}, settled: unstaged},
	{
		args: "stage save scan --dir work", setUp: staged(time.Now().UTC().Format(time.DateOnly)),
		done: func(r cutRun) bool { return r.staged() == "fetch scan" }, settled: unstaged,
	},
	{args: "stage done --dir work", setUp: staged(time.Now().UTC().Format(time.DateOnly)), done: func(r cutRun) bool {
		return !r.there("work/manifest.json")
	}, settled: unstaged},

	// Retention removes what it may beside the run, and a note is all that comes of its mistakes. What is left,
	// a later run removes.
	{
		args: "run extra", setUp: retaining, touches: []string{"good", "first", "dead"}, done: func(r cutRun) bool {
			return r.more() && (!strings.Contains(r.said, "Retention removed 2 runs") || r.gone("good", "first"))
		}, between: func(t *testing.T, p cutProject) { must(t, removed(filepath.Join(p.cwd, ".loops/.retention"))) },
		settled: func(t *testing.T, p cutProject) {
			begunDone(t, p)
			if now := (cutRun{p, t, "", p.recorded(t)}); !now.gone("good", "first") {
				t.Errorf("retention left %v, and said: %s", now.now, p.said(t))
			}
			if stamp := readText(t, filepath.Join(p.cwd, ".loops/.retention")); !strings.HasSuffix(stamp, " done\n") {
				t.Errorf("the stamp of retention is %q", stamp)
			}
		},
	},
}

// started starts a command that continues, and waits until a file is there.
func (p cutProject) started(t *testing.T, name, file string, args ...string) {
	t.Helper()
	process := p.startInto(t, name+".said", args...)
	t.Cleanup(func() { process.cmd.Process.Kill() }) //nolint:errcheck // it has ended, but where the test failed
	p.live[name] = process
	p.await(t, name+" to begin", func() bool {
		found, err := filepath.Glob(filepath.Join(p.cwd, file))
		must(t, err)
		return len(found) > 0
	})
}

// await waits until something is so.
func (p cutProject) await(t *testing.T, what string, so func() bool) {
	t.Helper()
	if !testenv.Within(testenv.Patience, so) {
		t.Fatalf("waited too long for %s: %s", what, p.said(t))
	}
}

// endWith waits for a process that continues, which must end with one of these codes.
func (c crashProcess) endWith(t *testing.T, codes ...float64) {
	t.Helper()
	if code := c.end(t, 0); !slices.Contains(codes, code) {
		t.Errorf("%v exits with %v, not with one of %v", c.cmd.Args, code, codes)
	}
}

// letGo lets the run of the loop hold end.
func (p cutProject) letGo(t *testing.T) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(p.cwd, "go"), nil, 0o644))
}

func holding(t *testing.T, p cutProject) {
	p.started(t, "hold", "begun", "run", "hold", "--quiet")
	p.ids["hold"] = filepath.Base(globOne(t, filepath.Join(p.cwd, ".loops/runs/hold-*")))
}

func holdingUp(t *testing.T, p cutProject) {
	holding(t, p)
	p.started(t, "waiter", ".loops/.queue/*.json", "run", "waiter", "--queue", "--quiet")
	p.ids["queued"] = strings.TrimSuffix(filepath.Base(globOne(t, filepath.Join(p.cwd, ".loops/.queue/*.json"))),
		".json")
}

// queued returns the files of what waits in the queue.
func (p cutProject) queued() string {
	entries, _ := filepath.Glob(filepath.Join(p.cwd, ".loops/.queue/*.json"))
	return strings.Join(entries, " ")
}

// stoppedHold reports whether the run does not continue, nor ended by itself.
func stoppedHold(r cutRun) bool {
	return !slices.Contains([]string{"", "running", "completed"}, r.statusOf("hold"))
}

// resumedHold brings a run to its end that was stopped.
func resumedHold(t *testing.T, p cutProject) {
	p.live["hold"].endWith(t, 143, 137, -9, -15)
	p.letGo(t)
	if code := p.start(t, "resume", p.ids["hold"], "--quiet").end(t, 0); code != 0 {
		t.Errorf("after the stop, resume exits with %v: %s", code, p.said(t))
	}
	if p.there("waited") {
		t.Error("what waited for the run that was stopped, and was to be stopped with it, ran")
	}
}

// statusObject is what status says of a run.
func (p cutProject) statusObject(t *testing.T, loop string) (status string, object map[string]any) {
	t.Helper()
	if code := p.start(t, "status", loop, "--json").end(t, 0); code != 0 {
		t.Fatalf("status exits with %v: %s", code, p.said(t))
	}
	must(t, json.Unmarshal([]byte(p.said(t)), &object))
	return fmt.Sprint(object["status"]), object
}

// stands reports whether the run is paused between two states.
func (p cutProject) stands(t *testing.T) bool {
	t.Helper()
	_, object := p.statusObject(t, "hold")
	w, _ := object["waiting"].(map[string]any)
	return w["for"] == "paused"
}

// pauses reports whether the run is paused, or will be.
func (r cutRun) pauses() bool {
	_, object := r.statusObject(r.t, "hold")
	return object["pause_asked_at"] != nil || r.stands(r.t)
}

func pausing(t *testing.T, p cutProject) {
	holding(t, p)
	if code := p.start(t, "pause", "hold").end(t, 0); code != 0 {
		t.Fatalf("pause exits with %v: %s", code, p.said(t))
	}
	p.letGo(t)
	p.await(t, "the pause", func() bool { return p.stands(t) })
}

// pausedHold checks that the run is paused, and lets it continue.
func pausedHold(t *testing.T, p cutProject) {
	p.letGo(t)
	p.await(t, "the pause", func() bool { return p.stands(t) || p.there("last.1") })
	if p.there("last.1") {
		t.Error("the run was paused, and entered a state")
	}
	if code := p.start(t, "unpause", "hold").end(t, 0); code != 0 {
		t.Errorf("unpause exits with %v: %s", code, p.said(t))
	}
	unpausedHold(t, p)
}

func unpausedHold(t *testing.T, p cutProject) {
	p.live["hold"].endWith(t, 0)
	if !p.there("last.1") {
		t.Error("the run went on, and did not end")
	}
}

func backingOff(t *testing.T, p cutProject) {
	p.started(t, "backoff", "begun", "run", "backoff", "--quiet")
	p.await(t, "the wait", func() bool {
		_, object := p.statusObject(t, "backoff")
		return object["waiting"] != nil
	})
	p.ids["backoff"] = filepath.Base(globOne(t, filepath.Join(p.cwd, ".loops/runs/backoff-*")))
}

// completed looks whether a run has completed.
func completed(name string) func(t *testing.T, p cutProject) {
	return func(t *testing.T, p cutProject) {
		if now := (cutRun{p, t, "", p.recorded(t)}); now.statusOf(name) != "completed" {
			t.Errorf("%s is %s", name, now.statusOf(name))
		}
	}
}

const fetched = `{"files":3}`

// staged makes a folder of stages of a day, one of which is completed.
func staged(day string) func(t *testing.T, p cutProject) {
	return func(t *testing.T, p cutProject) {
		must(t, os.Mkdir(filepath.Join(p.cwd, "work"), 0o755))
		for name, text := range map[string]string{
			"work/manifest.json": `{"schema_version":1,"run_date":"` + day + `","completed":["fetch"]}`,
			"work/fetch.json":    fetched, "in": `{"lines": 7}`,
		} {
			must(t, os.WriteFile(filepath.Join(p.cwd, name), []byte(text), 0o644))
		}
	}
}

// staged returns which stages are completed and have the values they were given.
func (p cutProject) staged() string {
	b, _ := os.ReadFile(filepath.Join(p.cwd, "work/manifest.json"))
	var m struct{ Completed []string }
	if err := json.Unmarshal(b, &m); err != nil {
		return err.Error()
	}
	for _, name := range m.Completed {
		value, _ := os.ReadFile(filepath.Join(p.cwd, "work", name+".json"))
		if want := map[string]string{"fetch": fetched, "scan": `{"lines": 7}`}[name]; string(value) != want {
			return name + " has another value"
		}
	}
	slices.Sort(m.Completed)
	return strings.Join(m.Completed, " ")
}

// unstaged clears the stages: nothing of them is left then.
func unstaged(t *testing.T, p cutProject) {
	if code := p.start(t, "stage", "done", "--dir", "work").end(t, 0); code != 0 {
		t.Errorf("stage done exits with %v: %s", code, p.said(t))
	}
	if left := visible(p.cwd, "work/*", "work/.*"); len(left) > 0 {
		t.Errorf("stages that are done leave %v", left)
	}
}

func retaining(t *testing.T, p cutProject) {
	// its runs have other ids than any that are removed
	extra := strings.Replace(cutLoop, "name: good", "name: extra", 1)
	must(t, os.WriteFile(filepath.Join(p.cwd, ".loops/extra.yaml"), []byte(extra), 0o644))
	must(t, os.WriteFile(filepath.Join(p.cwd, ".loops/config.yaml"), []byte("retention: {max_size: 1K}\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(p.cwd, ".loops/.retention"), []byte("2026-01-01T00:00:00Z begun\n"), 0o600))
}
