package web

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"loops/internal/humanize"
	"loops/internal/telemetry"
	"loops/persistence"
)

// WorkerMetrics are the metrics of what a worker carries.
type WorkerMetrics struct {
	Project        // Name and Again
	Listen  string // the address of /metrics; "" = there is none
	Queue   string // that it takes runs of

	Has func(persistence.Run) bool           // chooses the runs that it has, or had
	At  func(persistence.ID, time.Time) bool // chooses the events of the time that it had them

	Getenv func(string) (string, bool)
	Say    func(line string)
}

// Open answers at /metrics, for those who may read the metrics of the project, and sends metrics where a
// collector is named, until ctx ends. wait returns when nothing of that is at work any more. An error is a
// [WrongSettingsError].
func (m *WorkerMetrics) Open(ctx context.Context) (wait func(), err error) {
	var all sync.WaitGroup
	if m.Listen != "" {
		if err := m.serve(ctx, &all); err != nil {
			return nil, err
		}
	}
	pusher := telemetry.Pusher{Open: m.Again, Getenv: m.Getenv, Feed: m.feed(), Say: m.Say}
	pusher.Feed.Gauges = true
	all.Go(func() { pusher.Run(ctx) })
	return all.Wait, nil
}

func (m *WorkerMetrics) feed() *telemetry.Feed {
	return &telemetry.Feed{
		Meter: &telemetry.Meter{}, Project: m.Name, Since: time.Now(), Queue: m.Queue, Only: m.Has,
		At: m.At,
	}
}

// serve answers at /metrics and /healthz, and at no other address.
func (m *WorkerMetrics) serve(ctx context.Context, all *sync.WaitGroup) error {
	host, _, err := net.SplitHostPort(m.Listen)
	if err != nil {
		return wrong("--metrics: expected an address and a port, such as 127.0.0.1:9464: %v", err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", m.Listen)
	if err != nil {
		return wrong("--metrics: cannot listen: %v", err)
	}
	hosts, anyIP := HostsOf(l.Addr().String(), host, nil)
	s := New(ctx, Options{Projects: []Project{m.Project}, Access: &Access{}, Hosts: hosts, AnyIP: anyIP, Audit: m.Say})
	s.gauges.feeds = map[string]*telemetry.Feed{m.Name: m.feed()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /healthz", healthy)
	m.Say("Metrics are at http://" + hosts[0] + "/metrics.")
	all.Go(func() {
		if err := s.serve(l, s.guard(timed(mux))); err != nil {
			m.Say("There are no metrics any more: " + humanize.OneLine(err))
		}
	})
	return nil
}
