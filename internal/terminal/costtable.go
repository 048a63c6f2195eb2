package terminal

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

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
			pad(humanize.PlainLine(name)), strconv.Itoa(l.Visits), strconv.Itoa(l.Prompts), strconv.Itoa(l.Judges),
			l.TokenText(l.Input), l.TokenText(l.Output), l.TokenText(l.CacheRead+l.CacheWrite), l.Text(),
			humanize.Duration(l.Time), share, "")
	}
	for _, name := range s.Order {
		row(name, s.Line(name))
	}
	if len(s.Order) > 1 {
		row("total", &s.Total)
	}
	return w.Flush()
}

// WriteAgents writes what each agent used, where there are several.
func WriteAgents(out io.Writer, a inspect.AgentCosts) error {
	all := a.All()
	if len(all) < 2 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	Say(w, "\nAGENT\tMODEL\tPROMPTS\tJUDGES\tTOKENS\tCOST\tTIME\n")
	for _, c := range all {
		Say(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", humanize.Dash(humanize.PlainLine(c.Host)),
			humanize.Dash(humanize.PlainLine(c.Model)), c.Prompts, c.Judges,
			c.TokenText(c.Tokens()), c.Text(), humanize.Duration(c.Time))
	}
	return w.Flush()
}

// MicroDollars rounds a sum, which adds up to a little more or less than what it is of.
func MicroDollars(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// A CostReport is a sheet as little-loops writes it to a file: its states by name, and all of them. Where a cost is
// not known, the cost of the state and that of all are null, and has_unknown_model is true.
type CostReport struct {
	States []stateCosts `json:"states"`
	Totals struct {
		costs
		Unknown bool `json:"has_unknown_model"`
	} `json:"totals"`
}

type stateCosts struct {
	State string `json:"state"`
	costs
}

type costs struct {
	Iterations int      `json:"iterations"`
	Input      int64    `json:"input_tokens"`
	Output     int64    `json:"output_tokens"`
	CacheRead  int64    `json:"cache_read_tokens"`
	CacheWrite int64    `json:"cache_creation_tokens"`
	Cost       *float64 `json:"cost_usd"`
	Time       int64    `json:"wallclock_ms"`
}

// NewCostReport returns the report of a sheet.
func NewCostReport(s *inspect.CostSheet) (r CostReport) {
	line := func(l *inspect.Cost) costs {
		c := costs{
			Iterations: l.Prompts + l.Judges, Input: l.Input, Output: l.Output, CacheRead: l.CacheRead,
			CacheWrite: l.CacheWrite, Time: l.Time.Milliseconds(),
		}
		if l.Unknown == 0 {
			c.Cost = new(MicroDollars(l.CostUSD))
		}
		return c
	}
	for _, name := range slices.Sorted(slices.Values(s.Order)) {
		if l := s.Line(name); l.Prompts+l.Judges > 0 {
			r.States = append(r.States, stateCosts{name, line(l)})
		}
	}
	r.Totals.costs, r.Totals.Unknown = line(&s.Total), s.Total.Unknown > 0
	return r
}
