package view

import (
	"loops/engine/notify"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// PrintNotified shows what became of notifications that were tried out, and reports whether one failed.
func PrintNotified(page *Page, chosen []int, results []*notify.Result, asJSON bool) (failed bool, err error) {
	values := terminal.List(chosen, func(i int) any {
		r := results[i]
		failed = failed || r.Err != nil
		if !asJSON {
			what := "delivered"
			if r.Err != nil {
				what = "not delivered: " + r.Err.Error()
			}
			terminal.Say(page.Out, "%d. %s: %s (%s, %s)\n", i+1, r.Target, what, humanize.Count(r.Attempts, "attempt"), humanize.Duration(r.Took))
		}
		return value.NewMap("number", int64(i+1), "target", r.Target, "event", r.Event.Kind, "delivered", r.Err == nil,
			"attempts", int64(r.Attempts), "duration_ms", r.Took.Milliseconds(), "error", notify.ErrorText(r.Err))
	})
	if asJSON {
		if err := terminal.WriteJSON(page.Out, values); err != nil {
			return failed, err
		}
	}
	return failed, nil
}
