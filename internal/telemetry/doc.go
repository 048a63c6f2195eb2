// Package telemetry renders what runs recorded for programs that watch them: metrics as the text that Prometheus
// reads, traces and metrics as OTLP over HTTP. It reads the record and never changes it.
//
// # Metrics
//
// [Metrics] is the one table of names. A [Meter] counts the events of runs, and only adds, so a counter does not fall
// when runs are pruned. A [Feed] gives a meter the events that were recorded since its last look.
//
// # Traces
//
// A [Tracer] makes spans of the events of a run. Their ids follow from the run, the address of the step and the numbers
// of events, so that the same events make the same spans in whichever process. An [Exporter] observes an engine and
// sends them. After a crash it reads the record from its beginning.
//
// # Metrics by OTLP
//
// The metrics of a run are one stream of sums since its first event: [Exporter] sends it, from whichever
// process carries the run. A [Pusher] sends what no run knows.
package telemetry
