package cli

import (
	"context"

	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence"
)

func runListRunning(ctx context.Context, a *app, o listOptions) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	var runs []persistence.Run
	if !o.runs.Failed.IsZero() {
		runs, err = views.FailedSince(ctx, store, o.runs.Failed)
	} else {
		runs, err = lookup.OpenNow(ctx, store)
	}
	if err != nil {
		return err
	}
	var looked, chosen []*inspect.Vitals
	for _, r := range runs {
		v := lookup.Glimpse(ctx, f, r)
		looked = append(looked, v)
		if o.runs.Keeps(v) {
			if o.json {
				lookup.Remember(ctx, f, v)
			}
			chosen = append(chosen, v)
		}
	}
	var waiting []persistence.Waiter
	if o.runs.Queued() {
		if waiting, err = lookup.InQueue(p); err != nil {
			return err
		}
	}
	if o.json {
		objects := ui.List(chosen, func(v *inspect.Vitals) any { return views.ListedObject(p, store, v) })
		for _, w := range waiting {
			objects = append(objects, views.WaiterStatus(p, w))
		}
		return joined([]error{a.reply(objects), lookup.UnreadRuns(looked)})
	}
	if len(chosen)+len(waiting) == 0 {
		ui.SayLine(a.out, o.runs.None())
		return lookup.UnreadRuns(looked)
	}
	var lines []views.RunLine
	for _, v := range chosen {
		lines = append(lines, views.LineOf(v))
	}
	for _, w := range waiting {
		lines = append(lines, views.LineOfWaiter(p, w))
	}
	views.WriteRuns(a.out, lines, a.width())
	return lookup.UnreadRuns(looked)
}
