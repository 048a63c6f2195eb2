package api

// runInfo is the first line of a run.
type runInfo struct {
	Event      string  `json:"event" jsonschema:"run_info"`
	Time       string  `json:"ts"`
	Loop       string  `json:"loop"`
	Instance   string  `json:"instance_id" jsonschema:"the id of the run"`
	RunID      string  `json:"run_id" jsonschema:"as little-loops calls it"`
	Resumed    bool    `json:"resumed"`
	MaxSteps   int     `json:"max_steps"`
	File       string  `json:"file" jsonschema:"absolute"`
	RunDir     string  `json:"run_dir"`
	ForkedFrom *origin `json:"forked_from,omitempty"`
	Project    string  `json:"project,omitempty" jsonschema:"the project of the run: its name or the path of its folder; with --all-projects"`
	StartedBy  string  `json:"started_by,omitempty" jsonschema:"what started it: run ID for an action of that run, schedule TIME for a schedule; absent for a user"`
	Scheduled  string  `json:"scheduled_at,omitempty" jsonschema:"the time of its schedule that it was started for, in the zone of the schedule; a fork has that of the run it comes from"`
	Worktree   string  `json:"worktree,omitempty" jsonschema:"the folder it works in"`
	Branch     *string `json:"branch,omitempty"`
}

type origin struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Step     int    `json:"step"`
	Seq      int    `json:"seq" jsonschema:"the number of the last event that both have"`
}

// queueWait is a line for each run that a run waits for.
type queueWait struct {
	Event   string  `json:"event" jsonschema:"queue_wait"`
	Time    string  `json:"ts"`
	Loop    string  `json:"loop"`
	QueueID string  `json:"queue_id"`
	Resumes *string `json:"resumes" jsonschema:"the id of the run that is resumed"`
	For     struct {
		Loop     *string `json:"loop"`
		Instance *string `json:"instance_id"`
		QueueID  *string `json:"queue_id"`
		Path     *string `json:"path"`
		Since    string  `json:"since"`
	} `json:"waits_for"`
}

type background struct {
	Instance string  `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string  `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string  `json:"loop"`
	PID      int     `json:"pid"`
	Log      *string `json:"log" jsonschema:"the file of its output; absolute"`
}

type backgroundQueued struct {
	QueueID string  `json:"queue_id"`
	Loop    string  `json:"loop"`
	PID     int     `json:"pid"`
	Log     *string `json:"log" jsonschema:"the file of its output; absolute"`
	For     string  `json:"waits_for" jsonschema:"a sentence"`
}

type plannedTree struct {
	Path       string  `json:"path"`
	Of         string  `json:"of,omitempty" jsonschema:"the run whose work tree is used"`
	Branch     string  `json:"branch,omitempty"`
	New        *bool   `json:"new_branch,omitempty"`
	Commit     string  `json:"commit,omitempty"`
	End        string  `json:"end,omitempty" jsonschema:"what is done with it when the run has ended"`
	LeftBy     *string `json:"left_by,omitempty" jsonschema:"the run that left it"`
	Changed    *int    `json:"changed_files,omitempty"`
	Submodules *bool   `json:"submodules,omitempty"`
}

type runPlan struct {
	Loop     string         `json:"loop"`
	File     string         `json:"file" jsonschema:"absolute"`
	Initial  string         `json:"initial"`
	MaxSteps int            `json:"max_steps"`
	Context  map[string]any `json:"context"`
	States   []struct {
		Name     string            `json:"name"`
		Action   *string           `json:"action"`
		Terminal bool              `json:"terminal"`
		Failure  bool              `json:"failure"`
		Loop     string            `json:"loop,omitempty"`
		With     map[string]any    `json:"with,omitempty"`
		Fragment string            `json:"fragment,omitempty"`
		Evaluate string            `json:"evaluate,omitempty" jsonschema:"the type of the evaluator"`
		To       map[string]string `json:"to" jsonschema:"the state behind each verdict"`
	} `json:"states"`
	Worktree *plannedTree `json:"worktree,omitempty"`
}

type forkPlan struct {
	ForkedFrom origin         `json:"forked_from"`
	Loop       string         `json:"loop"`
	File       string         `json:"file" jsonschema:"absolute"`
	State      string         `json:"state" jsonschema:"that it begins with"`
	Step       int            `json:"step"`
	MaxSteps   int            `json:"max_steps"`
	Changed    []string       `json:"changed" jsonschema:"what differs from the other run, as sentences"`
	Copies     *string        `json:"copies" jsonschema:"the folder that is copied"`
	Context    map[string]any `json:"context"`
	Captured   []string       `json:"captured" jsonschema:"names of the captures it has"`

	Items []struct {
		State string `json:"state"`
		Count int    `json:"count" jsonschema:"of its items"`
		Taken int    `json:"taken" jsonschema:"of these, over from the other run"`
	} `json:"items,omitempty" jsonschema:"of the lists of which failed items are done again"`
}

type question struct {
	Address  string            `json:"address" jsonschema:"for --question"`
	Instance string            `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string            `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string            `json:"loop"`
	State    string            `json:"state"`
	Question string            `json:"question"`
	Choices  []string          `json:"choices"`
	Fields   map[string]string `json:"fields" jsonschema:"their types by name"`
	Show     *string           `json:"show"`
	Who      []string          `json:"who"`
	Confirm  []string          `json:"confirm" jsonschema:"choices that are to be confirmed"`
	Since    string            `json:"since"`
	Until    *string           `json:"until"`
	Reminded int               `json:"reminders" jsonschema:"how many reminders were sent"`
	RemindAt *string           `json:"remind_at" jsonschema:"when the next one is due"`
	Quorum   int               `json:"quorum" jsonschema:"how many equal answers of different people decide"`
	Votes    []vote            `json:"votes" jsonschema:"the answers so far, where several decide: the last one of each person"`
}

type vote struct {
	Choice string         `json:"choice"`
	By     *string        `json:"by"`
	Fields map[string]any `json:"fields"`
	At     string         `json:"at"`
}

type answered struct {
	question
	Choice *string `json:"choice" jsonschema:"null where the question is taken back"`
	By     *string `json:"by"`
	Alive  bool    `json:"alive" jsonschema:"false where the run continues when it is resumed"`
	Done   bool    `json:"answered" jsonschema:"false where the question needs more equal answers"`
}

type watched struct {
	Time         string   `json:"time"`
	Instance     string   `json:"instance_id" jsonschema:"the id of the run"`
	RunID        string   `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop         string   `json:"loop"`
	Status       string   `json:"status"`
	Outcome      string   `json:"outcome" jsonschema:"the status of a run that is running, or the outcome of one that ended"`
	Alive        bool     `json:"alive"`
	State        string   `json:"current_state"`
	Iteration    int      `json:"iteration" jsonschema:"the number of the last step"`
	MaxSteps     *int     `json:"max_steps"`
	Elapsed      int      `json:"elapsed_ms" jsonschema:"the same as duration_ms"`
	Duration     int      `json:"duration_ms"`
	Cost         *float64 `json:"cost_usd" jsonschema:"null where a part is not known"`
	Waiting      *waiting `json:"waiting" jsonschema:"for what and until when it waits, as in status"`
	TerminatedBy *string  `json:"terminated_by"`
	Error        *string  `json:"error"`
	Reason       *string  `json:"reason" jsonschema:"why the run ended"`
	Ignored      *string  `json:"ignored_failures" jsonschema:"which actions failed on the way without changing it"`
	Merge        *string  `json:"merge" jsonschema:"what became of the merge that worktree: merge asks for: done, conflict or refused; null where none was to be made"`
}

type watchedWaiter struct {
	queuedStatus
	Time string `json:"time"`
}

type comparedRun struct {
	Instance     string   `json:"instance_id" jsonschema:"the id of the run"`
	Loop         string   `json:"loop"`
	Status       *string  `json:"status"`
	TerminatedBy *string  `json:"terminated_by"`
	State        string   `json:"current_state"`
	Steps        int      `json:"iterations" jsonschema:"how many steps it made"`
	Duration     int      `json:"duration_ms"`
	SHA256       *string  `json:"sha256" jsonschema:"of its definition"`
	Cost         *float64 `json:"cost_usd" jsonschema:"null where a part is not known"`
	Known        float64  `json:"known_cost_usd"`
	Unknown      int      `json:"unknown_costs"`
}

type comparedStep struct {
	Step     string  `json:"step" jsonschema:"its number, with those of its parents before it"`
	State    string  `json:"state" jsonschema:"with the states of its parents"`
	Exit     *int    `json:"exit_code"`
	Verdict  *string `json:"verdict"`
	To       *string `json:"to"`
	Duration int     `json:"duration_ms"`
	First    int     `json:"first_event"`
	Last     int     `json:"last_event"`
}

type comparison struct {
	First      comparedRun `json:"first"`
	Second     comparedRun `json:"second"`
	Longer     int         `json:"second_took_longer_ms"`
	Shared     int         `json:"steps_before_fork" jsonschema:"steps that both have because one was forked from the other"`
	Divergence *struct {
		Same   int           `json:"same_before" jsonschema:"how many pairs of steps are the same before it"`
		First  *comparedStep `json:"first"`
		Second *comparedStep `json:"second"`
	} `json:"divergence" jsonschema:"null where the runs took the same steps"`
	Steps []struct {
		Same   bool          `json:"same"`
		First  *comparedStep `json:"first"`
		Second *comparedStep `json:"second"`
	} `json:"steps"`
	Values []string `json:"values" jsonschema:"what differs in context and captures, as sentences"`
	Notes  []string `json:"notes"`
}

// finding is what doctor found. Its schema allows other keys.
type finding struct {
	Check string  `json:"check" jsonschema:"the keys beyond these depend on it"`
	Level string  `json:"level" jsonschema:"ok, warning or problem"`
	Text  string  `json:"text"`
	Todo  *string `json:"todo" jsonschema:"what to do"`
}

type repair struct {
	Check  string  `json:"check"`
	Repair string  `json:"repair" jsonschema:"a sentence"`
	Result string  `json:"result" jsonschema:"fixed, failed or left"`
	Error  *string `json:"error"`
}

type submitted struct {
	Instance string   `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string   `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string   `json:"loop"`
	Status   string   `json:"status" jsonschema:"queued"`
	Queue    string   `json:"queue"`
	Key      *string  `json:"key"`
	Priority int      `json:"priority" jsonschema:"1 is first, 4 is last"`
	Labels   []string `json:"labels"`
	At       *string  `json:"at" jsonschema:"it does not begin before"`
}

type drained struct {
	ID string `json:"worker_id"`
}

type worker struct {
	ID        string   `json:"worker_id"`
	Host      string   `json:"host"`
	PID       int      `json:"pid"`
	Queue     string   `json:"queue"`
	Labels    []string `json:"labels"`
	Slots     int      `json:"slots" jsonschema:"how many runs it carries at once"`
	Runs      []string `json:"runs" jsonschema:"the ids of those that it has"`
	Version   string   `json:"version" jsonschema:"of loops"`
	Since     string   `json:"since"`
	SilentMS  int64    `json:"silent_ms" jsonschema:"since it was heard of"`
	LeaseMS   int64    `json:"lease_ms" jsonschema:"how long it may be silent"`
	Gone      bool     `json:"gone" jsonschema:"it was silent for longer than that"`
	DrainedBy *string  `json:"drained_by" jsonschema:"the user who asked it to end; null = none"`
	LastError *string  `json:"last_error"`
}

type outcomeGroup struct {
	Outcome string   `json:"outcome"`
	Runs    int      `json:"runs"`
	P50     int      `json:"p50_ms" jsonschema:"the median of how long they took"`
	P95     int      `json:"p95_ms"`
	Longest int      `json:"longest_ms"`
	Newest  string   `json:"newest" jsonschema:"the id of a run"`
	Cost    *float64 `json:"cost_usd,omitempty" jsonschema:"with --cost; null where it is not known of all of them"`
	Known   float64  `json:"known_cost_usd,omitempty" jsonschema:"with --cost"`
	Unknown int      `json:"unknown_costs,omitempty" jsonschema:"with --cost; of so many prompts the cost is not known"`
}

type dayGroup struct {
	Day      string         `json:"day" jsonschema:"of the local time zone"`
	Runs     int            `json:"runs" jsonschema:"that began on it"`
	Outcomes map[string]int `json:"outcomes" jsonschema:"how many of them have each outcome"`
}
