package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"loops/engine/project"
	"loops/fsm/loopfile"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/persistence"
)

const (
	pageRuns   = 50
	mostLooked = 100_000 // runs that a filter looks through
)

// An asked is what runs are asked for.
type asked struct {
	Status, Loop, Text, Project, Label, Since, Until string

	Waits bool // for a person
	Page  int  // from 0
}

func askedRuns(r *http.Request) asked {
	page, _ := strconv.Atoi(r.FormValue("page"))
	word := func(name string) string { return strings.TrimSpace(r.FormValue(name)) }
	return asked{
		Status: word("status"), Loop: word("loop"), Text: word("q"), Project: word("project"), Label: word("label"), Since: word("since"), Until: word("until"),
		Waits: word("waits") == "person", Page: min(max(page, 0), mostLooked/pageRuns),
	}
}

func (a asked) pairs() [][2]string {
	waits := ""
	if a.Waits {
		waits = "person"
	}
	return [][2]string{{"status", a.Status}, {"loop", a.Loop}, {"q", a.Text}, {"project", a.Project}, {"label", a.Label}, {"since", a.Since}, {"until", a.Until}, {"waits", waits}}
}

// Link is the address of the page with one value changed.
func (a asked) Link(key, val string) string {
	q := url.Values{}
	for _, f := range append(a.pairs(), [2]string{key, val}) {
		if q.Del(f[0]); f[1] != "" {
			q.Set(f[0], f[1])
		}
	}
	return "?" + q.Encode()
}

// Chosen reports whether anything is asked for.
func (a asked) Chosen() bool {
	return slices.ContainsFunc(a.pairs(), func(f [2]string) bool { return f[1] != "" })
}

// A sieve keeps the runs that are asked for.
type sieve struct {
	asked
	period lookup.Period
	loops  map[string]bool // that have the label
	asks   map[persistence.ID]bool
}

func (a *sieve) keeps(r persistence.Run) bool {
	switch {
	case a.Status != "" && a.Status != inspect.StatusWord(r) && a.Status != inspect.Outcome(r), a.Loop != "" && r.Loop != a.Loop,
		a.Label != "" && !a.loops[r.Loop], a.Waits && !a.asks[r.ID], (a.Since != "" || a.Until != "") && !a.period.Holds(r):
		return false
	}
	text := strings.ToLower(a.Text)
	return text == "" || slices.ContainsFunc([]string{string(r.ID), r.Loop, r.State, r.Message, r.Error, r.Reason, r.Why, inspect.Outcome(r)}, func(s string) bool {
		return strings.Contains(strings.ToLower(s), text)
	})
}

// filters reports whether anything is asked for but a page and a loop, which a store finds by itself.
func (a asked) filters() bool {
	a.Loop, a.Project = "", ""
	return a.Chosen()
}

// A row is a run in a table.
type row struct {
	Project, ID, Loop, Status, State, Where, Step, Reason, Progress, Took, Cost, Owner string
	Started                                                                            time.Time
	Alive, Waits                                                                       bool
	run                                                                                persistence.Run
}

type foundRuns struct {
	rows    []row
	more    bool
	waiting int // runs that ask a person
}

// find returns one page of the runs of all projects, newest first.
func (s *Server) find(ctx context.Context, a asked) (found foundRuns, err error) {
	period, err := lookup.NewPeriod(a.Since, a.Until, "list")
	if err != nil {
		return found, err
	}
	until := (a.Page+1)*pageRuns + 1
	err = s.openAll(ctx, func(p Project, f project.Finder) error {
		if a.Project != "" && p.Name != a.Project {
			return nil
		}
		keep := sieve{asked: a, period: period, asks: asking(ctx, f)}
		found.waiting += len(keep.asks)
		if a.Label != "" {
			keep.loops = labelled(f, a.Label)
		}
		q := persistence.Query{Loop: a.Loop, Limit: until}
		if a.filters() {
			q.Limit = mostLooked
		}
		runs, err := f.Store.Runs(ctx, q)
		if err != nil {
			return f.Store.Failed(err)
		}
		n := 0
		for _, r := range project.Current(runs) {
			if n == until {
				break
			}
			if !keep.keeps(r) {
				continue
			}
			row := rowOf(p, r)
			row.Waits = keep.asks[r.ID]
			if len(s.Projects) > 1 || n >= a.Page*pageRuns {
				s.fillRow(ctx, f, &row)
			}
			found.rows, n = append(found.rows, row), n+1
		}
		return nil
	})
	slices.SortStableFunc(found.rows, func(a, b row) int { return b.Started.Compare(a.Started) })
	found.more = len(found.rows) >= until
	found.rows = found.rows[min(a.Page*pageRuns, len(found.rows)):min((a.Page+1)*pageRuns, len(found.rows))]
	return found, err
}

// asking are the runs that ask a person. Where that cannot be read none are.
func asking(ctx context.Context, f project.Finder) map[persistence.ID]bool {
	open, _ := lookup.Asked(ctx, f.Store, "")
	all := map[persistence.ID]bool{}
	for _, q := range open {
		all[q.Run.ID] = true
	}
	return all
}

// labelled are the loops with a label, by the names of their runs.
func labelled(f project.Finder, label string) map[string]bool {
	all := map[string]bool{}
	entries, _ := loopfile.List(f.Project.Loops) // a folder that cannot be read has no loops with labels
	for _, e := range entries {
		if slices.ContainsFunc(e.Labels, func(l string) bool { return strings.EqualFold(l, label) }) {
			all[e.Loop] = true
		}
	}
	return all
}

// fillRow adds what is read of each run by itself: where it stands, how far it has come, and what it cost.
func (s *Server) fillRow(ctx context.Context, f project.Finder, row *row) {
	row.Cost = s.spent.of(ctx, f, row.Project, row.run)
	if !row.Alive {
		return
	}
	v := lookup.Glimpse(ctx, f, row.run)
	lookup.Remember(ctx, f, v)
	if where := v.WhereText(); where != "" {
		row.Where = where
	}
	if i := v.Items(); i != nil {
		row.Progress = fmt.Sprintf("%d of %s", i.Done, humanize.Count(i.Items, "item"))
	}
	row.Progress = cmp.Or(row.Progress, v.BranchesText())
	if v.Wait != nil {
		row.Reason = cmp.Or(row.Reason, "waits: "+inspect.WaitText(v.Wait))
	}
	if row.Took = humanize.Duration(v.Elapsed()); row.run.Owner.PID != 0 {
		row.Owner = row.run.Owner.String()
	}
}

const mostSpent = 20_000

// spent remembers what runs cost, which changes only with their record. The zero value is ready, for several goroutines at once.
type spent struct {
	mu  sync.Mutex
	all map[string]costOf // guarded by mu; by project and run
}

type costOf struct {
	at    time.Time // of the record that was read
	usd   float64
	known bool // every cost in it is
	asked bool // it prompted at all
}

// of is the cost of a run for people, "" where it asked no agent.
func (c *spent) of(ctx context.Context, f project.Finder, name string, run persistence.Run) string {
	cost := c.read(ctx, f, name, run)
	switch {
	case !cost.asked:
		return ""
	case !cost.known:
		return "> " + humanize.USD(cost.usd)
	}
	return humanize.USD(cost.usd)
}

func (c *spent) read(ctx context.Context, f project.Finder, name string, run persistence.Run) costOf {
	key := name + "/" + string(run.ID)
	c.mu.Lock()
	known, ok := c.all[key]
	c.mu.Unlock()
	if ok && known.at.Equal(run.UpdatedAt) {
		return known
	}
	cost := costOf{at: run.UpdatedAt}
	if m, err := f.Store.MemoryOf(ctx, run); err == nil && m != nil {
		cost.usd, cost.known, cost.asked = m.Spent.CostUSD, m.Spent.Unpriced == 0, m.Spent.Prompts > 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) >= mostSpent || c.all == nil {
		c.all = map[string]costOf{}
	}
	c.all[key] = cost
	return cost
}

func rowOf(p Project, r persistence.Run) row {
	reason := r.Message
	if !project.Alive(r) {
		reason = cmp.Or(reason, inspect.Reason(r), inspect.Outcome(r))
	}
	return row{
		Project: p.Name, ID: string(r.ID), Loop: r.Loop, Status: inspect.Outcome(r), State: r.State, Where: r.State, Step: inspect.StepText(r),
		Reason: reason, Took: humanize.Duration(inspect.Elapsed(r)), Started: r.StartedAt, Alive: project.Alive(r),
		run: r,
	}
}
