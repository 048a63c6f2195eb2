package terminal

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
)

// WriteCosts writes a sheet as a table. Cached tokens are what was read from a cache and what was written to one.
func WriteCosts(out io.Writer, s *inspect.CostSheet, head string) error {
	wide := len(head)
	for _, name := range s.Order {
		wide = max(wide, humanize.Width(humanize.PlainLine(name)))
	}
	pad := func(name string) string { return name + strings.Repeat(" ", max(0, wide-humanize.Width(name))) }
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	if s.Resumed {
		SayLine(out, "Since the resume (loops cost RUN has all of it):")
	}
	SayRow(w, pad(head), "VISITS", "PROMPTS", "JUDGES", "IN", "OUT", "CACHED", "COST", "TIME", "SHARE", "")
	row := func(name string, l *inspect.Cost) {
		share := "-"
		if s.Total.CostUSD > 0 {
			share = fmt.Sprintf("%.0f%%", 100*l.CostUSD/s.Total.CostUSD)
		}
		SayRow(w,
			pad(humanize.PlainLine(name)), strconv.Itoa(l.Visits), strconv.Itoa(l.Prompts), strconv.Itoa(l.Judges), humanize.Tokens(l.Input), humanize.Tokens(l.Output),
			humanize.Tokens(l.CacheRead+l.CacheWrite), l.Text(), humanize.Duration(l.Time), share, "")
	}
	for _, name := range s.Order {
		row(name, s.Line(name))
	}
	if len(s.Order) > 1 {
		row("total", &s.Total)
	}
	return w.Flush()
}

// MicroDollars rounds a sum, which adds up to a little more or less than what it is of.
func MicroDollars(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// CostObject is a line as JSON. A cost that is not known is null; so is a sum with one in it, and
// known_cost_usd is the rest.
func CostObject(l *inspect.Cost, key, name string) *value.Map {
	var cost any
	if l.Unknown == 0 {
		cost = MicroDollars(l.CostUSD)
	}
	return value.NewMap(key, name, "visits", int64(l.Visits), "prompts", int64(l.Prompts), "judges", int64(l.Judges),
		"input_tokens", l.Input, "output_tokens", l.Output, "cache_read_tokens", l.CacheRead, "cache_creation_tokens", l.CacheWrite,
		"cost_usd", cost, "known_cost_usd", MicroDollars(l.CostUSD), "unknown_costs", int64(l.Unknown), "duration_ms", l.Time.Milliseconds())
}

// CostReport is a sheet as little-loops writes it to a file: its states by name, and all of them. Where a cost
// is not known, the cost of the state and that of all are null, and has_unknown_model is true.
func CostReport(s *inspect.CostSheet) *value.Map {
	line := func(l *inspect.Cost) *value.Map {
		m := value.NewMap("iterations", int64(l.Prompts+l.Judges), "input_tokens", l.Input, "output_tokens", l.Output, "cache_read_tokens", l.CacheRead,
			"cache_creation_tokens", l.CacheWrite, "cost_usd", MicroDollars(l.CostUSD), "wallclock_ms", l.Time.Milliseconds())
		if l.Unknown > 0 {
			m.Set("cost_usd", nil)
		}
		return m
	}
	states := []any{}
	for _, name := range slices.Sorted(slices.Values(s.Order)) {
		if l := s.Line(name); l.Prompts+l.Judges > 0 {
			m := value.NewMap("state", name)
			for k, v := range line(l).All() {
				m.Set(k, v)
			}
			states = append(states, m)
		}
	}
	totals := line(&s.Total)
	totals.Set("has_unknown_model", s.Total.Unknown > 0)
	return value.NewMap("states", states, "totals", totals)
}
