package telemetry

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"loops/fsm/value"
)

// A stream is the metrics of one meter as one request has them. Its values are sums since From.
type stream struct {
	Meter    *Meter
	Instance string // service.instance.id: no other process or run has it
	From     time.Time
}

// appendStream appends a resource with its metrics, as OTLP has them. The names are those of [Metrics]: what
// makes names for Prometheus of those of OTLP leaves them as they are.
func (s *Settings) appendStream(b []byte, one stream, now time.Time) []byte {
	b = append(b, `{"resource":{`...)
	b = appendAttrs(b, append([]Attr{{"service.name", s.Service}, {"service.instance.id", one.Instance}},
		s.Resource...))
	b = append(b, `},"scopeMetrics":[{"scope":{"name":"loops"},"metrics":[`...)
	one.Meter.mu.Lock()
	defer one.Meter.mu.Unlock()
	first := true
	for _, metric := range Metrics {
		all := one.Meter.all[metric.Name]
		if len(all) == 0 {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = value.AppendJSONString(append(b, `{"name":`...), metric.Name)
		b = value.AppendJSONString(append(b, `,"unit":`...), metric.Unit)
		b = value.AppendJSONString(append(b, `,"description":`...), metric.Help)
		b = append(b, map[Kind]string{
			Counter: `,"sum":{`, Gauge: `,"gauge":{`,
			Histogram: `,"histogram":{`,
		}[metric.Kind]...)
		if metric.Kind != Gauge {
			b = append(b, `"aggregationTemporality":2,`...) // since the beginning
		}
		if metric.Kind == Counter {
			b = append(b, `"isMonotonic":true,`...)
		}
		b = append(b, `"dataPoints":[`...)
		for i, labels := range slices.Sorted(maps.Keys(all)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = all[labels].appendPoint(b, metric.Kind, one.From, now)
		}
		b = append(b, `]}}`...)
	}
	return append(b, `]}]}`...)
}

// appendPoint appends the value of a series.
func (s *series) appendPoint(b []byte, kind Kind, from, now time.Time) []byte {
	b = append(b, '{')
	b = appendAttrs(b, s.attrs)
	if kind != Gauge {
		b = append(appendNanos(append(b, `,"startTimeUnixNano":"`...), from), '"')
	}
	b = append(appendNanos(append(b, `,"timeUnixNano":"`...), now), '"')
	if kind != Histogram {
		return append(value.AppendJSON(append(b, `,"asDouble":`...), s.value), '}')
	}
	b = append(strconv.AppendUint(append(b, `,"count":"`...), s.count, 10), '"')
	b = value.AppendJSON(append(b, `,"sum":`...), s.value)
	b = append(b, `,"bucketCounts":[`...)
	below := uint64(0) // those of Prometheus hold the smaller ones, too
	for _, n := range s.buckets {
		b = append(strconv.AppendUint(append(b, '"'), n-below, 10), `",`...)
		below = n
	}
	b = append(strconv.AppendUint(append(b, '"'), s.count-below, 10), `"],"explicitBounds":[`...)
	for i, most := range bounds {
		if i > 0 {
			b = append(b, ',')
		}
		b = value.AppendJSON(b, most)
	}
	return append(b, "]}"...)
}

// metricsBody returns a request with these streams; nil where none has a value.
func (s *Settings) metricsBody(all []stream, now time.Time) []byte {
	b := []byte(`{"resourceMetrics":[`)
	empty := len(b)
	for _, one := range all {
		if one.Meter.empty() {
			continue
		}
		if len(b) > empty {
			b = append(b, ',')
		}
		b = s.appendStream(b, one, now)
	}
	if len(b) == empty {
		return nil
	}
	return append(b, `]}`...)
}

// sendMetrics sends a body of metrics. A collector that answers 404 takes traces alone, and that is no error.
func (s *Settings) sendMetrics(ctx context.Context, body []byte) error {
	if status, err := s.Metrics.post(ctx, body); err != nil && status != http.StatusNotFound {
		return fmt.Errorf("metrics were not sent to %s: %w", s.Metrics.URL, err)
	}
	return nil
}
