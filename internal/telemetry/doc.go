// Package telemetry renders what runs recorded for programs that watch them: metrics as the text that Prometheus
// reads. It reads the record and never changes it.
//
// # Metrics
//
// [Metrics] is the one table of names. A [Meter] counts the events of runs, and only adds, so a counter does not fall
// when runs are pruned. A [Feed] gives a meter the events that were recorded since its last look.
package telemetry
