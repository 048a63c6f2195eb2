package main_test

import (
	"os"
	"strings"
	"testing"
)

// state is a loop of one state, which is followed by its end.
func state(name, keys string) string {
	return "name: " + name + "\ndescription: waits\ninitial: b\nstates:\n  b:\n" + keys +
		"\n    next: done\n  done: {terminal: true}\n"
}

// parkings is how often a worker logged that a run is parked.
func (w *workerProcess) parkings(id string) int {
	b, _ := os.ReadFile(w.log)
	return strings.Count(string(b), "Run "+id+" is parked where it waits.")
}

// TestParkedRunNeverContinued: a run that parks again after its time had come is carried again: at the first of
// the times that it waits for, and each half minute where it looks.
func TestParkedRunNeverContinued(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/file.yaml", state("file", "    wait: {file: ready, every: 1s}"))
	f.write(".loops/late.yaml", state("late", "    wait: {file: never, every: 1s}\n    timeout: 3"))
	f.write(".loops/both.yaml", state("both", "    parallel: {q: {wait: {for: 1s}}, t: {wait: {for: 3s}}}"))
	f.write(".loops/asks.yaml", state("asks", "    parallel: {q: {ask: {question: \"ok?\"}}, t: {wait: {for: 3s}}}"))
	f.write(".loops/check.yaml", state("check", "    wait: {until: \"test -e ready\", every: 1s}"))
	f.write(".loops/items.yaml", state("items", "    for_each: [a, b]\n    loop: check"))
	w := f.worker("--slots", "2")
	ids := map[string]string{}
	for _, name := range []string{"asks", "both", "late", "file", "items"} {
		ids[name] = f.submit(name, "--no-lock")
	}
	f.until("each is parked", func() bool {
		for _, id := range ids {
			if w.parkings(id) == 0 {
				return false
			}
		}
		return true
	})
	f.loops("answer", ids["asks"], "approve")
	db := f.db()
	half := func(what string) { // a minute passes for those that look
		t.Helper()
		_, err := db.Exec(`UPDATE placements SET at = 1 WHERE run IN (SELECT n FROM runs WHERE id IN ($1, $2))`,
			ids["file"], ids["items"])
		must(t, err)
		if what != "" {
			f.until(what, func() bool { return w.parkings(ids["file"]) == 2 && w.parkings(ids["items"]) == 2 })
		}
	}
	half("those that look are parked again")
	var next int
	must(t,
		db.QueryRow(
			`SELECT count(*) FROM placements WHERE at BETWEEN (extract(epoch FROM now()) + 5) * 1000 AND (extract(epoch FROM now()) + 30) * 1000`).
			Scan(&next))
	if next != 2 {
		t.Errorf("of two runs %d look within half a minute", next)
	}
	f.write("ready", "")
	half("")
	for name, id := range ids {
		f.until(name+" is over", func() bool { return strings.Contains(f.status(id), "completed") })
	}
	if n := w.parkings(ids["both"]); n > 2 {
		t.Errorf("a run that waits twice was parked %d times", n)
	}
}

// TestParkedRunFoundStuck: a run that an earlier version left parked without a time, and one whose worker was
// killed before it noted that time, are carried by the next worker.
func TestParkedRunFoundStuck(t *testing.T) {
	t.Parallel()
	f := newFleet(t, workerLease)
	f.write(".loops/short.yaml", state("short", "    wait: {for: 2s}"))
	f.write(".loops/asks.yaml", state("asks", "    ask: {question: \"ok?\"}"))
	w := f.worker()
	short, asks := f.submit("short", "--no-lock"), f.submit("asks", "--no-lock")
	f.until("both are parked", func() bool { return w.parkings(short) > 0 && w.parkings(asks) > 0 })
	w.kill()
	_, err := f.db().Exec(`UPDATE placements SET at = 0`)
	must(t, err)
	w = f.worker()
	f.until("the one whose time has come is over", func() bool {
		return strings.Contains(f.status(short), "completed")
	})
	f.until("the other one is parked again", func() bool { return w.parkings(asks) == 1 })
	later := f.submit("short", "--no-lock")
	f.until("a run that came later is over", func() bool { return strings.Contains(f.status(later), "completed") })
	if n := w.parkings(asks); n != 1 {
		t.Errorf("a run that nobody answers was carried %d times", n)
	}
	if said := f.loops("answer", asks, "approve"); !strings.HasSuffix(said,
		": approve. The run continues when a worker carries it") {
		t.Errorf("answer says %s", said)
	}
	f.until("it is over when it was answered", func() bool { return strings.Contains(f.status(asks), "completed") })
}

// TestQueuedRunSaidToHaveEnded: a run of this machine leaves those that are queued for workers where they are.
func TestQueuedRunSaidToHaveEnded(t *testing.T) {
	t.Parallel()
	f := newThree(t)
	f.write("go", "")
	id := f.submit("three", "--no-lock")
	out, err := f.command("run", "three").CombinedOutput()
	if err != nil || strings.Contains(string(out), id) {
		t.Errorf("%v: of the queued run it says\n%s", err, out)
	}
	var archived int
	must(t, f.db().QueryRow(`SELECT archived FROM runs WHERE id = $1`, id).Scan(&archived))
	if archived != 0 {
		t.Error("the queued run is in the archive")
	}
}
