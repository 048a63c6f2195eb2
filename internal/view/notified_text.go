package view

import (
	"loops/engine/notify"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// PrintNotified shows the result of notifications that were tried out, and reports whether one failed.
func PrintNotified(page *Page, chosen []int, results []*notify.Result, asJSON bool) (failed bool, err error) {
	values := each(chosen, func(i int) api.Notified {
		r := results[i]
		failed = failed || r.Err != nil
		if !asJSON {
			what := "delivered"
			if r.Err != nil {
				what = "not delivered: " + r.Err.Error()
			}
			terminal.Say(page.Out, "%d. %s: %s (%s, %s)\n", i+1, r.Target, what,
				humanize.Count(r.Attempts, "attempt"), humanize.Duration(r.Took))
		}
		o := api.Notified{
			Number: i + 1, Target: r.Target, Event: r.Event.Kind, Delivered: r.Err == nil,
			Attempts: r.Attempts, Duration: r.Took.Milliseconds(),
		}
		if r.Err != nil {
			o.Error = api.Text(r.Err.Error())
		}
		return o
	})
	if asJSON {
		if err := terminal.WriteJSON(page.Out, values); err != nil {
			return failed, err
		}
	}
	return failed, nil
}
