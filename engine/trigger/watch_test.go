package trigger

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"loops/engine/project"
)

// A schedule that was removed kept starting runs while any other loop file was broken: all old plans were kept,
// not those of the broken files. (35 1.5)
func TestRemovedScheduleBesideABrokenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loop := func(name, schedule string) {
		t.Helper()
		text := "name: " + name + "\ndescription: d\ninitial: a\n" + schedule +
			"states:\n  a: {action: \"true\", next: done}\n  done: {terminal: true}\n"
		if err := os.WriteFile(filepath.Join(dir, ".loops", name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, ".loops", "runs"), 0o755); err != nil {
		t.Fatal(err)
	}
	const daily = "schedule: {cron: \"0 3 * * *\"}\n"
	loop("removed", daily)
	loop("rewritten", daily)
	loop("kept", daily)
	w := Watch{Open: func() (*project.Project, error) { return project.Open(dir, project.Options{Cwd: dir}) }}
	defer w.close()
	expect := func(what string, want ...string) {
		t.Helper()
		if changed, err := w.read(t.Context()); err != nil || !changed {
			t.Fatalf("%s: changed %v, %v", what, changed, err)
		}
		var names []string
		for _, p := range w.plans {
			names = append(names, p.Loop)
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("%s: the plans are %v, want %v", what, names, want)
		}
	}
	expect("at first", "kept", "removed", "rewritten")
	loop("rewritten", "no such key: [\n")
	if err := os.Remove(filepath.Join(dir, ".loops", "removed.yaml")); err != nil {
		t.Fatal(err)
	}
	expect("one removed, another broken", "kept", "rewritten")
	loop("rewritten", "")
	loop("kept", "schedule: {cron: \"0 25 * * *\"}\n")
	expect("repaired without a schedule, another with a line that is wrong", "kept")
}

// Where times came faster than a failing start took, the newest time was always skipped, and neither list nor
// alarm saw the failure. (35 1.5)
func TestLatest(t *testing.T) {
	t.Parallel()
	at := func(minute int, state string, tries int) Firing {
		return Firing{At: time.Date(2026, 11, 1, 3, minute, 0, 0, time.UTC), State: state, Tries: tries}
	}
	for _, c := range []struct {
		name  string
		times []Firing
		want  int // index of the time; -1 = none
	}{
		{"none", nil, -1},
		{
			"a start that failed, then times that were skipped",
			[]Firing{at(0, Started, 0), at(1, Failed, 3), at(7, Skipped, 0), at(8, Skipped, 0)},
			1,
		},
		{"a failing start at work again", []Firing{at(1, Failed, 3), at(7, Starting, 0), at(8, Skipped, 0)}, 0},
		{"a start that failed once", []Firing{at(1, Started, 0), at(7, Starting, 1), at(8, Skipped, 0)}, 1},
		{"started after it failed", []Firing{at(1, Failed, 3), at(2, Started, 0), at(3, Skipped, 0)}, 1},
		{"nothing but skipped", []Firing{at(1, Skipped, 0), at(2, Skipped, 0)}, 1},
	} {
		f, ok := Latest(c.times)
		if ok != (c.want >= 0) || ok && f.At != c.times[c.want].At {
			t.Errorf("%s: %v %v", c.name, f.At, f.State)
		}
	}
}

// A schedule that nothing fires looked healthy: "in 42s" for ever. (35 1.4)
func TestUnattended(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, cron string) {
		t.Helper()
		text := "name: " + name + "\ndescription: d\ninitial: a\nschedule: {cron: \"" + cron + "\", timezone: UTC}\n" +
			"states:\n  a: {action: \"true\", next: done}\n  done: {terminal: true}\n"
		if err := os.WriteFile(filepath.Join(dir, ".loops", name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, ".loops", "runs"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("often", "* * * * *")
	open := func() (*project.Project, error) { return project.Open(dir, project.Options{Cwd: dir}) }
	p, err := open()
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what string, after time.Duration, now time.Time, want, latest string) {
		t.Helper()
		all, wrong, err := ListSchedules(t.Context(), p, now.Add(after))
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		if got := Unattended(all, now.Add(after)); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		state := ""
		if f, ok := Latest(all[len(all)-1].Times); ok {
			state = f.State
		}
		if state != latest {
			t.Errorf("%s: the latest time is %q, want %q", what, state, latest)
		}
	}
	const none = "nothing fires schedules of this project, no server, worker or timer: "
	// its times are a minute apart, so none is due for most of one
	began := time.Now().UTC().Truncate(time.Minute).Add(time.Second)
	expect("before anything looked", 0, began, none+"none was ever heard of", "")
	records, err := p.Records(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	c := NewClock(records, nil)
	c.Now = func() time.Time { return began }
	plans, err := Plans(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tick(t.Context(), plans); err != nil {
		t.Fatal(err)
	}
	if err := c.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("after a sign", 10*time.Minute, began, "", "")
	expect("half an hour later", 31*time.Minute, began, none+"the last one was heard of 31m00s ago", Missed)
	began = began.Add(time.Hour)
	if err := c.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("after another sign", 10*time.Minute, began, "", "")
	if err := os.Remove(filepath.Join(dir, ".loops", "often.yaml")); err != nil {
		t.Fatal(err)
	}
	write("daily", "0 3 * * *")
	expect("of a schedule with a time a day, two days later", 50*time.Hour, began, "", "")
	expect("of a schedule with a time a day, four days later", 100*time.Hour, began,
		none+"the last one was heard of 100h00m00s ago", "")
}
