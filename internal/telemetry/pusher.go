package telemetry

import (
	"context"
	"fmt"
	"os"
	"time"

	"loops/engine/project"
	"loops/internal/humanize"
)

// A Pusher sends what the process of a run does not know, at an interval: how many runs are live, how many
// wait, and how long the store takes. What processes that are gone did not send of their runs is sent, too.
type Pusher struct {
	Open   func() (*project.Project, error) // opens the project again
	Getenv func(string) (string, bool)
	Feed   *Feed        // of this process alone; Gauges is set
	Say    func(string) // gets what is wrong, once

	said string
}

// Run sends until ctx ends.
func (p *Pusher) Run(ctx context.Context) {
	host, _ := os.Hostname()
	one := stream{
		Meter: p.Feed.Meter, Instance: fmt.Sprintf("%s-%d-%d", host, os.Getpid(), p.Feed.Since.UnixNano()),
		From: p.Feed.Since,
	}
	defer p.Feed.Close()
	for ctx.Err() == nil {
		interval, err := p.push(ctx, one)
		text := ""
		if err != nil {
			text = humanize.OneLine(err)
		}
		if text != p.said && text != "" && ctx.Err() == nil {
			p.Say(text)
		}
		p.said = text
		select {
		case <-time.After(interval):
		case <-ctx.Done():
		}
	}
}

// push sends once, and returns when to send again.
func (p *Pusher) push(ctx context.Context, one stream) (interval time.Duration, err error) {
	opened, err := p.Open()
	if err != nil {
		return usualInterval, err
	}
	conf, _ := opened.Declared() // a mistake keeps runs from starting, and is shown there
	s := SettingsOf(conf.Telemetry, p.Getenv)
	if opened.HasRecords() {
		x := NewExporter(opened, p.Getenv)
		x.Resend()
		_ = x.Close() // the next one has it
	}
	if s.Metrics.URL == "" {
		return s.Interval, nil
	}
	if err := p.Feed.Look(ctx, opened); err != nil {
		return s.Interval, err
	}
	body := s.metricsBody([]stream{one}, time.Now())
	if body == nil {
		return s.Interval, nil
	}
	return s.Interval, s.sendMetrics(ctx, body)
}
