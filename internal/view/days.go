package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"loops/internal/api"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// Day returns the runs of a day.
func Day(d inspect.Day) api.DayGroup {
	return api.DayGroup{Day: d.Date, Runs: d.Runs, Outcomes: d.Outcomes}
}

// PrintDays writes a line for each day, with a column for each outcome, the most frequent first.
func (t RunTable) PrintDays(days []inspect.Day) error {
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
