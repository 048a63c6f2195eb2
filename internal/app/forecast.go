package app

import (
	"context"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// forecastRuns is how many runs have to have ended before what they used says something.
const forecastRuns = 10

// Forecast returns what a run of a loop may use, by what its ended runs used, and by its budget. Runs that can be
// resumed are left out. since is the age or the date after which runs were active; "" = all.
func (s *Service) Forecast(ctx context.Context, name, since string) (*api.Forecast, error) {
	period, err := NewPeriod(since, "", "forecast")
	if err != nil {
		return nil, err
	}
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	known, err := s.Project.Pricer()
	if err != nil {
		return nil, err
	}
	o := &api.Forecast{Loop: name, Needed: forecastRuns}
	used := map[string][]float64{}
	add := func(kind string, v float64) { used[kind] = append(used[kind], v) }
	sums := s.costSums(f)
	defer sums.Close()
	for r, err := range EachOf(ctx, f, name, 0, period.Filter()) {
		if err != nil {
			return nil, err
		}
		switch r.Status {
		case persistence.Completed, persistence.Failed, persistence.TimedOut:
		default:
			continue
		}
		sum, err := sums.Of(ctx, r)
		if err != nil {
			return nil, err
		}
		c := sum.Cost(known)
		o.Runs++
		if c.Unknown == 0 {
			add("cost_usd", c.CostUSD)
		} else {
			o.Unpriced++
			if most, known := c.Most(); known {
				o.Bounded++
				if o.Most == nil || most > *o.Most {
					o.Most = new(terminal.MicroDollars(most))
				}
			}
		}
		add("tokens", float64(c.Input+c.Output+c.CacheRead+c.CacheWrite))
		add("wall", inspect.Elapsed(r).Seconds())
		add("steps", float64(c.Visits))
		add("prompts", float64(c.Prompts+c.Judges))
	}
	var budget fsm.Budget
	if path, err := s.Project.Resolve(name); err == nil {
		if l, _, err := s.Project.Loader().Load(path); err == nil && l != nil && l.Budget != nil {
			budget = *l.Budget
		}
	}
	most := map[string]float64{}
	for _, l := range budget.Lines(fsm.Spent{}, 0, 0) {
		most[l.Name] = l.Most
	}
	for _, kind := range []string{"cost_usd", "tokens", "wall", "steps", "prompts"} {
		o.Uses = append(o.Uses, forecast(kind, used[kind], most[kind]))
	}
	return o, nil
}

// forecast returns what runs use of one kind of limit. Too few runs say nothing.
func forecast(kind string, used []float64, most float64) api.ForecastUse {
	u := api.ForecastUse{Kind: kind, Runs: len(used)}
	if most > 0 {
		u.Budget = &most
	}
	if len(used) < forecastRuns {
		return u
	}
	slices.Sort(used)
	rank := func(p int) *float64 { return new(used[(len(used)*p+99)/100-1]) }
	u.P50, u.P95, u.Worst = rank(50), rank(95), rank(100)
	if u.Budget != nil && *u.Worst >= most {
		u.Reached = true
	}
	return u
}

// PrintForecast shows a forecast as a table.
func PrintForecast(out io.Writer, f *api.Forecast) error {
	terminal.Say(out, "%s of %s ended\n", humanize.Count(f.Runs, "run"), humanize.PlainLine(f.Loop))
	if f.Runs < f.Needed {
		terminal.Say(out, "What a run uses is unknown below %d.\n", f.Needed)
	}
	terminal.SayLine(out, "")
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	terminal.Say(w, "A RUN USES\tP50\tP95\tWORST\tBUDGET\n")
	for _, u := range f.Uses {
		name := map[string]string{"cost_usd": "cost", "wall": "time"}[u.Kind]
		if name == "" {
			name = u.Kind
		}
		terminal.Say(w, "%s", name)
		for _, v := range []*float64{u.P50, u.P95, u.Worst} {
			terminal.Say(w, "\t%s", forecastText(u.Kind, v, "unknown"))
		}
		terminal.Say(w, "\t%s\n", forecastText(u.Kind, u.Budget, "-"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if f.Unpriced > 0 {
		bound := ""
		switch {
		case f.Bounded == 1 && f.Unpriced == 1:
			bound = " (unknown ≤ " + humanize.USD(*f.Most) + ")"
		case f.Bounded == f.Unpriced:
			bound = " (unknown ≤ " + humanize.USD(*f.Most) + " each)"
		case f.Bounded > 0:
			bound = " (" + strconv.Itoa(f.Bounded) + " of them unknown ≤ " + humanize.USD(*f.Most) + " each)"
		}
		terminal.Say(out, "\nThe cost of %s is not known, and left out%s.\n", humanize.Count(f.Unpriced, "run"), bound)
	}
	for _, u := range f.Uses {
		if u.Reached {
			terminal.Say(out, "\nThe budget of %s was reached: without it, a run may use more.\n", u.Kind)
		}
	}
	return nil
}

func forecastText(kind string, v *float64, none string) string {
	switch {
	case v == nil:
		return none
	case kind == "cost_usd":
		return humanize.USD(*v)
	case kind == "wall":
		return humanize.Duration(time.Duration(*v * float64(time.Second)))
	case kind == "tokens":
		return humanize.Tokens(int64(*v))
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}
