package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/loopfile"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

const (
	pageRuns = 50
	lookTime = 2 * time.Second // after which no more are looked through for one page
)

// An asked is what runs are asked for.
type asked struct {
	Status, Loop, Text, Project, Label, Since, Until string

	Waits bool // for a person
	// of each project, how many of the newest runs that are asked for are left out; none for those after the
	// end
	Skip []int
}

func askedRuns(r *http.Request) asked {
	var skip []int
	if given := r.FormValue("skip"); given != "" {
		for text := range strings.SplitSeq(given, ",") {
			n, _ := strconv.Atoi(text)
			skip = append(skip, max(n, 0))
		}
	}
	word := func(name string) string { return strings.TrimSpace(r.FormValue(name)) }
	return asked{
		Status: word("status"), Loop: word("loop"), Text: word("q"), Project: word("project"), Label: word("label"),
		Since: word("since"), Until: word("until"),
		Waits: word("waits") == "person" || word("waits") == "1", Skip: skip,
	}
}

func (a asked) pairs() [][2]string {
	waits := ""
	if a.Waits {
		waits = "person"
	}
	return [][2]string{
		{"status", a.Status},
		{"loop", a.Loop},
		{"q", a.Text},
		{"project", a.Project},
		{"label", a.Label},
		{"since", a.Since},
		{"until", a.Until},
		{"waits", waits},
	}
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

// filter returns what selects the runs of a project that are asked for. loops are those with the label, asks
// those that ask a person.
func (a asked) filter(ctx context.Context, in project.Finder, period app.Period,
	loops, asks map[string]bool,
) persistence.Filter {
	f := period.Filter()
	if a.Status != "" {
		f.Statuses, f.Ends = inspect.RecordedAs(a.Status)
		f.Statuses = append(f.Statuses, "none") // also of a word that no run has
	}
	if a.Label != "" {
		f.Loops = append(slices.Collect(maps.Keys(loops)), "")
	}
	text := strings.ToLower(a.Text)
	if !slices.ContainsFunc(inspect.Words(), func(word string) bool { return strings.Contains(word, text) }) {
		f.Text = a.Text
	}
	if a.Status == "" && !a.Waits && (text == "" || f.Text != "") {
		return f
	}
	f.Keep = func(r persistence.Run) bool {
		r = project.AsNow(r)
		outcome := inspect.Outcome(r)
		if a.Status == inspect.Paused {
			outcome = inspect.OutcomeNow(r, app.WaitNow(ctx, in, r))
		}
		return (a.Status == "" || a.Status == inspect.StatusWord(r) || a.Status == outcome) &&
			(!a.Waits || asks[string(r.ID)]) &&
			(text == "" || f.Text != "" || strings.Contains(outcome, text) ||
				(&persistence.Filter{Text: text}).Matches(r))
	}
	return f
}

// A row is a run in a table.
type row struct {
	Project, ID, Loop, Status, State, Where, Step, Reason, Progress, Took, Cost, Owner string
	Started                                                                            time.Time
	Alive, Waits                                                                       bool
	run                                                                                persistence.Run
}

// Asks reports whether the run asks a person now, and not only once it is resumed.
func (r row) Asks() bool { return r.Waits && (r.Alive || r.run.Status == persistence.Awaiting) }

type foundRuns struct {
	rows    []row
	next    string // what the next page skips; "" = this is the last
	partly  bool   // looking took too long: there may be more on this page
	waiting int    // runs that ask a person
	alarms  []raised
}

// A candidate is a run that may come on a page.
type candidate struct {
	row
	project int // its place among the projects
	at      int // how many runs of that are newer
}

// find returns one page of the runs of all projects, newest first.
func (s *Server) find(ctx context.Context, a asked) (found foundRuns, err error) {
	period, err := app.NewPeriod(a.Since, a.Until, "list")
	if err != nil {
		return found, err
	}
	a.Skip = append(a.Skip, make([]int, len(s.Projects))...)[:len(s.Projects)]
	next := make([]int, len(s.Projects)) // of each project, the first run that was not looked at
	var all []candidate
	end, n := time.Now().Add(lookTime), -1
	late := func() bool { return time.Now().After(end) }
	err = s.openAll(ctx, func(p Project, f project.Finder) error {
		n++
		next[n] = a.Skip[n]
		if a.Project != "" && p.Name != a.Project {
			return nil
		}
		asks := asking(ctx, f)
		found.waiting += len(asks)
		found.alarms = append(found.alarms, raisedIn(ctx, p, f)...)
		var labelledLoops map[string]bool
		if a.Label != "" {
			labelledLoops = labelled(f, a.Label)
		}
		runs, err := f.Store.Runs(ctx, persistence.Query{
			Loop: a.Loop, Limit: pageRuns + 1, Skip: next[n],
			Filter: a.filter(ctx, f, period, labelledLoops, asks), Enough: late,
		})
		if err != nil {
			return f.Store.Failed(err)
		}
		found.partly = found.partly || len(runs) <= pageRuns && late()
		next[n] += len(runs)
		for i, r := range project.Current(runs) {
			c := candidate{rowOf(p, r), n, a.Skip[n] + i}
			if c.Waits = asks[string(r.ID)]; i < pageRuns {
				s.fillRow(ctx, f, &c.row)
			}
			all = append(all, c)
		}
		return nil
	})
	more := found.partly
	slices.SortStableFunc(all, func(a, b candidate) int { // as a store sorts the runs of one project
		return cmp.Or(cmp.Compare(b.run.RunID, a.run.RunID), b.Started.Compare(a.Started))
	})
	for i, c := range all {
		if i < pageRuns {
			found.rows = append(found.rows, c.row)
			continue
		}
		next[c.project], more = min(next[c.project], c.at), true
	}
	if more {
		texts := make([]string, len(next))
		for i, n := range next {
			texts[i] = strconv.Itoa(n)
		}
		found.next = strings.Join(texts, ",")
	}
	return found, err
}

// asking are the runs that ask a person. Where that cannot be read none are.
func asking(ctx context.Context, f project.Finder) map[string]bool {
	open, _ := app.OpenQuestions(ctx, f.Store, "")
	all := map[string]bool{}
	for _, q := range open {
		all[string(q.Run.ID)] = true
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

// fillRow adds what is read of each run by itself: where it is, how far it has come, and what it cost.
func (s *Server) fillRow(ctx context.Context, f project.Finder, row *row) {
	row.Cost = s.spent.of(ctx, f, row.Project, row.run)
	if !row.Alive {
		return
	}
	v := engine.Glimpse(ctx, f, row.run)
	app.Remember(ctx, f, v)
	if where := v.WhereText(); where != "" {
		row.Where = where
	}
	if i := v.Items(); i != nil {
		row.Progress = fmt.Sprintf("%d of %s", i.Done, humanize.Count(i.Items, "item"))
	}
	row.Progress = cmp.Or(row.Progress, v.BranchesText())
	row.Status, row.Reason = v.StatusText(), cmp.Or(row.Reason, inspect.ReasonNow(row.run, v.Wait))
	if row.Took = humanize.Duration(v.Elapsed()); row.run.Owner.PID != 0 {
		row.Owner = row.run.Owner.String()
	}
}

const mostSpent = 20_000

// spent remembers what runs cost, which changes only with their record. The zero value is ready, for several
// goroutines at once.
type spent struct {
	mu  sync.Mutex
	all map[string]costOf // guarded by mu; by project and run
}

type costOf struct {
	at    time.Time // of the record that was read
	spent inspect.Cost
}

// of is the cost of a run for people, "" where it asked no agent.
func (c *spent) of(ctx context.Context, f project.Finder, name string, run persistence.Run) string {
	return c.read(ctx, f, name, run).Text()
}

// Text is the cost of a run for people, "" where it asked no agent.
func (cost costOf) Text() string {
	if !cost.spent.Asked() {
		return ""
	}
	return cost.spent.Text()
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
		cost.spent = inspect.SpentCost(m, project.Alive(run))
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
		switch {
		case r.Message == "" || r.Status != persistence.Completed:
		case r.Unmerged():
			reason = inspect.Reason(r) + "; " + reason
		case r.Ignored != "":
			reason = "completed, " + r.Ignored + "; " + reason
		}
	}
	if len(r.Damage) > 0 {
		reason = strings.TrimPrefix(reason+"; damaged: "+r.Damage[0], "; ")
	}
	return row{
		Project: p.Name, ID: string(r.ID), Loop: r.Loop, Status: inspect.Outcome(r), State: r.State, Where: r.State,
		Step:   inspect.StepText(r),
		Reason: reason, Took: humanize.Duration(inspect.Elapsed(r)), Started: r.StartedAt, Alive: project.Alive(r),
		run: r,
	}
}
