package view

import (
	"bufio"
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"loops/internal/inspect"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// A Comparison is two runs beside each other.
type Comparison struct {
	All    bool
	Sides  [2]*inspect.Path
	Steps  [2]*inspect.StepList
	Memory [2]*fsm.Snapshot // nil = it cannot be read
	pairs  []inspect.StepPair
	first  int      // of pairs: where they part; len(pairs) = nowhere
	fork   string   // that one run is a fork of the other; "" = it is not
	shared int      // how many steps the other one had before that
	values []string // what was captured, and the context, a line each
	Notes  []string
}

// Compare finds out where the two runs part, and how their values differ.
func (d *Comparison) Compare() {
	from := d.begin()
	d.pairs = inspect.CompareSteps(d.Steps[0], d.Steps[1], from[0], from[1])
	for d.first < len(d.pairs) && d.pairs[d.first].Same {
		d.first++
	}
	if d.Memory[0] != nil && d.Memory[1] != nil {
		d.valuesOf("captured.", Steady(d.Memory[0].Captured), Steady(d.Memory[1].Captured))
		d.valuesOf("context.", OrEmpty(d.Memory[0].Context), OrEmpty(d.Memory[1].Context))
	}
}

// valuesOf says how the values of two mappings differ.
func (d *Comparison) valuesOf(in string, x, y *value.Map) {
	lines := &loopfile.Changes{}
	for _, k := range loopfile.KeysOfBoth(x, y) {
		was, first := x.Get(k)
		now, second := y.Get(k)
		switch {
		case k == "run_dir": // is another one for every run
		case !second:
			lines.Add("%s%s: only in the first, %s", in, k, loopfile.Brief(was))
		case !first:
			lines.Add("%s%s: only in the second, %s", in, k, loopfile.Brief(now))
		case !loopfile.SameValue(was, now) && !loopfile.SameValue(was, d.inFirst(now)):
			lines.Value(in+k, was, now)
		}
	}
	d.values = append(d.values, lines.Lines...)
}

// Print shows how two runs ended, where they part, and their steps.
func (d *Comparison) Print(page *Page) error {
	x, y := d.Sides[0], d.Sides[1]
	w := tabwriter.NewWriter(page.Out, 0, 4, 2, ' ', 0)
	row := func(key string, cell func(*inspect.Path) string) {
		terminal.Say(w, "%s\t%s\t%s\n", key, cell(x), cell(y))
	}
	row("RUN", func(p *inspect.Path) string { return string(p.Run.ID) })
	row("Ended", func(p *inspect.Path) string { return inspect.Outcome(p.Run) + ", in " + humanize.Dash(p.Run.State) })
	row("Steps", func(p *inspect.Path) string { return fmt.Sprint(p.Run.Step) })
	row("Time", func(p *inspect.Path) string { return humanize.Duration(inspect.Elapsed(p.Run)) })
	if x.Costs.Total.Asked() || y.Costs.Total.Asked() {
		row("Cost", func(p *inspect.Path) string { return p.Costs.Total.Text() })
		row("Tokens", func(p *inspect.Path) string {
			t := p.Costs.Total
			return t.TokenText(t.Tokens())
		})
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(page.Out)
	d.printFirst(page)
	if d.first < len(d.pairs) || d.All {
		if err := d.printSteps(page); err != nil {
			return err
		}
	}
	if len(d.values) > 0 {
		terminal.Say(page.Out, "\nValues at the end (first -> second):\n")
		for _, line := range d.values {
			terminal.SayLine(page.Out, "  "+line)
		}
	} else if d.Memory[0] != nil && d.Memory[1] != nil {
		terminal.Say(page.Out, "\nBoth captured the same, and ended with the same context.\n")
	}
	for _, note := range d.Notes {
		terminal.SayLine(page.Err, "loops: "+note)
	}
	return nil
}

// printFirst says where the runs part.
func (d *Comparison) printFirst(page *Page) {
	if x, y := d.Sides[0].Run, d.Sides[1].Run; x.SHA256 != "" && y.SHA256 != "" && x.SHA256 != y.SHA256 &&
		x.Loop == y.Loop {
		terminal.SayLine(page.Out, "They began with different definitions.")
	}
	beginning := "the beginning"
	if d.fork != "" {
		terminal.SayLine(page.Out, d.fork)
		beginning = "there on"
	}
	if d.first == len(d.pairs) {
		terminal.Say(page.Out, "Both took the same way: %s.\n", humanize.Count(len(d.pairs), "state"))
		return
	}
	p := d.pairs[d.first]
	before := "They differ from " + beginning
	if d.first > 0 {
		before = fmt.Sprintf("They took the same way through %s, then", humanize.Count(d.first, "state"))
	}
	switch {
	case p.A != inspect.NoStep && p.B != inspect.NoStep:
		s := d.at(0, p.A)
		terminal.Say(page.Out, "%s: step %s, %s\n", before, s.Number, s.Path)
	default:
		terminal.Say(page.Out, "%s:\n", before)
	}
	for i := range d.Sides {
		s := d.next(i)
		if s == nil {
			terminal.Say(page.Out, "  %s had no more steps\n", d.Sides[i].Run.ID)
			continue
		}
		terminal.Say(page.Out, "  %s: step %s, %s: %s (events %d to %d)\n", d.Sides[i].Run.ID, s.Number, s.Path,
			Came(s), s.First, s.Last)
	}
}

// at returns a step of one side, nil where it is not there.
func (d *Comparison) at(side int, place int32) *inspect.AlignedStep {
	if place == inspect.NoStep {
		return nil
	}
	s := d.Steps[side].At(int(place))
	return &s
}

// next returns the first step of one side from where the runs part; nil where it has no more.
func (d *Comparison) next(side int) *inspect.AlignedStep {
	for _, p := range d.pairs[d.first:] {
		if place := [2]int32{p.A, p.B}[side]; place != inspect.NoStep {
			return d.at(side, place)
		}
	}
	return nil
}

// printSteps prints the steps that differ, or all. There can be very many, so they are gone through twice: to
// find out how wide the columns are, and to print them.
func (d *Comparison) printSteps(page *Page) error {
	out := bufio.NewWriter(page.Out)
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
		terminal.SayLine(out, strings.TrimRight(line.String(), " "))
	})
	return out.Flush()
}

// eachRow gives the rows of the table of steps.
func (d *Comparison) eachRow(row func([8]string)) {
	row([8]string{"", "STATE", "STEP", "FIRST", "TIME", "STEP", "SECOND", "TIME"})
	near := d.near()
	skipped := 0
	rest := func() {
		if skipped > 0 {
			row([8]string{"", "… " + humanize.Count(skipped, "step") + " the same"})
			skipped = 0
		}
	}
	for i, p := range d.pairs {
		if !near[i] && !d.All {
			skipped++
			continue
		}
		rest()
		x, y := d.at(0, p.A), d.at(1, p.B)
		cells := [8]string{Mark(p), humanize.PlainLine(cmp.Or(x, y).Path)}
		for i, s := range []*inspect.AlignedStep{x, y} {
			if s != nil {
				cells[2+3*i], cells[3+3*i], cells[4+3*i] = s.Number, Came(s), humanize.Duration(s.Took)
			}
		}
		row(cells)
	}
	rest()
}

// near says which pairs differ, or are next to ones that do.
func (d *Comparison) near() []bool {
	near := make([]bool, len(d.pairs))
	for i, p := range d.pairs {
		if !p.Same {
			for j := max(0, i-ShownPairs); j <= min(len(near)-1, i+ShownPairs); j++ {
				near[j] = true
			}
		}
	}
	return near
}
