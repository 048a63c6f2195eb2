package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// Bounds of what is read of runs for one look at costs.
const (
	spendTime   = time.Second // after which no more runs are read; the next look continues
	spendAtOnce = 2048
	mostUses    = 500_000 // runs that are remembered
	mostBars    = 92      // days of the drawing
	mostNames   = 8       // loops, hosts or models that have a colour of their own
)

// A usage is what a loop used on one day, of one host and one model.
type usage struct{ Day, Loop, Host, Model string }

// uses remembers what runs used, which changes only with their record. The zero value is ready, for several
// goroutines at once, which wait for one another.
type uses struct {
	mu   sync.Mutex
	seed maphash.Seed
	runs map[uint64]usedBy // guarded by mu; by project and run
}

type usedBy struct {
	at   int64                  // when the record was written that was read
	uses map[usage]inspect.Cost // nil = nothing, as of most loops that ask no agent
}

// key is that of a run.
func (u *uses) key(name string, run persistence.Run) uint64 {
	if u.runs == nil || len(u.runs) > mostUses {
		u.seed, u.runs = maphash.MakeSeed(), map[uint64]usedBy{}
	}
	return maphash.String(u.seed, name+"/"+string(run.ID))
}

// read reads what a run used: its events only where its memory says that it asked an agent.
func (u *uses) read(ctx context.Context, f project.Finder, name string, run persistence.Run,
	prices project.Prices,
) error {
	used := usedBy{at: run.UpdatedAt.UnixNano()}
	m, err := f.Store.MemoryOf(ctx, run)
	if err != nil || m == nil || m.Spent.Prompts > 0 || m.Spent.CostUSD > 0 {
		sheet := inspect.CostSheet{Prices: prices, Each: func(one inspect.Use) {
			if used.uses == nil {
				used.uses = map[usage]inspect.Cost{}
			}
			k := usage{one.At.Local().Format(time.DateOnly), run.Loop, one.Host, one.Model}
			sum := used.uses[k]
			sum.Plus(one.Cost)
			used.uses[k] = sum
		}}
		for e, err := range f.Store.EventsOf(ctx, run, 0) {
			if err != nil && !project.IsDamage(err) {
				return f.Store.Failed(err)
			}
			if err == nil {
				sheet.Add(e)
			}
		}
	}
	u.runs[u.key(name, run)] = used
	return nil
}

// A spentOn is what was used of one name: of a loop, a host or a model.
type spentOn struct {
	Name string
	Days map[string]inspect.Cost
	inspect.Cost
}

// A spending is what was used since a time.
type spending struct {
	since  time.Time
	by     string
	names  []spentOn // what cost most comes first
	total  inspect.Cost
	partly bool // not all runs were read yet
}

// spending adds up what runs used, newest first, as far as it gets in its time.
func (s *Server) spending(ctx context.Context, r *http.Request) (*spending, error) {
	out := &spending{by: cmp.Or(r.FormValue("by"), "loop")}
	if !slices.Contains(spentBy, out.by) {
		return nil, engine.Refuse(engine.Usage, "by: expected %s", strings.Join(spentBy, ", "))
	}
	period, err := app.NewPeriod(cmp.Or(strings.TrimSpace(r.FormValue("since")), "30d"), "", "cost")
	if err != nil {
		return nil, err
	}
	out.since = period.Since
	first := period.Since.Local().Format(time.DateOnly)
	sums := map[string]*spentOn{}
	end := time.Now().Add(spendTime)
	s.uses.mu.Lock()
	defer s.uses.mu.Unlock()
	err = s.openAll(ctx, func(p Project, f project.Finder) error {
		if only := r.FormValue("project"); only != "" && only != p.Name {
			return nil
		}
		prices, err := f.Project.Pricer()
		if err != nil {
			return err
		}
		known := map[uint64]map[usage]inspect.Cost{}
		filter := period.Filter()
		filter.Keep = func(run persistence.Run) bool { // those that were read need not be listed
			key := s.uses.key(p.Name, run)
			used, ok := s.uses.runs[key]
			if ok = ok && used.at == run.UpdatedAt.UnixNano(); ok && used.uses != nil {
				known[key] = used.uses
			}
			return !ok
		}
		for more := true; more; {
			runs, err := f.Store.Runs(ctx, persistence.Query{Filter: filter, Limit: spendAtOnce})
			if err != nil {
				return f.Store.Failed(err)
			}
			more = len(runs) == spendAtOnce
			for _, run := range runs {
				if time.Now().After(end) {
					out.partly, more = true, false
					break
				}
				if err := s.uses.read(ctx, f, p.Name, run, prices); err != nil {
					return err
				}
				filter.Keep(run)
			}
		}
		for _, uses := range known {
			for k, c := range uses {
				if k.Day >= first {
					addUse(sums, map[string]string{"loop": k.Loop, "host": k.Host, "model": k.Model}[out.by], k.Day, c)
					out.total.Plus(c)
				}
			}
		}
		return nil
	})
	out.names = slices.SortedFunc(func(yield func(spentOn) bool) {
		for _, sum := range sums {
			if !yield(*sum) {
				return
			}
		}
	}, func(a, b spentOn) int {
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Tokens(), a.Tokens()),
			cmp.Compare(a.Name, b.Name))
	})
	return out, err
}

var spentBy = []string{"loop", "host", "model"}

func addUse(sums map[string]*spentOn, name, day string, c inspect.Cost) {
	sum := sums[name]
	if sum == nil {
		sum = &spentOn{Name: name, Days: map[string]inspect.Cost{}}
		sums[name] = sum
	}
	sum.Plus(c)
	of := sum.Days[day]
	of.Plus(c)
	sum.Days[day] = of
}

// costObject answers with what was used.
func (s *Server) costObject(w http.ResponseWriter, r *http.Request) {
	sp, err := s.spending(r.Context(), r)
	if err != nil {
		s.refuse(w, r, statusOf(err), err.Error())
		return
	}
	amount := func(c inspect.Cost) api.SpentAmount {
		return api.SpentAmount{
			Prompts: c.Prompts, Judges: c.Judges, Input: c.Input, Output: c.Output, CacheRead: c.CacheRead,
			CacheWrite: c.CacheWrite, CostUSD: c.CostUSD,
			Unknown: c.Unknown,
		}
	}
	spent := api.SpentSince{
		Since: sp.since.UTC().Format(time.RFC3339), By: sp.by, Partly: sp.partly,
		Total: amount(sp.total),
	}
	for _, n := range sp.names {
		name := api.SpentName{Name: n.Name, SpentAmount: amount(n.Cost)}
		for _, day := range slices.Sorted(maps.Keys(n.Days)) {
			name.Days = append(name.Days, api.SpentDay{Day: day, SpentAmount: amount(n.Days[day])})
		}
		spent.Names = append(spent.Names, name)
	}
	writeJSON(w, http.StatusOK, spent)
}

// A costPage shows what was used.
type costPage struct {
	By, Periods []tab
	Since       string
	Rows        []costRow
	Total       costRow
	Chart       []costDay
	Most        string // the highest day
	First, Last string
	Partly      bool
	Problem     string
}

type costRow struct {
	Name, Class, Cost, Tokens, Share string
	Asked                            int
}

// A costDay is a bar of the drawing, whose width is 10 and whose height is 100 at most.
type costDay struct {
	Title string
	X     int
	Parts []costPart
}

type costPart struct {
	Class, Y, Height string
}

func (s *Server) costPage(w http.ResponseWriter, r *http.Request) {
	sp, err := s.spending(r.Context(), r)
	page := costPage{Since: cmp.Or(strings.TrimSpace(r.FormValue("since")), "30d")}
	if refusal, is := errors.AsType[*engine.Refusal](err); is && refusal.Kind == engine.Usage {
		page.Problem, sp = err.Error(), &spending{by: "loop", since: time.Now()}
	} else if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	for _, by := range spentBy {
		page.By = append(page.By, tab{
			Label: "by " + by, Address: query("by", by, "since", page.Since),
			Here: by == sp.by,
		})
	}
	for _, since := range []string{"7d", "30d", "90d"} {
		page.Periods = append(page.Periods,
			tab{Label: since, Address: query("by", sp.by, "since", since), Here: since == page.Since})
	}
	row := func(name, class string, c inspect.Cost) costRow {
		one := costRow{
			Name: cmp.Or(name, "not on record"), Class: class, Cost: c.Text(),
			Tokens: c.TokenText(c.Tokens()), Asked: c.Prompts + c.Judges,
		}
		if sp.total.CostUSD > 0 && (c.CostUSD > 0 || c.Unknown == 0) {
			one.Share = fmt.Sprintf("%.0f%%", 100*c.CostUSD/sp.total.CostUSD)
		}
		return one
	}
	for i, n := range sp.names {
		page.Rows = append(page.Rows, row(n.Name, "c"+fmt.Sprint(min(i, mostNames-1)), n.Cost))
	}
	page.Total, page.Partly = row("All", "", sp.total), sp.partly
	page.draw(sp)
	s.render(w, r, "cost", "Cost", page)
}

// draw makes a bar of each day, of at most the newest three months.
func (page *costPage) draw(sp *spending) {
	if sp.total.CostUSD == 0 {
		return
	}
	today := time.Now().Local()
	from := sp.since.Local()
	if oldest := today.AddDate(0, 0, 1-mostBars); from.Before(oldest) {
		from = oldest
	}
	sums, most := map[string]float64{}, 0.0
	for _, n := range sp.names {
		for day, c := range n.Days {
			sums[day] += c.CostUSD
		}
	}
	var days []string
	for d := time.Date(from.Year(), from.Month(), from.Day(), 12, 0, 0, 0,
		time.Local); !d.After(today.Add(12*time.Hour)) && len(days) < mostBars; d = d.AddDate(0, 0, 1) {
		day := d.Format(time.DateOnly)
		if day > today.Format(time.DateOnly) {
			break
		}
		days, most = append(days, day), max(most, sums[day])
	}
	for x, day := range days {
		bar := costDay{Title: day + ": " + humanize.USD(sums[day]), X: 10 * x}
		top := 100.0
		for i, n := range sp.names {
			c := n.Days[day].CostUSD
			if c == 0 || most == 0 {
				continue
			}
			height := 100 * c / most
			top -= height
			bar.Parts = append(bar.Parts, costPart{
				"c" + fmt.Sprint(min(i, mostNames-1)), fmt.Sprintf("%.2f", top),
				fmt.Sprintf("%.2f", height),
			})
		}
		page.Chart = append(page.Chart, bar)
	}
	page.Most, page.First, page.Last = humanize.USD(most), days[0], days[len(days)-1]
}
