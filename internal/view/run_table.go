package view

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"text/tabwriter"

	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// A RunTable prints runs.
type RunTable struct {
	Page  *Page
	Costs map[persistence.ID]*inspect.Cost // of each run, where they were asked for
	Waits map[persistence.ID]*fsm.Wait     // what live runs wait for
}

// Run returns a run of the table.
func (t RunTable) Run(r persistence.Run) api.Run {
	return api.Run{
		RunID: r.RunID, Instance: string(r.ID), Loop: r.Loop, Status: api.Text(r.Status),
		Started: api.Stamp(r.StartedAt), Iterations: r.Step, Iteration: r.Step,
		Duration: inspect.Elapsed(r).Milliseconds(), TerminatedBy: api.Text(r.Ended),
		Error: api.Text(inspect.HonestError(r)), State: r.State,
		Outcome: inspect.OutcomeNow(r, t.Waits[r.ID]), Ending: EndingOf(r), Damage: r.Damage, RunOrigin: OriginOf(r),
		Worktree:  runTree(r),
		AskedCost: askedCost(t.Costs[r.ID]),
	}
}

func (t RunTable) cost(g Group) *inspect.Cost {
	if len(t.Costs) == 0 {
		return nil
	}
	sum := &inspect.Cost{}
	for _, r := range g.Runs {
		sum.Plus(*t.Costs[r.ID])
	}
	return sum
}

// PrintGroups writes a line for each way in which runs ended.
func (t RunTable) PrintGroups(all []Group) error {
	w := tabwriter.NewWriter(t.Page.Out, 0, 4, 2, ' ', 0)
	head := ""
	if len(t.Costs) > 0 {
		head = "COST\t"
	}
	terminal.Say(w, "OUTCOME\tRUNS\tSHARE\tP50\tP95\tLONGEST\t%sNEWEST\n", head)
	for _, g := range all {
		p50, p95, longest := g.Times()
		cost := ""
		if sum := t.cost(g); sum != nil {
			cost = sum.Text() + "\t"
		}
		terminal.Say(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s%s\n", g.Outcome, len(g.Runs), SharePercent(len(g.Runs), g.All),
			humanize.Duration(p50), humanize.Duration(p95), humanize.Duration(longest), cost, g.Runs[0].ID)
	}
	return w.Flush()
}

// Group returns a line of [RunTable.PrintGroups].
func (t RunTable) Group(g Group) api.OutcomeGroup {
	p50, p95, longest := g.Times()
	return api.OutcomeGroup{
		Outcome: g.Outcome, Runs: len(g.Runs), P50: p50.Milliseconds(), P95: p95.Milliseconds(),
		Longest: longest.Milliseconds(), Newest: string(g.Runs[0].ID),
		AskedCost: askedCost(t.cost(g)),
	}
}

// Print writes a line for each run, and returns how many there are; nothing where there is none. On a terminal a reason
// is cut so that its line fits.
func (t RunTable) Print(runs iter.Seq2[persistence.Run, error]) (n int, err error) {
	w := tabwriter.NewWriter(t.Page.Out, 0, 4, 2, ' ', 0)
	head, between := "", runColumns
	if len(t.Costs) > 0 {
		head, between = "COST\t", runColumns+costColumn
	}
	var rows [][]string // a run is large, and there may be twenty thousand
	ids := len("RUN")
	for r, err := range runs {
		if err != nil {
			return 0, err
		}
		ids = max(ids, humanize.Width(string(r.ID)))
		notes := append(terminal.InProject(r), terminal.DamageNote(r)...)
		if o := r.Origin; o != nil {
			notes = append(notes, fmt.Sprintf("fork of %s:%d", o.ID, o.Step))
		}
		if reason := inspect.ReasonNow(r, t.Waits[r.ID]); reason != "" {
			notes = append(notes, reason)
		}
		row := []string{
			strings.Clone(string(r.ID)), inspect.OutcomeNow(r, t.Waits[r.ID]),
			humanize.Clock(r.StartedAt), strconv.Itoa(r.Step), humanize.Duration(inspect.Elapsed(r)),
		}
		if head != "" {
			row = append(row, t.Costs[r.ID].Text())
		}
		rows = append(rows, append(row, strings.Clone(strings.Join(notes, "; "))))
	}
	if len(rows) == 0 {
		return 0, nil
	}
	terminal.Say(w, "RUN\tOUTCOME\tSTARTED\tSTEPS\tTIME\t%sREASON\n", head)
	for _, row := range rows {
		reason := &row[len(row)-1]
		if room := t.Page.Columns - ids - between; t.Page.Columns > 0 {
			*reason = humanize.Cut(*reason, max(leastReason, room))
		}
		*reason = humanize.Dash(*reason)
		terminal.SayRow(w, row...)
	}
	return len(rows), w.Flush()
}

// What the columns between the id of a run and its reason take at most, and the least that is shown of a reason.
const (
	runColumns  = 56
	costColumn  = 12
	leastReason = 30
)
