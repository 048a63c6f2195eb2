package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"loops/engine/project"
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
	t := views.RunTable{Page: a.page(), Costs: map[persistence.ID]*inspect.Cost{}}
	if o.cost {
		if err := t.AddCosts(ctx, f, runs, a.damaged); err != nil {
			return err
		}
	}
	switch {
	case o.group != "" && o.json:
		return a.reply(ui.List(views.Groups(runs), t.GroupObject))
	case o.json:
		return a.reply(ui.List(runs, t.RunObject))
	case len(runs) == 0:
		what := "recorded"
		if len(o.status) > 0 || o.since+o.until+o.text != "" {
			what = "such"
		}
		ui.Say(a.out, "No %s runs of %s.\n", what, o.name)
		return nil
	case o.group != "":
		return t.PrintGroups(views.Groups(runs))
	}
	if err := t.Print(runs); err != nil {
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
