package api

import (
	"reflect"
	"slices"
)

func of[T any]() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

// Outputs are the commands whose output is described, by name.
var Outputs = []Output{
	{"answer", "a list of open questions; one object for the question that was answered", append(of[[]question](), of[answered]()...)},
	{"attach", "a line of JSON for each event, run_info first; the schema is that of one line", append(of[runInfo](), of[event]()...)},
	{"config show", "one object", of[settings]()},
	{"cost", "one object: of one run state by state, or of several runs", append(of[runCostByState](), of[costs]()...)},
	{"diff", "one object", of[comparison]()},
	{"doctor", "a list of findings; with --fix a list of repairs", append(of[[]finding](), of[[]repair]()...)},
	{"events", "a line of JSON for each event; the schema is that of one line", of[event]()},
	{"explain", "one object", of[explanation]()},
	{"export", "one object", of[exported]()},
	{"extend", "a list of the runs whose limits were raised", of[[]extended]()},
	{"fork", "lines as `run` prints them; with -b or --dry-run one object", slices.Concat(of[runInfo](), of[queueWait](), of[event](), of[background](), of[backgroundQueued](), of[forkPlan]())},
	{"fragments", "a list", of[[]fragment]()},
	{"history", "a list of runs; of one run, a list of its events; with --group-by a list of counts", slices.Concat(of[[]run](), of[[]event](), of[[]outcomeGroup](), of[[]dayGroup]())},
	{"import", "one object", of[imported]()},
	{"install", "one object", of[installed]()},
	{"list", "a list of loops; with --running a list of runs, with keys of `status`", append(of[[]listed](), of[[]standing]()...)},
	{"new", "one object; with --list a list of patterns", append(of[written](), of[[]patternOf]()...)},
	{"notify test", "a list of the targets", of[[]notified]()},
	{"pause", "a list of the runs that were asked to pause", of[[]paused]()},
	{"policy", "one object", of[chosen]()},
	{"promote-baseline", "a list of the files that were written", of[[]promoted]()},
	{"prune", "one object", of[pruned]()},
	{"queue list", "a list of the waiters", of[[]waiter]()},
	{"queue remove", "a list of the waiters that were removed", of[[]removedWaiter]()},
	{"render", "one object", of[rendered]()},
	{"report", "one object", of[reported]()},
	{"resume", "lines as `run` prints them; with -b one object", slices.Concat(of[runInfo](), of[queueWait](), of[event](), of[background](), of[backgroundQueued]())},
	{"retry", "lines as `run` prints them; with -b or --dry-run, or of a run that was submitted, one object", slices.Concat(of[runInfo](), of[queueWait](), of[event](), of[background](), of[backgroundQueued](), of[forkPlan](), of[submitted]())},
	{"retry-now", "a list of the runs whose wait ended", of[[]woken]()},
	{"rm", "one object", of[removed]()},
	{"run", "a line of JSON for each event, run_info first, the schema is that of one line; with -b or --dry-run one object", slices.Concat(of[runInfo](), of[queueWait](), of[event](), of[background](), of[backgroundQueued](), of[runPlan]())},
	{"runs", "a list of runs; with --group-by a list of counts", slices.Concat(of[[]run](), of[[]outcomeGroup](), of[[]dayGroup]())},
	{"schedule list", "a list of schedules", of[[]listedSchedule]()},
	{"schedule next", "one object", of[schedule]()},
	{"schedule pause", "one object; with --all a list of them", of[scheduled]()},
	{"schedule run-now", "one object, as `run -b` prints it", append(of[background](), of[backgroundQueued]()...)},
	{"schedule unpause", "one object; with --all a list of them", of[scheduled]()},
	{"show", "the definition as one object; `loops schema` has its schema", of[map[string]any]()},
	{"sign", "a list of the loops", of[[]signed]()},
	{"signal", "one object", of[sent]()},
	{"simulate", "one object: of one run step by step, or with --runs what many came to", append(of[simulated](), of[simulatedRuns]()...)},
	{"stats", "one object", of[stats]()},
	{"status", "one object; without a name a list of them; a shorter one for a waiter in the queue", append(of[status](), append(of[queuedStatus](), of[[]status]()...)...)},
	{"stop", "a list: waiters that were taken out of the queue, as `queue remove` prints them, then runs that were stopped", append(of[[]stopped](), of[[]removedWaiter]()...)},
	{"store copy", "a list of runs", of[[]copied]()},
	{"submit", "one object", of[submitted]()},
	{"sweep", "a list of changes", of[[]change]()},
	{"test", "one object", of[tested]()},
	{"unpause", "a list of the runs that continue", of[[]unpaused]()},
	{"upgrade", "one object", of[release]()},
	{"validate", "a list of loops", of[[]checked]()},
	{"version", "one object", of[version]()},
	{"watch", "a line of JSON for each change of a run or waiter; the schema is that of one line", append(of[watched](), of[watchedWaiter]()...)},
	{"workers", "a list", of[[]worker]()},
	{"workers drain", "a list of the workers that were asked", of[[]drained]()},
}

type settings struct {
	Files []struct {
		File   string `json:"file" jsonschema:"absolute"`
		Layer  string `json:"layer" jsonschema:"reference (of little-loops), user or project"`
		Exists bool   `json:"exists"`
	} `json:"files"`
	Settings []struct {
		Key    string `json:"key"`
		Value  any    `json:"value" jsonschema:"null where it is not set"`
		Origin string `json:"origin" jsonschema:"what sets it, as default"`
		Name   string `json:"name,omitempty" jsonschema:"of the variable or flag that sets it"`
		File   string `json:"file,omitempty" jsonschema:"that sets it"`
		Line   *int   `json:"line,omitempty"`
	} `json:"settings"`
	Mistakes []mistake `json:"mistakes"`
	Warnings []mistake `json:"warnings"`
}

type mistake struct {
	File    string `json:"file"`
	Line    *int   `json:"line"`
	Column  *int   `json:"column"`
	Message string `json:"message"`
}

type sentence struct {
	Text   string `json:"text"`
	Events []int  `json:"events" jsonschema:"numbers of the events that show it"`
}

type placement struct {
	Queue   string   `json:"queue"`
	Labels  []string `json:"labels"`
	Open    bool     `json:"open" jsonschema:"whether workers may take it"`
	Heard   bool     `json:"heard" jsonschema:"whether a worker that may take it is heard of"`
	Carried bool     `json:"carried" jsonschema:"whether a worker continues it, so that no user has to"`
	Text    string   `json:"text"`
}

type explanation struct {
	Instance     string         `json:"instance_id" jsonschema:"the id of the run"`
	Loop         string         `json:"loop"`
	Status       *string        `json:"status"`
	TerminatedBy *string        `json:"terminated_by"`
	Reason       *string        `json:"reason" jsonschema:"why the run ended"`
	Ignored      *string        `json:"ignored_failures" jsonschema:"which actions failed on the way without changing it"`
	Merge        *string        `json:"merge" jsonschema:"what became of the merge that worktree: merge asks for: done, conflict or refused; null where none was to be made"`
	Damage       []string       `json:"damage,omitempty" jsonschema:"what is known to be damaged of its record, and was not accepted"`
	ForkedFrom   map[string]any `json:"forked_from,omitempty"`
	Placement    *placement     `json:"placement,omitempty" jsonschema:"what workers do about a submitted run that no process owns"`
	Project      string         `json:"project,omitempty" jsonschema:"the project of the run: its name or the path of its folder; with --all-projects"`
	StartedBy    string         `json:"started_by,omitempty" jsonschema:"what started it: run ID for an action of that run, schedule TIME for a schedule; absent for a user"`
	ScheduledAt  string         `json:"scheduled_at,omitempty" jsonschema:"the time of its schedule that it was started for, in the zone of the schedule; a fork has that of the run it comes from"`
	Run          []sentence     `json:"run" jsonschema:"about the whole run"`
	Steps        []struct {
		Step        int        `json:"step"`
		Number      string     `json:"number" jsonschema:"the step, with those of its parents before it"`
		State       string     `json:"state" jsonschema:"with the states of its parents"`
		Verdict     *string    `json:"verdict"`
		To          *string    `json:"to" jsonschema:"the next state"`
		Duration    int        `json:"duration_ms"`
		Attempts    int        `json:"attempts"`
		Waited      int        `json:"waited_ms"`
		Paused      int        `json:"paused_ms"`
		Interrupted int        `json:"interrupted_ms"`
		First       int        `json:"first_event"`
		Last        int        `json:"last_event"`
		Sentences   []sentence `json:"sentences"`
	} `json:"steps"`
}

type exported struct {
	Instance string   `json:"instance_id" jsonschema:"the id of the run"`
	Loop     string   `json:"loop"`
	File     string   `json:"file" jsonschema:"that was written"`
	Bytes    int      `json:"bytes"`
	Events   int      `json:"events"`
	Files    int      `json:"files"`
	LeftOut  []string `json:"left_out" jsonschema:"files that are not regular"`
	SHA256   string   `json:"sha256" jsonschema:"of the events"`
}

type imported struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	Loop     string `json:"loop"`
	Status   string `json:"status"`
	Result   string `json:"result"`
	Events   int    `json:"events"`
	Files    int    `json:"files"`
	SHA256   string `json:"sha256" jsonschema:"of the events"`
}

type fragment struct {
	Name        string  `json:"name"`
	Does        *string `json:"does"`
	Description *string `json:"description"`
	Parameters  map[string]struct {
		Type        string  `json:"type"`
		Required    bool    `json:"required"`
		Default     any     `json:"default"`
		Description *string `json:"description"`
	} `json:"parameters" jsonschema:"by name"`
}

type listed struct {
	Name        string   `json:"name" jsonschema:"by which commands find it"`
	Loop        string   `json:"loop"`
	Path        string   `json:"path" jsonschema:"the same as file, as little-loops calls it"`
	File        string   `json:"file" jsonschema:"absolute"`
	Description string   `json:"description"`
	Category    *string  `json:"category"`
	Labels      []string `json:"labels"`
	Visibility  *string  `json:"visibility"`
	Problem     string   `json:"problem,omitempty" jsonschema:"why it cannot run"`
	LastRun     *struct {
		Instance string   `json:"instance_id" jsonschema:"the id of the run"`
		RunID    string   `json:"run_id" jsonschema:"as little-loops calls it"`
		Status   *string  `json:"status"`
		Outcome  string   `json:"outcome"`
		Reason   *string  `json:"reason"`
		Ignored  *string  `json:"ignored_failures" jsonschema:"which actions failed on the way without changing it"`
		Merge    *string  `json:"merge" jsonschema:"what became of the merge that worktree: merge asks for: done, conflict or refused; null where none was to be made"`
		Started  string   `json:"started_at"`
		Updated  *string  `json:"updated_at"`
		Damage   []string `json:"damage,omitempty" jsonschema:"what is known to be damaged of its record, and was not accepted"`
	} `json:"last_run,omitempty" jsonschema:"null where the loop never ran"`
	Catalog bool `json:"catalog,omitempty" jsonschema:"whether it is of the catalog"`
	BuiltIn bool `json:"built_in,omitempty" jsonschema:"the same, as little-loops calls it"`
}

type paused struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string `json:"loop"`
	PID      int    `json:"pid"`
	Paused   bool   `json:"paused" jsonschema:"false where the current action ends first"`
	State    string `json:"current_state"`
}

type unpaused struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string `json:"loop"`
	GoesOn   bool   `json:"goes_on" jsonschema:"whether a process carries the run"`
	State    string `json:"current_state"`
}

type waiter struct {
	ID       string  `json:"queue_id"`
	Loop     string  `json:"loop"`
	Resumes  *string `json:"resumes" jsonschema:"the id of the run that it resumes"`
	Since    string  `json:"since"`
	Place    int     `json:"place"`
	WaitsFor struct {
		Loop     *string `json:"loop"`
		Instance *string `json:"instance_id"`
		ID       *string `json:"queue_id"`
		Path     *string `json:"path"`
		Since    *string `json:"since"`
	} `json:"waits_for"`
	Scope     []string `json:"scope"`
	Singleton bool     `json:"singleton"`
	PID       int      `json:"pid"`
	Host      *string  `json:"host"`
	Log       *string  `json:"log" jsonschema:"the file of its output"`
	Foreign   bool     `json:"reference_tool" jsonschema:"whether little-loops waits"`
}

type removedWaiter struct {
	ID    string `json:"queue_id"`
	Loop  string `json:"loop"`
	PID   int    `json:"pid"`
	Ended bool   `json:"ended" jsonschema:"whether its process ended"`
}

type rendered struct {
	Loop    string         `json:"loop"`
	State   string         `json:"state"`
	Type    *string        `json:"action_type"`
	Action  string         `json:"action"`
	Params  map[string]any `json:"params,omitempty"`
	Unknown []struct {
		Reference string `json:"reference"`
		Reason    string `json:"reason"`
	} `json:"unknown" jsonschema:"templates whose value only a run knows"`
}

type removed struct {
	Removed []struct {
		Instance string  `json:"instance_id" jsonschema:"the id of the run"`
		Loop     string  `json:"loop"`
		Status   *string `json:"status"`
		Started  string  `json:"started_at"`
		Bytes    int     `json:"bytes"`
	} `json:"removed"`
	Bytes    int      `json:"bytes" jsonschema:"that were freed"`
	Finished []string `json:"finished" jsonschema:"ids of runs whose removal was begun before"`
}

type run struct {
	RunID        string         `json:"run_id" jsonschema:"as little-loops calls it"`
	Instance     string         `json:"instance_id" jsonschema:"the id of the run"`
	Loop         string         `json:"loop"`
	Status       *string        `json:"status"`
	Started      string         `json:"started_at"`
	Iterations   int            `json:"iterations" jsonschema:"the same as iteration, as little-loops calls it"`
	Iteration    int            `json:"iteration" jsonschema:"the number of the last step"`
	Duration     int            `json:"duration_ms"`
	TerminatedBy *string        `json:"terminated_by"`
	Error        *string        `json:"error"`
	State        string         `json:"current_state"`
	Outcome      string         `json:"outcome"`
	Reason       *string        `json:"reason" jsonschema:"why the run ended"`
	Ignored      *string        `json:"ignored_failures" jsonschema:"which actions failed on the way without changing it"`
	Merge        *string        `json:"merge" jsonschema:"what became of the merge that worktree: merge asks for: done, conflict or refused; null where none was to be made"`
	Damage       []string       `json:"damage,omitempty" jsonschema:"what is known to be damaged of its record, and was not accepted"`
	ForkedFrom   map[string]any `json:"forked_from,omitempty"`
	Placement    *placement     `json:"placement,omitempty" jsonschema:"what workers do about a submitted run that no process owns"`
	Project      string         `json:"project,omitempty" jsonschema:"the project of the run: its name or the path of its folder; with --all-projects"`
	StartedBy    string         `json:"started_by,omitempty" jsonschema:"what started it: run ID for an action of that run, schedule TIME for a schedule; absent for a user"`
	ScheduledAt  string         `json:"scheduled_at,omitempty" jsonschema:"the time of its schedule that it was started for, in the zone of the schedule; a fork has that of the run it comes from"`
	Worktree     *struct {
		Path   string  `json:"path"`
		Branch *string `json:"branch"`
		End    string  `json:"end"`
		Of     *string `json:"of"`
	} `json:"worktree,omitempty"`
	Cost    *float64 `json:"cost_usd,omitempty" jsonschema:"null where a part is not known"`
	Known   *float64 `json:"known_cost_usd,omitempty"`
	Unknown *int     `json:"unknown_costs,omitempty" jsonschema:"prompts and judges whose cost is not known"`
}

type sent struct {
	Instance string  `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string  `json:"run_id" jsonschema:"as little-loops calls it"`
	Event    string  `json:"event"`
	Number   int     `json:"number"`
	At       string  `json:"at"`
	From     *string `json:"from"`
	Alive    bool    `json:"alive"`
	Waits    bool    `json:"waits" jsonschema:"whether the run waits for it"`
}

type stats struct {
	Loop      string         `json:"loop"`
	Runs      int            `json:"runs"`
	Open      int            `json:"open"`
	Ended     int            `json:"ended"`
	Succeeded int            `json:"succeeded"`
	Rate      *float64       `json:"success_rate" jsonschema:"of those that ended"`
	Outcomes  map[string]int `json:"outcomes"`
	P50       int            `json:"p50_ms"`
	P95       int            `json:"p95_ms"`
	Longest   int            `json:"longest_ms"`
	States    []struct {
		State     string         `json:"state" jsonschema:"with the states of its parents"`
		Visits    int            `json:"visits"`
		Runs      int            `json:"runs"`
		P50       int            `json:"p50_ms"`
		P95       int            `json:"p95_ms"`
		Longest   int            `json:"longest_ms"`
		Failed    int            `json:"failed_actions"`
		Evaluator *string        `json:"evaluator"`
		Verdicts  map[string]int `json:"verdicts"`
		Never     bool           `json:"never_said_no"`
	} `json:"states"`
}

type copied struct {
	Instance string  `json:"instance_id" jsonschema:"the id of the run"`
	Loop     string  `json:"loop"`
	Result   string  `json:"result"`
	Events   *int    `json:"events"`
	SHA256   *string `json:"sha256" jsonschema:"of the events"`
	Error    *string `json:"error"`
}

type change struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	Loop     string `json:"loop"`
	Kind     string `json:"kind"`
	Why      string `json:"why"`
}

type checked struct {
	Loop       string `json:"loop"`
	File       string `json:"file,omitempty" jsonschema:"absolute"`
	Valid      bool   `json:"valid"`
	Violations []struct {
		Severity string `json:"severity" jsonschema:"error or warning"`
		Rule     string `json:"rule"`
		Path     string `json:"path" jsonschema:"of the key"`
		Message  string `json:"message"`
		File     string `json:"file,omitempty"`
		Line     int    `json:"line,omitempty"`
		Col      int    `json:"col,omitempty"`
	} `json:"violations"`
}

type version struct {
	Version  string  `json:"version"`
	Commit   *string `json:"commit"`
	Date     *string `json:"date"`
	Go       string  `json:"go"`
	Platform string  `json:"platform"`
	Modules  []struct {
		Path    string `json:"path"`
		Version string `json:"version"`
		Sum     string `json:"sum"`
	} `json:"modules"`
}
