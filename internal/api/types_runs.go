package api

import "loops/fsm/value"

// RunInfo is the first line of a run.
type RunInfo struct {
	Event    string `json:"event" jsonschema:"run_info"`
	Time     Time   `json:"ts"`
	Loop     string `json:"loop"`
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Resumed  bool   `json:"resumed"`
	MaxSteps int    `json:"max_steps"`
	File     string `json:"file" jsonschema:"absolute"`
	RunDir   string `json:"run_dir"`
	RunOrigin
	Worktree string `json:"worktree,omitempty" jsonschema:"the folder it works in"`
	Branch   *Text  `json:"branch,omitempty"`
}

// Origin is the step of another run that a fork comes from.
type Origin struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Step     int    `json:"step"`
	Seq      uint64 `json:"seq" jsonschema:"the number of the last event that both have"`
}

// QueueWait is a line for each run that a run waits for.
type QueueWait struct {
	Event   string   `json:"event" jsonschema:"queue_wait"`
	Time    Time     `json:"ts"`
	Loop    string   `json:"loop"`
	QueueID string   `json:"queue_id"`
	Resumes Text     `json:"resumes" jsonschema:"the id of the run that is resumed"`
	For     WaitsFor `json:"waits_for"`
}

// TreeEnd is the line of a run about its work tree, after its events.
type TreeEnd struct {
	Event    string `json:"event"`
	Instance string `json:"instance_id"`
	Worktree string `json:"worktree"`
	Branch   string `json:"branch"`
	Kept     bool   `json:"kept"`
	Merged   Text   `json:"merged_into"`
	Commits  int    `json:"commits"`
	Changed  int    `json:"changed_files"`
	Why      Text   `json:"why"`
	Error    string `json:"error,omitempty"`
}

// Background is a run in the background.
type Background struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string `json:"loop"`
	PID      int    `json:"pid"`
	Log      Text   `json:"log" jsonschema:"the file of its output; absolute"`
}

// BackgroundQueued is a run in the background that waits in the queue.
type BackgroundQueued struct {
	QueueID string `json:"queue_id"`
	Loop    string `json:"loop"`
	PID     int    `json:"pid"`
	Log     Text   `json:"log" jsonschema:"the file of its output; absolute"`
	For     string `json:"waits_for" jsonschema:"a sentence"`
}

// PlannedTree is the work tree of a plan.
type PlannedTree struct {
	Path       string `json:"path"`
	Of         string `json:"of,omitempty" jsonschema:"the run whose work tree is used"`
	Branch     string `json:"branch,omitempty"`
	New        *bool  `json:"new_branch,omitempty"`
	Commit     string `json:"commit,omitempty"`
	End        string `json:"end,omitempty" jsonschema:"what is done with it when the run has ended"`
	LeftBy     *Text  `json:"left_by,omitempty" jsonschema:"the run that left it"`
	Changed    *int   `json:"changed_files,omitempty"`
	Submodules *bool  `json:"submodules,omitempty"`
}

// RunPlan is what a run would do.
type RunPlan struct {
	Loop     string         `json:"loop"`
	File     string         `json:"file" jsonschema:"absolute"`
	Initial  string         `json:"initial"`
	MaxSteps int            `json:"max_steps"`
	Context  *value.Map     `json:"context"`
	States   []PlannedState `json:"states"`
	Worktree *PlannedTree   `json:"worktree,omitempty"`
}

// PlannedState is a state of a plan.
type PlannedState struct {
	Name     string        `json:"name"`
	Action   Text          `json:"action"`
	Terminal bool          `json:"terminal"`
	Failure  bool          `json:"failure"`
	Loop     string        `json:"loop,omitempty"`
	With     *value.Map    `json:"with,omitempty"`
	Fragment string        `json:"fragment,omitempty"`
	Evaluate string        `json:"evaluate,omitempty" jsonschema:"the type of the evaluator"`
	To       Pairs[string] `json:"to" jsonschema:"the state behind each verdict"`
}

// ForkPlan is from where a fork would continue.
type ForkPlan struct {
	ForkedFrom Origin     `json:"forked_from"`
	Loop       string     `json:"loop"`
	File       string     `json:"file" jsonschema:"absolute"`
	State      string     `json:"state" jsonschema:"that it begins with"`
	Step       int        `json:"step"`
	MaxSteps   int        `json:"max_steps"`
	Changed    []string   `json:"changed" jsonschema:"what differs from the other run, as sentences"`
	Copies     Text       `json:"copies" jsonschema:"the folder that is copied"`
	Context    *value.Map `json:"context"`
	Captured   []string   `json:"captured" jsonschema:"names of the captures it has"`

	Items []ForkItems `json:"items,omitempty" jsonschema:"the lists whose failed items are done again"`
}

// ForkItems counts the items that a fork takes over.
type ForkItems struct {
	State string `json:"state"`
	Count int    `json:"count" jsonschema:"of its items"`
	Taken int    `json:"taken" jsonschema:"of these, over from the other run"`
}

// Question is an open question of a run.
type Question struct {
	Address  string        `json:"address" jsonschema:"for --question"`
	Instance string        `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string        `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string        `json:"loop"`
	State    string        `json:"state"`
	Text     string        `json:"question"`
	Choices  []string      `json:"choices"`
	Fields   Pairs[string] `json:"fields" jsonschema:"their types by name"`
	Show     Text          `json:"show"`
	Who      []string      `json:"who"`
	Confirm  []string      `json:"confirm" jsonschema:"choices that are to be confirmed"`
	Since    Time          `json:"since"`
	Until    Text          `json:"until"`
	Reminded int           `json:"reminders" jsonschema:"how many reminders were sent"`
	RemindAt Text          `json:"remind_at" jsonschema:"when the next one is due"`
	Quorum   int           `json:"quorum" jsonschema:"how many equal answers of different people decide"`
	Votes    []Vote        `json:"votes" jsonschema:"the answers so far, where several decide: the last one of each person"`
}

// Vote is an answer of one of several people.
type Vote struct {
	Choice string     `json:"choice"`
	By     Text       `json:"by"`
	Fields *value.Map `json:"fields"`
	At     Time       `json:"at"`
}

// Answered is a question that was answered.
type Answered struct {
	Question
	Choice Text `json:"choice" jsonschema:"null where the question is taken back"`
	By     Text `json:"by"`
	Alive  bool `json:"alive" jsonschema:"false where the run continues when it is resumed"`
	Done   bool `json:"answered" jsonschema:"false where the question needs more equal answers"`
}

// Watched is a line of watch about a run.
type Watched struct {
	Time         Time     `json:"time"`
	Instance     string   `json:"instance_id" jsonschema:"the id of the run"`
	RunID        string   `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop         string   `json:"loop"`
	Status       string   `json:"status"`
	Outcome      string   `json:"outcome" jsonschema:"the status of a run that is running, or the outcome of one that ended"`
	Alive        bool     `json:"alive"`
	State        string   `json:"current_state"`
	Iteration    int      `json:"iteration" jsonschema:"the number of the last step"`
	MaxSteps     Int      `json:"max_steps"`
	Elapsed      int64    `json:"elapsed_ms" jsonschema:"the same as duration_ms"`
	Duration     int64    `json:"duration_ms"`
	Cost         *float64 `json:"cost_usd" jsonschema:"null where a part is not known"`
	Most         *float64 `json:"max_cost_usd,omitempty" jsonschema:"the most that it can be, where a part is not known and the agent ended each such prompt above a limit"`
	Waiting      *Waiting `json:"waiting" jsonschema:"for what and until when it waits, as in status"`
	TerminatedBy Text     `json:"terminated_by"`
	Error        Text     `json:"error"`
	Ending
}

// WatchedWaiter is a line of watch about a waiter.
type WatchedWaiter struct {
	QueuedStatus
	Time Time `json:"time"`
}

// ComparedRun is one of two runs that are compared.
type ComparedRun struct {
	Instance     string   `json:"instance_id" jsonschema:"the id of the run"`
	Loop         string   `json:"loop"`
	Status       Text     `json:"status"`
	TerminatedBy Text     `json:"terminated_by"`
	State        string   `json:"current_state"`
	Steps        int      `json:"iterations" jsonschema:"how many steps it made"`
	Duration     int64    `json:"duration_ms"`
	SHA256       Text     `json:"sha256" jsonschema:"of its definition"`
	Cost         *float64 `json:"cost_usd" jsonschema:"null where a part is not known"`
	Known        float64  `json:"known_cost_usd"`
	Most         *float64 `json:"max_cost_usd,omitempty" jsonschema:"the most that it can be, where a part is not known and the agent ended each such prompt above a limit"`
	Unknown      int      `json:"unknown_costs"`
}

// ComparedStep is a step of a run that is compared.
type ComparedStep struct {
	Step     string `json:"step" jsonschema:"its number, with those of its parents before it"`
	State    string `json:"state" jsonschema:"with the states of its parents"`
	Exit     *int   `json:"exit_code"`
	Verdict  Text   `json:"verdict"`
	To       Text   `json:"to"`
	Duration int64  `json:"duration_ms"`
	First    uint64 `json:"first_event"`
	Last     uint64 `json:"last_event"`
}

// Comparison is what diff prints.
type Comparison struct {
	First      ComparedRun    `json:"first"`
	Second     ComparedRun    `json:"second"`
	Longer     int64          `json:"second_took_longer_ms"`
	Shared     int            `json:"steps_before_fork" jsonschema:"steps that both have because one was forked from the other"`
	Divergence *Divergence    `json:"divergence" jsonschema:"null where the runs took the same steps"`
	Steps      []ComparedPair `json:"steps"`
	Values     []string       `json:"values" jsonschema:"what differs in context and captures, as sentences"`
	Notes      []string       `json:"notes"`
}

// Divergence is where two runs first differ.
type Divergence struct {
	Same   int           `json:"same_before" jsonschema:"how many pairs of steps are the same before it"`
	First  *ComparedStep `json:"first"`
	Second *ComparedStep `json:"second"`
}

// ComparedPair is a pair of steps.
type ComparedPair struct {
	Same   bool          `json:"same"`
	First  *ComparedStep `json:"first"`
	Second *ComparedStep `json:"second"`
}

// Finding is what doctor found. Its schema allows other keys.
type Finding struct {
	Check  string `json:"check" jsonschema:"the keys beyond these depend on it"`
	Level  string `json:"level" jsonschema:"ok, warning or problem"`
	Text   string `json:"text"`
	Todo   Text   `json:"todo" jsonschema:"what to do"`
	Tested bool   `json:"tested" jsonschema:"false: there was nothing to look at: an agent is not installed, or nothing was found to try a rule of a sandbox with"`
	More   any    `json:"-"` // a struct with the keys that depend on the check; nil = none
}

// JSONValue returns the finding with all its keys.
func (f Finding) JSONValue() any {
	type head Finding
	m := value.Object(head(f))
	if f.More != nil {
		for k, v := range value.Object(f.More).All() {
			m.Set(k, v)
		}
	}
	return m
}

// FoundHost is what is known of an agent host.
type FoundHost struct {
	Host       string   `json:"host"`
	Path       Text     `json:"path"`
	Version    Text     `json:"version"`
	Declared   bool     `json:"declared"`
	Documented bool     `json:"from_documentation"`
	Mapped     []string `json:"mapped"`
	Ignored    []string `json:"ignored"`
	Usage      bool     `json:"says_usage"`
	Cost       bool     `json:"says_cost"`
	Chosen     bool     `json:"chosen"`
}

// FoundTest is the test of an agent host.
type FoundTest struct {
	Host     string `json:"host"`
	Test     Text   `json:"test"`
	Duration *int64 `json:"duration_ms,omitempty"`
	*FoundReply
}

// FoundReply is what a host answered to a test.
type FoundReply struct {
	Failure Text     `json:"failure"`
	Model   Text     `json:"model"`
	Tokens  int64    `json:"tokens"`
	Cost    *float64 `json:"cost_usd"`
}

// FoundType is an action type of the settings.
type FoundType struct {
	Name    string   `json:"name"`
	Host    Text     `json:"host"`
	Program []string `json:"program"`
}

// FoundDisk is how much room there is.
type FoundDisk struct {
	Free int64 `json:"free_bytes"`
}

// FoundRuns are runs by their ids.
type FoundRuns struct {
	Runs []string `json:"runs"`
}

// Repair is a repair of doctor --fix.
type Repair struct {
	Check  string `json:"check"`
	Repair string `json:"repair" jsonschema:"a sentence"`
	Result string `json:"result" jsonschema:"fixed, failed or left"`
	Error  Text   `json:"error"`
}

// Submitted is a run that was submitted.
type Submitted struct {
	Instance string   `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string   `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string   `json:"loop"`
	Status   string   `json:"status" jsonschema:"queued"`
	Queue    string   `json:"queue"`
	Key      Text     `json:"key"`
	Priority int      `json:"priority" jsonschema:"1 is first, 4 is last"`
	Labels   []string `json:"labels"`
	At       Text     `json:"at" jsonschema:"it does not begin before"`
}

// Drained is a worker that was asked to end.
type Drained struct {
	ID string `json:"worker_id"`
}

// Worker carries submitted runs.
type Worker struct {
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
	DrainedBy Text     `json:"drained_by" jsonschema:"the user who asked it to end; null = none"`
	LastError Text     `json:"last_error"`
}

// OutcomeGroup counts the runs of one outcome.
type OutcomeGroup struct {
	Outcome string `json:"outcome"`
	Runs    int    `json:"runs"`
	P50     int64  `json:"p50_ms" jsonschema:"the median of how long they took"`
	P95     int64  `json:"p95_ms"`
	Longest int64  `json:"longest_ms"`
	Newest  string `json:"newest" jsonschema:"the id of a run"`
	AskedCost
}

// DayGroup counts the runs of one day.
type DayGroup struct {
	Day      string         `json:"day" jsonschema:"of the local time zone"`
	Runs     int            `json:"runs" jsonschema:"that began on it"`
	Outcomes map[string]int `json:"outcomes" jsonschema:"how many of them have each outcome"`
}
