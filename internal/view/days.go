package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"loops/fsm/value"
	"loops/internal/lookup"
	"loops/internal/terminal"
)

// DayObject is a day for a program.
func DayObject(d lookup.Day) any {
	outcomes := value.NewMap()
	for _, name := range slices.Sorted(maps.Keys(d.Outcomes)) {
		outcomes.Set(name, int64(d.Outcomes[name]))
	}
	return value.NewMap("day", d.Date, "runs", int64(d.Runs), "outcomes", outcomes)
}

// PrintDays writes a line for each day, with a column for each outcome, the most frequent first.
func (t RunTable) PrintDays(days []lookup.Day) error {
	sums := map[string]int{}
	for _, d := range days {
		for name, n := range d.Outcomes {
			sums[name] += n
		}
	}
	names := slices.Sorted(maps.Keys(sums))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	w := tabwriter.NewWriter(t.Page.Out, 0, 4, 2, ' ', 0)
	line := func(cells ...string) { terminal.Say(w, "%s\n", strings.Join(cells, "\t")) }
	head := []string{"DAY", "RUNS"}
	for _, name := range names {
		head = append(head, strings.ToUpper(name))
	}
	line(head...)
	for _, d := range days {
		cells := []string{d.Date, fmt.Sprint(d.Runs)}
		for _, name := range names {
			cell := "-"
			if n := d.Outcomes[name]; n > 0 {
				cell = fmt.Sprint(n)
			}
			cells = append(cells, cell)
		}
		line(cells...)
	}
	return w.Flush()
}
