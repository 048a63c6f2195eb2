package telemetry

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"loops/fsm"
	"loops/internal/inspect"
	"loops/persistence"
)

// A counts has the metrics of one run since its first event, whichever processes carried it: so each of them
// sends sums with the same beginning, and one that is sent twice counts once.
type counts struct {
	run   persistence.ID
	meter Meter
	tally *tally
	from  time.Time // of the first event
}

// counts returns the metrics of a run, none of whose events is counted; nil where metrics are not sent.
func (x *Exporter) counts(run persistence.Run) *counts {
	if x.s.Metrics.URL == "" {
		return nil
	}
	prices, err := x.p.Pricer()
	if err != nil {
		prices = nil // costs on record count all the same
	}
	c := &counts{run: run.ID}
	c.tally = newTally(&c.meter, filepath.Base(x.p.Main().Dir), run.Loop, prices)
	c.tally.count = true
	return c
}

// add counts an event. v is the visit that it belongs to, if that is known.
func (c *counts) add(e fsm.Event, v *inspect.Visit, known bool) {
	if e.Kind == fsm.EventActionOutput || e.Kind == fsm.EventCheckpoint {
		return
	}
	if c.from.IsZero() {
		c.from = e.Time.Truncate(time.Microsecond) // as it is on record
	}
	if !known {
		c.tally.event(e)
		return
	}
	c.tally.sheet.AddTo(v, e)
	c.tally.counted(e)
}

// beat sends metrics at an interval, until Close.
func (x *Exporter) beat() {
	if x.s.Metrics.URL == "" {
		return
	}
	tick := time.NewTicker(x.s.Interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = x.push(x.ctx) // the next one has more
		case <-x.closing:
			return
		}
	}
}

// push sends the metrics of all runs. Those of runs that are over are sent until they were taken once.
func (x *Exporter) push(ctx context.Context) error {
	x.mu.Lock()
	var all []stream
	add := func(c *counts) {
		if c != nil {
			all = append(all, stream{&c.meter, string(c.run), c.from})
		}
	}
	over := len(x.ended)
	for _, c := range x.ended {
		add(c)
	}
	for _, f := range x.runs {
		add(f.counts)
	}
	body := x.s.metricsBody(all, time.Now())
	x.mu.Unlock()
	if body == nil {
		return nil
	}
	if err := x.s.sendMetrics(ctx, body); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = slices.Delete(x.ended, 0, over)
	return nil
}
