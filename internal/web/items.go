package web

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
)

// An itemTable has the items of a list, in their order.
type itemTable struct {
	Rows    []itemRow
	Filters []tab
	More    int // items that are left out
	Again   *itemsAgain

	all map[int64]*itemRow
}

// An itemsAgain does the failed items of a list again; nil = it cannot be done, or none failed.
type itemsAgain struct{ To, At, Command string }

// An itemRow is one item. Output is its first line, and All the rest of it, if there is more.
type itemRow struct {
	Number                                      int64
	Key, State, Class, Took, Output, All, Error string
	failed                                      bool
}

// mostItems is how many items a page shows.
const mostItems = 500

// take takes an event of an item.
func (t *itemTable) take(e fsm.Event) {
	if t.all == nil {
		t.all = map[int64]*itemRow{}
	}
	row := &itemRow{
		Number: inspect.Whole(e.Get("item")), Key: inspect.Text(e.Get("key")), State: "running",
		Class: "now",
	}
	if t.all[row.Number] = row; e.Kind == fsm.EventItemStart {
		return
	}
	row.State, _ = e.Get("verdict").(string)
	if row.Class = classOf(row.State, true); row.State != "yes" {
		row.Class, row.failed = "bad", true
	}
	if ms := inspect.Whole(e.Get("duration_ms")); ms > 0 {
		row.Took = humanize.Duration(time.Duration(ms) * time.Millisecond)
	}
	output, _ := e.Get("output").(string)
	if row.Output = firstOf(output); strings.Contains(strings.TrimSpace(output), "\n") {
		row.All = cut(humanize.Uncoloured(output))
	}
	if row.failed {
		row.Error = itemError(e)
	}
	if e.Kind == fsm.EventItemTaken {
		row.State += ", taken over"
	}
}

// itemError explains why an item failed.
func itemError(e fsm.Event) string {
	text := inspect.Text(e.Get("error"))
	switch state, _ := e.Get("final_state").(string); {
	case text != "":
		return text
	case inspect.Text(e.Get("timeout_kind")) != "":
		text = "timed out"
	case e.Get("exit_code") != nil:
		text = "exit " + inspect.Text(e.Get("exit_code"))
	case state != "":
		text = "its loop ended in " + state
	}
	errors, _ := e.Get("stderr_preview").(string)
	if said := strings.TrimSpace(humanize.Uncoloured(errors)); said != "" {
		return strings.TrimPrefix(text+": "+humanize.LastLines(said, 3), ": ")
	}
	return text
}

// show selects the rows: all, or those that failed. Of a run that does not run, nothing is running.
func (t *itemTable) show(address func(items string) string, only string, alive bool) (failed int) {
	for _, row := range t.all {
		if row.Class == "now" && !alive {
			row.State, row.Class = "cut short", "no"
		}
		if row.failed {
			failed++
		}
		if only != "failed" || row.failed {
			t.Rows = append(t.Rows, *row)
		}
	}
	slices.SortFunc(t.Rows, func(a, b itemRow) int { return cmp.Compare(a.Number, b.Number) })
	if t.More = len(t.Rows) - mostItems; t.More > 0 {
		t.Rows = t.Rows[:mostItems]
	}
	t.Filters = []tab{
		{Label: "all", Count: len(t.all), Address: address(""), Here: only != "failed"},
		{Label: "failed", Count: failed, Address: address("failed"), Here: only == "failed"},
	}
	return failed
}

// firstOf is the first line of what was printed, without colours, as a table has room for.
func firstOf(text string) string {
	return humanize.Cut(humanize.FirstLine(humanize.Uncoloured(text)), mostSaid)
}

// mostSaid is how many columns of the first line of output are kept of a step.
const mostSaid = 80

// listen keeps the first line of output of a step, of its standard error where it has no output, and, of a
// list, how far it has come.
func (c *chronicle) listen(e fsm.Event, v *inspect.Visit) {
	if v == nil || v.Index < 0 || e.Depth != v.Depth() || inspect.InsideBranch(e) != "" {
		return
	}
	text := ""
	switch e.Kind {
	case fsm.EventActionOutput:
		text = inspect.Text(e.Get("line"))
	case fsm.EventActionComplete:
		if text, _ = e.Get("output_preview").(string); strings.TrimSpace(text) == "" {
			text, _ = e.Get("stderr_preview").(string)
		}
	case fsm.EventItemsStart, fsm.EventItemEnd, fsm.EventItemTaken:
		said := strconv.FormatInt(inspect.Whole(e.Get("done")), 10) + " of " +
			humanize.Count(int(inspect.Whole(e.Get("items"))), "item")
		if n := inspect.Whole(e.Get("failed")); n > 0 {
			said += fmt.Sprintf(", %d failed", n)
		}
		c.said[v.Index] = c.word(said)
		return
	}
	if text != "" && c.said[v.Index] == "" && (v.Index >= len(c.steps) || c.steps[v.Index].said == "") {
		c.said[v.Index] = c.word(firstOf(text))
	}
}
