package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/model"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

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
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print one JSON object")
	return cmd
}

func runDiff(ctx context.Context, a *app, o diffOptions) error {
	_, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	var kinds inspect.Kinds
	d := comparison{all: o.all}
	for i, name := range []string{o.a, o.b} {
		run, err := lookup.OneRun(ctx, f, name)
		if err != nil {
			return err
		}
		if i == 1 && run.ID == d.sides[0].Run.ID {
			return usageError{fmt.Sprintf("%s and %s are the same run, %s", o.a, o.b, run.ID), "loops diff --help"}
		}
		d.steps[i] = inspect.NewSteps(&kinds)
		if d.sides[i], err = lookup.Path(ctx, f, run, &inspect.Reader{Done: d.steps[i].Add}, a.damaged); err != nil {
			return err
		}
		if d.memory[i], err = store.Snapshot(ctx, run.ID); err != nil {
			d.notes = append(d.notes, fmt.Sprintf("What run %s had captured cannot be read: %v", run.ID, err))
		}
	}
	d.compare()
	if o.json {
		return d.writeJSON(a.out)
	}
	return d.print(a)
}

// A comparison is two runs beside each other.
type comparison struct {
	all    bool
	sides  [2]*inspect.Path
	steps  [2]*inspect.Steps
	memory [2]*fsm.Snapshot // nil = it cannot be read
	pairs  []inspect.Pair
	first  int      // of pairs: where they part; len(pairs) = nowhere
	fork   string   // that one run is a fork of the other; "" = it is not
	shared int      // how many steps the other one had before that
	values []string // what was captured, and the context, a line each
	notes  []string
}

func (d *comparison) compare() {
	from := d.begin()
	d.pairs = inspect.Compare(d.steps[0], d.steps[1], from[0], from[1])
	for d.first < len(d.pairs) && d.pairs[d.first].Same {
		d.first++
	}
	if d.memory[0] != nil && d.memory[1] != nil {
		d.valuesOf("captured.", views.Steady(d.memory[0].Captured), views.Steady(d.memory[1].Captured))
		d.valuesOf("context.", views.OrEmpty(d.memory[0].Context), views.OrEmpty(d.memory[1].Context))
	}
}

// valuesOf says how the values of two mappings differ.
func (d *comparison) valuesOf(in string, x, y *value.Map) {
	lines := &model.Changes{}
	for _, k := range model.Union(x, y) {
		was, first := x.Get(k)
		now, second := y.Get(k)
		switch {
		case k == "run_dir": // is another one for every run
		case !second:
			lines.Add("%s%s: only in the first, %s", in, k, model.Brief(was))
		case !first:
			lines.Add("%s%s: only in the second, %s", in, k, model.Brief(now))
		case !model.Same(was, now) && !model.Same(was, d.inFirst(now)):
			lines.Value(in+k, was, now)
		}
	}
	d.values = append(d.values, lines.Lines...)
}

func (d *comparison) print(a *app) error {
	x, y := d.sides[0], d.sides[1]
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	row := func(key string, cell func(*inspect.Path) string) {
		ui.Say(w, "%s\t%s\t%s\n", key, cell(x), cell(y))
	}
	row("RUN", func(p *inspect.Path) string { return string(p.Run.ID) })
	row("Ended", func(p *inspect.Path) string { return inspect.OutcomeText(p.Run) + ", in " + phrase.Dash(p.Run.State) })
	row("Steps", func(p *inspect.Path) string { return fmt.Sprint(p.Run.Step) })
	row("Time", func(p *inspect.Path) string { return phrase.Duration(inspect.Elapsed(p.Run)) })
	if x.Costs.Asked() || y.Costs.Asked() {
		row("Cost", func(p *inspect.Path) string { return p.Costs.Total.Text() })
		row("Tokens", func(p *inspect.Path) string {
			t := p.Costs.Total
			return phrase.Tokens(t.Tokens())
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
		ui.Say(a.out, "\nValues at the end (first -> second):\n")
		for _, line := range d.values {
			ui.SayLine(a.out, "  "+line)
		}
	} else if d.memory[0] != nil && d.memory[1] != nil {
		ui.Say(a.out, "\nBoth captured the same, and ended with the same context.\n")
	}
	for _, note := range d.notes {
		ui.SayLine(a.Err, "loops: "+note)
	}
	return nil
}

// printFirst says where the runs part.
func (d *comparison) printFirst(a *app) {
	if x, y := d.sides[0].Run, d.sides[1].Run; x.SHA256 != "" && y.SHA256 != "" && x.SHA256 != y.SHA256 && x.Loop == y.Loop {
		ui.SayLine(a.out, "They began with different definitions.")
	}
	beginning := "the beginning"
	if d.fork != "" {
		ui.SayLine(a.out, d.fork)
		beginning = "there on"
	}
	if d.first == len(d.pairs) {
		ui.Say(a.out, "Both took the same way: %s.\n", phrase.Count(len(d.pairs), "state"))
		return
	}
	p := d.pairs[d.first]
	before := "They differ from " + beginning
	if d.first > 0 {
		before = fmt.Sprintf("They took the same way through %s, then", phrase.Count(d.first, "state"))
	}
	switch {
	case p.A != inspect.None && p.B != inspect.None:
		s := d.at(0, p.A)
		ui.Say(a.out, "%s: step %s, %s\n", before, s.Number, s.Path)
	default:
		ui.Say(a.out, "%s:\n", before)
	}
	for i := range d.sides {
		s := d.next(i)
		if s == nil {
			ui.Say(a.out, "  %s had no more steps\n", d.sides[i].Run.ID)
			continue
		}
		ui.Say(a.out, "  %s: step %s, %s: %s (events %d to %d)\n", d.sides[i].Run.ID, s.Number, s.Path, views.Came(s), s.First, s.Last)
	}
}

// at returns a step of one side, nil where it is not there.
func (d *comparison) at(side int, place int32) *inspect.Step {
	if place == inspect.None {
		return nil
	}
	s := d.steps[side].At(int(place))
	return &s
}

// next returns the first step of one side from where the runs part; nil where it has no more.
func (d *comparison) next(side int) *inspect.Step {
	for _, p := range d.pairs[d.first:] {
		if place := [2]int32{p.A, p.B}[side]; place != inspect.None {
			return d.at(side, place)
		}
	}
	return nil
}

// printSteps prints the steps that differ, or all. There can be very many, so they are gone through twice: to find out how
// wide the columns are, and to print them.
func (d *comparison) printSteps(a *app) error {
	out := bufio.NewWriter(a.out)
	var wide [8]int
	d.eachRow(func(cells [8]string) {
		for i, cell := range cells {
			wide[i] = max(wide[i], utf8.RuneCountInString(cell))
		}
	})
	fmt.Fprintln(out)
	d.eachRow(func(cells [8]string) {
		var line strings.Builder
		for i, cell := range cells {
			line.WriteString(cell + strings.Repeat(" ", wide[i]-utf8.RuneCountInString(cell)+2))
		}
		ui.SayLine(out, strings.TrimRight(line.String(), " "))
	})
	return out.Flush()
}

// eachRow gives the rows of the table of steps.
func (d *comparison) eachRow(row func([8]string)) {
	row([8]string{"", "STATE", "STEP", "FIRST", "TIME", "STEP", "SECOND", "TIME"})
	near := d.near()
	skipped := 0
	rest := func() {
		if skipped > 0 {
			row([8]string{"", "… " + phrase.Count(skipped, "step") + " the same"})
			skipped = 0
		}
	}
	for i, p := range d.pairs {
		if !near[i] && !d.all {
			skipped++
			continue
		}
		rest()
		x, y := d.at(0, p.A), d.at(1, p.B)
		cells := [8]string{views.Mark(p), plain.Line(cmp.Or(x, y).Path)}
		for i, s := range []*inspect.Step{x, y} {
			if s != nil {
				cells[2+3*i], cells[3+3*i], cells[4+3*i] = s.Number, views.Came(s), phrase.Duration(s.Took)
			}
		}
		row(cells)
	}
	rest()
}

// near says which pairs differ, or stand by ones that do.
func (d *comparison) near() []bool {
	near := make([]bool, len(d.pairs))
	for i, p := range d.pairs {
		if !p.Same {
			for j := max(0, i-views.ShownPairs); j <= min(len(near)-1, i+views.ShownPairs); j++ {
				near[j] = true
			}
		}
	}
	return near
}
