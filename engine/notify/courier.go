package notify

import (
	"context"
	"time"

	"loops/engine/project"
	"loops/internal/humanize"
	"loops/persistence"
)

// courierPause is how often a courier looks for runs.
const courierPause = 5 * time.Second

// A Courier delivers the events that dead processes of one project did not deliver, see [Publisher.Sweep].
type Courier struct {
	Open func() (*project.Project, error) // opens the project again
	Say  func(string)                     // gets what is wrong, once

	said string
	idle map[persistence.ID]time.Time
}

// Run delivers until ctx ends.
func (c *Courier) Run(ctx context.Context) {
	for {
		if err := c.deliver(ctx); err != nil && ctx.Err() == nil {
			if text := humanize.OneLine(err); text != c.said {
				c.said = text
				c.Say("events were not delivered: " + text)
			}
		}
		select {
		case <-time.After(courierPause):
		case <-ctx.Done():
			return
		}
	}
}

func (c *Courier) deliver(ctx context.Context) error {
	p, err := c.Open()
	if err != nil || !p.HasRecords() {
		return err
	}
	b := NewPublisher(p, p.Env)
	if b == nil {
		return nil
	}
	defer context.AfterFunc(ctx, func() { b.sender.give(errGivenUp) })()
	if c.idle != nil {
		b.idle = c.idle
	}
	c.idle = b.idle
	err = b.Sweep(ctx)
	_ = b.Close(ctx) // nothing is under way
	return err
}
