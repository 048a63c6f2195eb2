package simtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seeds = flag.Uint64("seeds", 100, "random loops of each test")
	first = flag.Uint64("seed", 1, "the number of the first one")
	each  = flag.Bool("each", false, "print the number of each: of a run that panics it is the last one")
)

// Much is made and forgotten in a moment: with a heap of some megabytes, a third of the time went into collecting it.
func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(1000)
	os.Exit(m.Run())
}

// Loops whose way does not depend on time go the way of the undisturbed run, whatever happens to them.
func TestDisturbed(t *testing.T) {
	t.Parallel()
	random(t, false)
}

// Loops with limits of time and money, and with joins that depend on what ends first, end without a fault.
func TestLimits(t *testing.T) {
	t.Parallel()
	random(t, true)
}

// random runs random loops with random disturbances. Of the first one that fails it prints the smallest loop
// that does so, and what happens to it.
func random(t *testing.T, limits bool) {
	var steps, lives int
	ends := map[string]int{}
	began, dir := time.Now(), t.TempDir()
	for seed := *first; seed < *first+*seeds; seed++ {
		if *each {
			fmt.Println(seed)
		}
		r := rand.New(rand.NewPCG(seed, 1))
		d := Random(r, limits)
		run, err := load(t, dir, seed, d)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, d.Text())
		}
		undisturbed := run(nil)
		steps += undisturbed.Steps
		lives++
		ends[undisturbed.Outcome.TerminatedBy]++
		for range plans {
			plan := RandomDisturbances(r, 12)
			disturbed := run(plan)
			steps += disturbed.Steps
			lives += disturbed.Lives
			if text := disturbed.Differs(undisturbed, limits); text != "" {
				d, plan = Shrink(d, plan, func(d *Definition, plan []Disturbance) bool {
					a, b, err := both(t, seed, d, plan)
					return err == nil && class(b.Differs(a, limits)) == class(text)
				})
				t.Fatalf("seed %d: %s\n\nAs small as it gets:\n\n%s%s\n%s", seed, text, d.Text(), plan,
					story(t, seed, d, plan, limits))
			}
		}
	}
	t.Logf("%d steps of %d processes in %s: %v", steps, lives, time.Since(began).Round(time.Millisecond), ends)
	if *seeds >= 100 && len(ends) < 3 {
		t.Errorf("the loops are too much alike, they end by %v only", ends)
	}
}

// plans is how often each loop is disturbed.
const plans = 3

// both runs a loop without and with what happens to it. The error is that it cannot be loaded.
func both(t *testing.T, seed uint64, d *Definition, plan []Disturbance) (undisturbed, disturbed *Trace, err error) {
	t.Helper()
	run, err := load(t, t.TempDir(), seed, d)
	if err != nil {
		return nil, nil, err
	}
	return run(nil), run(plan), nil
}

// load returns what runs a loop with what happens to it. Its files are written to dir. The error is that it cannot be
// loaded.
func load(t *testing.T, dir string, seed uint64, d *Definition) (run func([]Disturbance) *Trace, err error) {
	t.Helper()
	loop, lib, err := d.Load(dir)
	if err != nil {
		return nil, err
	}
	return func(plan []Disturbance) (tr *Trace) {
		synctest.Test(t, func(*testing.T) { tr = NewWorld(seed, loop, lib, plan).Run() })
		return tr
	}, nil
}

// story is what happened in the disturbed run.
func story(t *testing.T, seed uint64, d *Definition, plan []Disturbance, limits bool) string {
	t.Helper()
	a, b, err := both(t, seed, d, plan)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	out.WriteString(b.Differs(a, limits) + "\n")
	for _, ev := range b.Events {
		line := string(ev.AppendJSON(nil))
		out.WriteString(line[:min(len(line), 240)] + "\n")
	}
	return out.String()
}

// class is what is wrong, without its particulars.
func class(text string) string {
	if _, rest, found := strings.Cut(text, "s: "); found && strings.HasPrefix(text, "at ") {
		text = rest
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(`0123456789":/`, r) })
	return strings.Join(words[:min(1, len(words))], "")
}
