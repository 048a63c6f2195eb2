package telemetry

// A Kind is how the values of a metric change.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"   // only grows
	Gauge     Kind = "gauge"     // as it is now
	Histogram Kind = "histogram" // how often a value was at most so much
)

// A Metric is one row of the table of metrics.
type Metric struct {
	Name   string
	Kind   Kind
	Unit   string   // of OTLP: s, or in braces what is counted
	Labels []string // beside project
	Help   string
}

// The names of the metrics.
const (
	RunsStarted   = "loops_runs_started_total"
	RunsEnded     = "loops_runs_ended_total"
	RunsResumed   = "loops_runs_resumed_total"
	RunsLive      = "loops_runs_live"
	Steps         = "loops_steps_total"
	ActionSeconds = "loops_action_seconds"
	Retries       = "loops_retries_total"
	Waits         = "loops_waits_total"
	Tokens        = "loops_tokens_total"
	CostUSD       = "loops_cost_usd_total"
	QueueLength   = "loops_queue_length"
	StoreSeconds  = "loops_store_seconds"
	LeasesLost    = "loops_leases_lost_total"
)

// Metrics are all there are, in the order in which they are written.
var Metrics = []Metric{
	{RunsStarted, Counter, "{run}", []string{"loop"}, "Runs that began."},
	{
		RunsEnded, Counter, "{run}",
		[]string{"loop", "outcome"},
		"Runs that ended, by how; a run that is resumed and ends again counts again.",
	},
	{RunsResumed, Counter, "{run}", []string{"loop"}, "Times that a run was resumed."},
	{RunsLive, Gauge, "{run}", []string{"status"}, "Runs that a process carries or that died with it, by status."},
	{
		Steps, Counter, "{step}",
		[]string{"loop"},
		"States that runs entered, those of sub-loops, branches and items too.",
	},
	{ActionSeconds, Histogram, "s", []string{"loop", "kind"}, "How long actions took; kind is action, prompt or item."},
	{
		Retries, Counter, "{retry}",
		[]string{"loop", "why"},
		"Actions that were tried again; why is retry, api_error, infra or failover.",
	},
	{
		Waits, Counter, "{wait}",
		[]string{"loop", "why"},
		"Waits that began; why is rate_limit, retry, ask, wait, paused, spend and so on.",
	},
	{
		Tokens, Counter, "{token}",
		[]string{"loop", "model", "type"},
		"Tokens of prompts and judges; type is input, output, cache_read or cache_write.",
	},
	{
		CostUSD, Counter, "{USD}",
		[]string{"loop", "model"},
		"US dollars of prompts and judges whose cost is known.",
	},
	{QueueLength, Gauge, "{run}", []string{"queue"}, "Runs that wait for files that other runs have; with queue, " +
		"submitted runs that wait for a worker of it."},
	{StoreSeconds, Histogram, "s", nil, "How long the store took to list the runs that changed."},
	{LeasesLost, Counter, "{run}", []string{"loop"}, "Times that a run was resumed whose former process died or " +
		"lost its lease."},
}

// bounds are the upper bounds of the buckets of histograms, in seconds.
var bounds = []float64{0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600}
