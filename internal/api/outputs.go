package api

import (
	"reflect"
	"slices"
)

func of[T any]() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

// Outputs are the commands whose output is described, by name.
var Outputs = []Output{
	{
		"answer", "a list of open questions; one object for the question that was answered",
		append(of[[]Question](), of[Answered]()...),
	},
	{
		"attach", "a line of JSON for each event, run_info first; the schema is that of one line",
		append(of[RunInfo](), of[Event]()...),
	},
	{"blame", "one object", of[Blamed]()},
	{"config show", "one object", of[Settings]()},
	{"cost", "one object: of one run state by state, or of several runs", append(of[RunCostByState](), of[Costs]()...)},
	{"diff", "one object", of[Comparison]()},
	{"doctor", "a list of findings; with --fix a list of repairs", append(of[[]Finding](), of[[]Repair]()...)},
	{"events", "a line of JSON for each event; the schema is that of one line", of[Event]()},
	{"explain", "one object", of[Explanation]()},
	{"export", "one object", of[Exported]()},
	{"extend", "a list of the runs whose limits were raised", of[[]Extended]()},
	{"forecast", "one object", of[Forecast]()},
	{
		"fork", "lines as `run` prints them; with -b or --dry-run one object",
		slices.Concat(of[RunInfo](), of[QueueWait](), of[Event](), of[Background](), of[BackgroundQueued](),
			of[ForkPlan]()),
	},
	{"fragments", "a list", of[[]Fragment]()},
	{
		"history", "a list of runs; of one run, a list of its events; with --group-by a list of counts",
		slices.Concat(of[[]Run](), of[[]Event](), of[[]OutcomeGroup](), of[[]DayGroup]()),
	},
	{"import", "one object", of[Imported]()},
	{"install", "one object", of[Installed]()},
	{
		"list", "a list of loops; with --running a list of runs, with keys of `status`",
		append(of[[]Listed](), of[[]OpenRun]()...),
	},
	{"memory diff", "one object", of[MemoryDiff]()},
	{"memory forget", "a list of the facts that were removed", of[[]MemoryFact]()},
	{"memory show", "one object", of[Memory]()},
	{"new", "one object; with --list a list of patterns", append(of[Written](), of[[]Pattern]()...)},
	{"notify test", "a list of the targets", of[[]Notified]()},
	{"pause", "a list of the runs that were asked to pause", of[[]Paused]()},
	{"policy", "one object", of[Chosen]()},
	{"promote-baseline", "a list of the files that were written", of[[]Promoted]()},
	{"prove", "one object", of[Proven]()},
	{"prune", "one object", of[Pruned]()},
	{"queue list", "a list of the waiters", of[[]Waiter]()},
	{"queue remove", "a list of the waiters that were removed", of[[]RemovedWaiter]()},
	{"receipt", "one object", of[RunReceipt]()},
	{"render", "one object", of[Rendered]()},
	{"replay", "one object; with --all a list of them", append(of[Replayed](), of[[]Replayed]()...)},
	{"report", "one object", of[Reported]()},
	{
		"resume", "lines as `run` prints them; with -b one object",
		slices.Concat(of[RunInfo](), of[QueueWait](), of[Event](), of[Background](), of[BackgroundQueued]()),
	},
	{
		"retry", "lines as `run` prints them; with -b or --dry-run, or of a run that was submitted, one object",
		slices.Concat(of[RunInfo](), of[QueueWait](), of[Event](), of[Background](), of[BackgroundQueued](),
			of[ForkPlan](), of[Submitted]()),
	},
	{"retry-now", "a list of the runs whose wait ended", of[[]Woken]()},
	{"rm", "one object", of[Removed]()},
	{"run", "a line of JSON for each event, run_info first, the schema is that of one line; with -b or " +
		"--dry-run one object", slices.Concat(of[RunInfo](), of[QueueWait](), of[Event](), of[Background](),
		of[BackgroundQueued](), of[RunPlan]())},
	{
		"runs", "a list of runs; with --group-by a list of counts",
		slices.Concat(of[[]Run](), of[[]OutcomeGroup](), of[[]DayGroup]()),
	},
	{"schedule list", "a list of schedules", of[[]ListedSchedule]()},
	{"schedule next", "one object", of[Schedule]()},
	{"schedule pause", "one object; with --all a list of them", of[Scheduled]()},
	{"schedule run-now", "one object, as `run -b` prints it", append(of[Background](), of[BackgroundQueued]()...)},
	{"schedule unpause", "one object; with --all a list of them", of[Scheduled]()},
	{"scrub", "a list of runs", of[[]Scrubbed]()},
	{"show", "the definition as one object; `loops schema` has its schema", of[map[string]any]()},
	{"sign", "a list of the loops", of[[]Signed]()},
	{"signal", "one object", of[Sent]()},
	{
		"simulate", "one object: of one run step by step, or with --runs what many came to",
		append(of[Simulated](), of[SimulatedRuns]()...),
	},
	{"stats", "one object; with --memory a list of facts", append(of[Stats](), of[[]MemoryFact]()...)},
	{
		"status", "one object; without a name a list of them; a shorter one for a waiter in the queue",
		append(of[Status](), append(of[QueuedStatus](), of[[]Status]()...)...),
	},
	{"stop", "a list: waiters that were taken out of the queue, as `queue remove` prints them, then runs " +
		"that were stopped", append(of[[]Stopped](), of[[]RemovedWaiter]()...)},
	{"store copy", "a list of runs", of[[]Copied]()},
	{"submit", "one object", of[Submitted]()},
	{"sweep", "a list of changes", of[[]Change]()},
	{
		"test", "one object: of the cases of files of tests, of one state, or with --record of a case",
		slices.Concat(of[TestedSuites](), of[Tested](), of[RecordedCase]()),
	},
	{
		"trust", "one object; with --list a list of them, with --forget one object",
		slices.Concat(of[TrustedLoop](), of[[]TrustedLoop](), of[ForgottenTrust]()),
	},
	{"unblock", "one object", of[Unblocked]()},
	{"undo", "one object; with --list a list of snapshots", append(of[Undone](), of[[]Snapshot]()...)},
	{"unpause", "a list of the runs that continue", of[[]Unpaused]()},
	{"upgrade", "one object", of[Release]()},
	{"validate", "a list of loops", of[[]Checked]()},
	{"verify", "one object", of[Verified]()},
	{"version", "one object", of[VersionInfo]()},
	{
		"watch", "a line of JSON for each change of a run or waiter; the schema is that of one line",
		append(of[Watched](), of[WatchedWaiter]()...),
	},
	{"workers", "a list", of[[]Worker]()},
	{"workers drain", "a list of the workers that were asked", of[[]Drained]()},
}
