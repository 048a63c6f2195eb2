package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/internal/trail"
)

// shownPairs is how many steps around each difference diff shows.
const shownPairs = 2

type diffOptions struct {
	a, b      string
	all, json bool
}

func newDiffCommand(a *app) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Show where two runs went different ways",
		Long: `diff puts two runs beside each other: how they ended, what they took and cost, the first step at which they differ, all steps
that differ with those around them, and what each had captured and had in its context at the end. A step is the same where
its state, the exit code of its action, its verdict and its next state are. RUN can be the name of a loop: its newest run.
The runs may be of different loops. A run and a fork of it are compared from the step on that the fork began with.

In the table of steps, = means the same, ! that a state came to something else, < and > that only the first, or only the
second run was there. The runs need not differ: that, too, exits with 0.` +
			exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops diff fix-20261121T103405 fix-20261121T113000
  loops diff fix-20261121T103405 fix --all
  loops diff 2026-11-21T103405 2026-11-21T113000 --json`,
		Args: arguments(2, 2, "two RUNs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.a, o.b = args[0], args[1]
			return runDiff(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "show all steps, also those that are the same")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runDiff(ctx context.Context, a *app, o diffOptions) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := finder{p, store}
	d := comparison{all: o.all}
	for i, name := range []string{o.a, o.b} {
		run, err := oneRun(ctx, f, name)
		if err != nil {
			return err
		}
		if i == 1 && run.ID == d.sides[0].run.ID {
			return usageError{fmt.Sprintf("%s and %s are the same run, %s", o.a, o.b, run.ID), "loops diff --help"}
		}
		if d.sides[i], err = a.path(ctx, f, run); err != nil {
			return err
		}
		if d.memory[i], err = store.Snapshot(ctx, run.ID); err != nil {
			d.notes = append(d.notes, fmt.Sprintf("What run %s had captured cannot be read: %v", run.ID, err))
		}
	}
	d.compare()
	if o.json {
		return writeJSON(a.out, d.object())
	}
	return d.print(a)
}

// A comparison is two runs beside each other.
type comparison struct {
	all    bool
	sides  [2]*runPath
	memory [2]*fsm.Snapshot // nil = it cannot be read
	pairs  []trail.Pair
	first  int      // of pairs: where they part; len(pairs) = nowhere
	fork   string   // that one run is a fork of the other; "" = it is not
	shared int      // how many visits the other one had before that
	values []string // what was captured, and the context, a line each
	notes  []string
}

func (d *comparison) compare() {
	d.pairs = trail.Compare(d.visits())
	for d.first < len(d.pairs) && d.pairs[d.first].Same {
		d.first++
	}
	if d.memory[0] != nil && d.memory[1] != nil {
		d.valuesOf("captured.", steady(d.memory[0].Captured), steady(d.memory[1].Captured))
		d.valuesOf("context.", orEmpty(d.memory[0].Context), orEmpty(d.memory[1].Context))
	}
}

// valuesOf says how the values of two mappings differ.
func (d *comparison) valuesOf(in string, x, y *fsm.Map) {
	lines := &changeLines{}
	for _, k := range union(x, y) {
		was, first := x.Get(k)
		now, second := y.Get(k)
		switch {
		case k == "run_dir": // is another one for every run
		case !second:
			lines.add("%s%s: only in the first, %s", in, k, brief(was))
		case !first:
			lines.add("%s%s: only in the second, %s", in, k, brief(now))
		case !same(was, now) && !same(was, d.inFirst(now)):
			lines.value(in+k, was, now)
		}
	}
	d.values = append(d.values, lines.lines...)
}

func orEmpty(m *fsm.Map) *fsm.Map {
	if m == nil {
		return fsm.NewMap()
	}
	return m
}

// steady leaves out of captures what is another in every run: how long it took, and where its output is.
func steady(captured *fsm.Map) *fsm.Map {
	out := fsm.NewMap()
	for _, name := range orEmpty(captured).Keys() {
		v, _ := captured.Get(name)
		if rec, ok := v.(*fsm.Map); ok {
			kept := fsm.NewMap()
			for _, k := range rec.Keys() {
				if k != "duration_ms" && k != "file" {
					field, _ := rec.Get(k)
					kept.Set(k, field)
				}
			}
			v = kept
		}
		out.Set(name, v)
	}
	return out
}

// came is what a step came to.
func came(v *trail.Visit) string {
	var parts []string
	if code, ended := v.Exit(); ended {
		parts = append(parts, fmt.Sprintf("exit code %d", code))
	}
	if verdict := v.Verdict(); verdict != "" {
		parts = append(parts, clean(verdict))
	}
	if to := v.To(); to != "" {
		parts = append(parts, "-> "+to)
	}
	return dash(strings.Join(parts, ", "))
}

func (d *comparison) print(a *app) error {
	x, y := d.sides[0], d.sides[1]
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	row := func(key string, cell func(*runPath) string) {
		say(w, "%s\t%s\t%s\n", key, cell(x), cell(y))
	}
	row("RUN", func(p *runPath) string { return string(p.run.ID) })
	row("Ended", func(p *runPath) string { return outcome(p.run) + ", in " + dash(p.run.State) })
	row("Steps", func(p *runPath) string { return fmt.Sprint(p.run.Step) })
	row("Time", func(p *runPath) string { return duration(elapsed(p.run)) })
	if x.sheet.asked() || y.sheet.asked() {
		row("Cost", func(p *runPath) string { return p.sheet.total.cost() })
		row("Tokens", func(p *runPath) string {
			t := p.sheet.total
			return tokens(t.Input + t.Output + t.CacheRead + t.CacheWrite)
		})
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	d.printFirst(a)
	if d.first < len(d.pairs) || d.all {
		if err := d.printSteps(a); err != nil {
			return err
		}
	}
	if len(d.values) > 0 {
		say(a.out, "\nValues at the end (first -> second):\n")
		for _, line := range d.values {
			sayLine(a.out, "  "+line)
		}
	} else if d.memory[0] != nil && d.memory[1] != nil {
		say(a.out, "\nBoth captured the same, and ended with the same context.\n")
	}
	for _, note := range d.notes {
		sayLine(a.Err, "loops: "+note)
	}
	return nil
}

// printFirst says where the runs part.
func (d *comparison) printFirst(a *app) {
	if x, y := d.sides[0].run, d.sides[1].run; x.SHA256 != "" && y.SHA256 != "" && x.SHA256 != y.SHA256 && x.Loop == y.Loop {
		sayLine(a.out, "They began with different definitions.")
	}
	beginning := "the beginning"
	if d.fork != "" {
		sayLine(a.out, d.fork)
		beginning = "there on"
	}
	if d.first == len(d.pairs) {
		say(a.out, "Both took the same way: %s.\n", count(len(d.pairs), "state"))
		return
	}
	p := d.pairs[d.first]
	before := "They differ from " + beginning
	if d.first > 0 {
		before = fmt.Sprintf("They took the same way through %s, then", count(d.first, "state"))
	}
	switch {
	case p.A != nil && p.B != nil:
		say(a.out, "%s: step %s, %s\n", before, p.A.Number(), p.A.Path())
	default:
		say(a.out, "%s:\n", before)
	}
	for i, v := range []*trail.Visit{nextVisit(d.pairs[d.first:], 0), nextVisit(d.pairs[d.first:], 1)} {
		if v == nil {
			say(a.out, "  %s had no more steps\n", d.sides[i].run.ID)
			continue
		}
		from, to := v.Span()
		say(a.out, "  %s: step %s, %s: %s (events %d to %d)\n", d.sides[i].run.ID, v.Number(), v.Path(), came(v), from, to)
	}
}

// nextVisit returns the next visit of one side.
func nextVisit(pairs []trail.Pair, side int) *trail.Visit {
	for _, p := range pairs {
		if v := [2]*trail.Visit{p.A, p.B}[side]; v != nil {
			return v
		}
	}
	return nil
}

func mark(p trail.Pair) string {
	switch {
	case p.B == nil:
		return "<"
	case p.A == nil:
		return ">"
	case p.Same:
		return "="
	}
	return "!"
}

func (d *comparison) printSteps(a *app) error {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 4, 2, ' ', 0)
	say(w, "\tSTATE\tSTEP\tFIRST\tTIME\tSTEP\tSECOND\tTIME\n")
	near := d.near()
	skipped := 0
	rest := func() {
		if skipped > 0 {
			say(w, "\t… %s the same\t\t\t\t\t\t\n", count(skipped, "step"))
			skipped = 0
		}
	}
	for i, p := range d.pairs {
		if !near[i] && !d.all {
			skipped++
			continue
		}
		rest()
		cells := func(v *trail.Visit) string {
			if v == nil {
				return "\t\t"
			}
			return v.Number() + "\t" + came(v) + "\t" + duration(v.Took)
		}
		v := p.A
		if v == nil {
			v = p.B
		}
		say(w, "%s\t%s\t%s\t%s\n", mark(p), v.Path(), cells(p.A), cells(p.B))
	}
	rest()
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	for line := range strings.Lines(table.String()) {
		sayLine(a.out, strings.TrimRight(line, " \n"))
	}
	return nil
}

// near says which pairs differ, or stand by ones that do.
func (d *comparison) near() []bool {
	near := make([]bool, len(d.pairs))
	for i, p := range d.pairs {
		if !p.Same {
			for j := max(0, i-shownPairs); j <= min(len(near)-1, i+shownPairs); j++ {
				near[j] = true
			}
		}
	}
	return near
}

func (d *comparison) object() *fsm.Map {
	side := func(p *runPath) any {
		m := fsm.NewMap("instance_id", string(p.run.ID), "loop", p.run.Loop, "status", orNull(string(p.run.Status)), "terminated_by", orNull(p.run.Ended),
			"current_state", p.run.State, "iterations", int64(p.run.Step), "duration_ms", elapsed(p.run).Milliseconds(),
			"sha256", orNull(p.run.SHA256))
		addCost(m, &p.sheet.total)
		return m
	}
	visit := func(v *trail.Visit) any {
		if v == nil {
			return nil
		}
		var code any
		if n, ended := v.Exit(); ended {
			code = int64(n)
		}
		from, to := v.Span()
		return fsm.NewMap("step", v.Number(), "state", v.Path(), "exit_code", code, "verdict", orNull(v.Verdict()), "to", orNull(v.To()),
			"duration_ms", v.Took.Milliseconds(), "first_event", int64(from), "last_event", int64(to))
	}
	var first any
	if d.first < len(d.pairs) {
		first = fsm.NewMap("same_before", int64(d.first), "first", visit(nextVisit(d.pairs[d.first:], 0)), "second", visit(nextVisit(d.pairs[d.first:], 1)))
	}
	steps := list(d.pairs, func(p trail.Pair) any {
		return fsm.NewMap("same", p.Same, "first", visit(p.A), "second", visit(p.B))
	})
	more := elapsed(d.sides[1].run) - elapsed(d.sides[0].run)
	return fsm.NewMap("first", side(d.sides[0]), "second", side(d.sides[1]), "second_took_longer_ms", more.Round(time.Millisecond).Milliseconds(),
		"steps_before_fork", int64(d.shared), "divergence", first, "steps", steps, "values", texts(d.values), "notes", texts(d.notes))
}
