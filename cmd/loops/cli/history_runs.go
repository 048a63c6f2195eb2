package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/phrase"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence"
)

// statuses are the words --status knows: those of the records, and one for a record that cannot be read.
var statuses = []string{
	string(persistence.Running), string(persistence.Completed), string(persistence.Failed), string(persistence.Interrupted),
	string(persistence.TimedOut), string(persistence.Awaiting), string(persistence.UserStopped), "unreadable",
}

// check refuses flags that do not go together.
func (o historyOptions) check() error {
	see := "loops history --help"
	for _, s := range o.status {
		if !slices.Contains(statuses, s) {
			near := phrase.DidYouMean(s, statuses)
			return usageError{fmt.Sprintf("--status %q: expected %s%s", s, strings.Join(statuses, ", "), near), see}
		}
	}
	switch {
	case o.group != "" && o.group != "outcome":
		return usageError{fmt.Sprintf("--group-by %q: expected outcome", o.group), see}
	case o.run == "" && (o.event != "" || o.state != ""):
		return usageError{"--event and --state select events: name the run too", see}
	case o.run != "" && (len(o.status) > 0 || o.group != "" || o.cost):
		return usageError{"--status, --group-by and --cost are about runs: leave out the run, or see: loops cost RUN", see}
	}
	return nil
}

func historyRuns(ctx context.Context, a *app, f project.Finder, o historyOptions, when lookup.Period) error {
	limit := o.tail
	switch {
	case limit < 0 && o.group != "":
		limit = 0
	case limit < 0:
		limit = tailRuns
	}
	var problem error
	seen := map[persistence.ID]bool{} // whether a run has the text: it is read once
	keep := func(r persistence.Run) bool {
		if problem != nil || !when.Holds(r) || len(o.status) > 0 && !slices.Contains(o.status, inspect.StatusWord(r)) {
			return false
		}
		if o.text == "" {
			return true
		}
		if _, known := seen[r.ID]; !known {
			seen[r.ID], problem = a.runSays(ctx, f, r, o.text)
		}
		return seen[r.ID]
	}
	runs, err := lookup.RunsOf(ctx, f, o.name, limit, keep)
	if err == nil {
		err = problem
	}
	if err != nil {
		return err
	}
	t := runTable{a: a, costs: map[persistence.ID]*inspect.Cost{}}
	if o.cost {
		if err := t.addCosts(ctx, f, runs); err != nil {
			return err
		}
	}
	switch {
	case o.group != "" && o.json:
		return a.reply(ui.List(views.Groups(runs), t.groupObject))
	case o.json:
		return a.reply(ui.List(runs, t.runObject))
	case len(runs) == 0:
		what := "recorded"
		if len(o.status) > 0 || o.since+o.until+o.text != "" {
			what = "such"
		}
		ui.Say(a.out, "No %s runs of %s.\n", what, o.name)
		return nil
	case o.group != "":
		return t.printGroups(views.Groups(runs))
	}
	if err := t.print(runs); err != nil {
		return err
	}
	if limit > 0 && len(runs) == limit {
		ui.Say(a.out, "The newest %d; all of them: loops history %s -n 0\n", limit, quote(o.name))
	}
	return nil
}

// runSays says whether a text is in an event of a run.
func (a *app) runSays(ctx context.Context, f project.Finder, r persistence.Run, what string) (bool, error) {
	for e, err := range f.Store.Events(ctx, r.ID, 0) {
		switch {
		case project.IsDamage(err):
			ui.Say(a.Err, "loops: %v; reading goes on behind it\n", err)
		case err != nil:
			return false, f.Store.Failed(err)
		case views.Mentions(e, what):
			return true, nil
		}
	}
	return false, nil
}

// A runTable prints runs.
type runTable struct {
	a     *app
	costs map[persistence.ID]*inspect.Cost // of each run, where they were asked for
}

func (t runTable) addCosts(ctx context.Context, f project.Finder, runs []persistence.Run) error {
	known, err := f.Project.Pricer()
	if err != nil {
		return err
	}
	for _, r := range runs {
		sheet, err := lookup.CostSheet(ctx, f, r, known, t.a.damaged)
		if err != nil {
			return err
		}
		t.costs[r.ID] = &sheet.Total
	}
	return nil
}

func (t runTable) print(runs []persistence.Run) error {
	w := tabwriter.NewWriter(t.a.out, 0, 4, 2, ' ', 0)
	head, cost := "", ""
	if len(t.costs) > 0 {
		head = "COST\t"
	}
	ui.Say(w, "RUN\tSTATUS\tSTARTED\tSTEPS\tTIME\t%sENDED BY\tINSTANCE\n", head)
	for _, r := range runs {
		if head != "" {
			cost = t.costs[r.ID].Text() + "\t"
		}
		ui.Say(w, "%s\t%s\t%s\t%d\t%s\t%s%s\t%s\n", r.RunID, inspect.StatusWord(r), phrase.Clock(r.StartedAt), r.Step, phrase.Duration(inspect.Elapsed(r)), cost, phrase.Dash(r.Ended), ui.Instance(r))
	}
	return w.Flush()
}

func (t runTable) runObject(r persistence.Run) any {
	m := value.NewMap(
		"run_id", r.RunID, "instance_id", string(r.ID), "loop", r.Loop, "status", ui.OrNull(string(r.Status)), "started_at", ui.Stamp(r.StartedAt),
		"iterations", int64(r.Step), "duration_ms", inspect.Elapsed(r).Milliseconds(), "terminated_by", ui.OrNull(r.Ended), "error", ui.OrNull(inspect.HonestError(r)),
		"current_state", r.State,
	)
	ui.AddOrigin(m, r)
	views.AddTree(m, r)
	if l := t.costs[r.ID]; l != nil {
		views.AddCost(m, l)
	}
	return m
}

func (t runTable) cost(g views.Group) *inspect.Cost {
	if len(t.costs) == 0 {
		return nil
	}
	sum := &inspect.Cost{}
	for _, r := range g.Runs {
		sum.Plus(*t.costs[r.ID])
	}
	return sum
}

func (t runTable) printGroups(all []views.Group) error {
	w := tabwriter.NewWriter(t.a.out, 0, 4, 2, ' ', 0)
	head := ""
	if len(t.costs) > 0 {
		head = "COST\t"
	}
	ui.Say(w, "OUTCOME\tRUNS\tSHARE\tP50\tP95\tLONGEST\t%sNEWEST\n", head)
	for _, g := range all {
		p50, p95, longest := g.Times()
		cost := ""
		if sum := t.cost(g); sum != nil {
			cost = sum.Text() + "\t"
		}
		ui.Say(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s%s\n", g.Outcome, len(g.Runs), views.SharePercent(len(g.Runs), g.All), phrase.Duration(p50), phrase.Duration(p95), phrase.Duration(longest), cost, g.Runs[0].ID)
	}
	return w.Flush()
}

func (t runTable) groupObject(g views.Group) any {
	p50, p95, longest := g.Times()
	m := value.NewMap("outcome", g.Outcome, "runs", int64(len(g.Runs)), "p50_ms", p50.Milliseconds(), "p95_ms", p95.Milliseconds(),
		"longest_ms", longest.Milliseconds(), "newest", string(g.Runs[0].ID))
	if sum := t.cost(g); sum != nil {
		views.AddCost(m, sum)
	}
	return m
}
