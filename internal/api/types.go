package api

import (
	"loops/fsm"
	"loops/fsm/value"
)

// Settings is what config show prints.
type Settings struct {
	Files    []SettingsFile `json:"files"`
	Settings []Setting      `json:"settings"`
	Mistakes []Mistake      `json:"mistakes"`
	Warnings []Mistake      `json:"warnings"`
}

// SettingsFile is a file with settings.
type SettingsFile struct {
	File   string `json:"file" jsonschema:"absolute"`
	Layer  string `json:"layer" jsonschema:"reference (of little-loops), user or project"`
	Exists bool   `json:"exists"`
}

// Setting is a value that holds, and where it comes from.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value" jsonschema:"null where it is not set"`
	Origin string `json:"origin" jsonschema:"what sets it, as default"`
	Name   string `json:"name,omitempty" jsonschema:"of the variable or flag that sets it"`
	File   string `json:"file,omitempty" jsonschema:"that sets it"`
	Line   *Int   `json:"line,omitempty"`
}

// Mistake is a mistake in a file with settings.
type Mistake struct {
	File    string `json:"file"`
	Line    Int    `json:"line"`
	Column  Int    `json:"column"`
	Message string `json:"message"`
}

// Sentence is a sentence about events.
type Sentence struct {
	Text   string   `json:"text"`
	Events []uint64 `json:"events" jsonschema:"numbers of the events that show it"`
}

// Placement is what workers do about a submitted run that no process owns.
type Placement struct {
	Queue   string   `json:"queue"`
	Labels  []string `json:"labels"`
	Open    bool     `json:"open" jsonschema:"whether workers may take it"`
	Heard   bool     `json:"heard" jsonschema:"whether a worker that may take it is heard of"`
	Carried bool     `json:"carried" jsonschema:"whether a worker continues it, so that no user has to"`
	Text    string   `json:"text"`
}

// Explanation is why a run is where it is, step by step.
type Explanation struct {
	Instance     string `json:"instance_id" jsonschema:"the id of the run"`
	Loop         string `json:"loop"`
	Status       Text   `json:"status"`
	TerminatedBy Text   `json:"terminated_by"`
	Ending
	RunOrigin
	Damage []string        `json:"damage,omitempty" jsonschema:"what is known to be damaged of its record, and was not accepted"`
	Run    []Sentence      `json:"run" jsonschema:"about the whole run"`
	Steps  []ExplainedStep `json:"steps"`
}

// ExplainedStep is what is said about a step.
type ExplainedStep struct {
	Step        int        `json:"step"`
	Number      string     `json:"number" jsonschema:"the step, with those of its parents before it"`
	State       string     `json:"state" jsonschema:"with the states of its parents"`
	Verdict     Text       `json:"verdict"`
	To          Text       `json:"to" jsonschema:"the next state"`
	Duration    int64      `json:"duration_ms"`
	Attempts    int        `json:"attempts"`
	Waited      int64      `json:"waited_ms"`
	Paused      int64      `json:"paused_ms"`
	Interrupted int64      `json:"interrupted_ms"`
	First       uint64     `json:"first_event"`
	Last        uint64     `json:"last_event"`
	Sentences   []Sentence `json:"sentences"`
}

// Exported is what export prints.
type Exported struct {
	Instance string   `json:"instance_id" jsonschema:"the id of the run"`
	Loop     string   `json:"loop"`
	File     string   `json:"file" jsonschema:"that was written"`
	Bytes    int64    `json:"bytes"`
	Events   int      `json:"events"`
	Files    int      `json:"files"`
	LeftOut  []string `json:"left_out" jsonschema:"files that are not regular"`
	SHA256   string   `json:"sha256" jsonschema:"of the events"`
	// what loops undo needs
	Snapshots bool `json:"snapshots,omitempty" jsonschema:"whether it has the snapshots of the files of the project"`
	// what earlier runs left
	Memories []string `json:"memories,omitempty" jsonschema:"files of memories that it has"`
}

// Imported is what import prints.
type Imported struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	Loop     string `json:"loop"`
	Status   string `json:"status"`
	Result   string `json:"result"`
	Events   int    `json:"events"`
	Files    int    `json:"files"`
	SHA256   string `json:"sha256" jsonschema:"of the events"`
	// what loops undo needs
	Snapshots     bool   `json:"snapshots,omitempty" jsonschema:"whether the snapshots of its files were taken into the repository"`
	SnapshotsLost string `json:"snapshots_lost,omitempty" jsonschema:"why they were not, although FILE has some"`
	// what earlier runs left
	Memories      []string `json:"memories,omitempty" jsonschema:"names of the memories in FILE"`
	MemoriesTaken bool     `json:"memories_taken,omitempty" jsonschema:"whether they were added to those of the project"`
}

// Fragment is a fragment of a library.
type Fragment struct {
	Name        string                   `json:"name"`
	Does        Text                     `json:"does"`
	Description Text                     `json:"description"`
	Parameters  Pairs[FragmentParameter] `json:"parameters" jsonschema:"by name"`
}

// FragmentParameter is a parameter of a fragment.
type FragmentParameter struct {
	Type        string `json:"type"`
	Required    bool   `json:"required"`
	Default     any    `json:"default"`
	Description Text   `json:"description"`
}

// Listed is a loop of a library.
type Listed struct {
	Name        string    `json:"name" jsonschema:"the name that commands find it by"`
	Loop        string    `json:"loop"`
	Path        string    `json:"path" jsonschema:"the same as file, as little-loops calls it"`
	File        string    `json:"file" jsonschema:"absolute"`
	Description string    `json:"description"`
	Category    Text      `json:"category"`
	Labels      []string  `json:"labels"`
	Visibility  Text      `json:"visibility"`
	Problem     string    `json:"problem,omitempty" jsonschema:"why it cannot run"`
	LastRun     **LastRun `json:"last_run,omitempty" jsonschema:"null where the loop never ran"`
	Catalog     bool      `json:"catalog,omitempty" jsonschema:"whether it is of the catalog"`
	BuiltIn     bool      `json:"built_in,omitempty" jsonschema:"the same, as little-loops calls it"`
}

// LastRun is the newest run of a loop.
type LastRun struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Status   Text   `json:"status"`
	Outcome  string `json:"outcome"`
	Ending
	Started Time     `json:"started_at"`
	Updated Text     `json:"updated_at"`
	Damage  []string `json:"damage,omitempty" jsonschema:"what is known to be damaged of its record, and was not accepted"`
}

// Paused is a run that was asked to pause.
type Paused struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string `json:"loop"`
	PID      int    `json:"pid"`
	Paused   bool   `json:"paused" jsonschema:"false where the current action ends first"`
	State    string `json:"current_state"`
}

// Unpaused is a run that was asked to continue.
type Unpaused struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Loop     string `json:"loop"`
	GoesOn   bool   `json:"goes_on" jsonschema:"whether a process carries the run"`
	State    string `json:"current_state"`
}

// Waiter is a waiter in the queue.
type Waiter struct {
	ID        string   `json:"queue_id"`
	Loop      string   `json:"loop"`
	Resumes   Text     `json:"resumes" jsonschema:"the id of the run that it resumes"`
	Since     Time     `json:"since"`
	Place     int      `json:"place"`
	WaitsFor  WaitsFor `json:"waits_for"`
	Scope     []string `json:"scope"`
	Singleton bool     `json:"singleton"`
	PID       int      `json:"pid"`
	Host      Text     `json:"host"`
	Log       Text     `json:"log" jsonschema:"the file of its output"`
	Foreign   bool     `json:"reference_tool" jsonschema:"whether little-loops waits"`
}

// WaitsFor is what a waiter waits for.
type WaitsFor struct {
	Loop     Text `json:"loop"`
	Instance Text `json:"instance_id"`
	ID       Text `json:"queue_id"`
	Path     Text `json:"path"`
	Since    Text `json:"since"`
}

// RemovedWaiter is a waiter that was taken out of the queue.
type RemovedWaiter struct {
	ID    string `json:"queue_id"`
	Loop  string `json:"loop"`
	PID   int    `json:"pid"`
	Ended bool   `json:"ended" jsonschema:"whether its process ended"`
}

// Rendered is what render prints.
type Rendered struct {
	Loop    string         `json:"loop"`
	State   string         `json:"state"`
	Type    Text           `json:"action_type"`
	Action  string         `json:"action"`
	Params  *value.Map     `json:"params,omitempty"`
	Unknown []UnknownValue `json:"unknown" jsonschema:"templates whose value only a run knows"`
}

// UnknownValue is a template whose value only a run knows.
type UnknownValue struct {
	Reference string `json:"reference"`
	Reason    string `json:"reason"`
}

// Undone is what undo prints.
type Undone struct {
	Instance string        `json:"instance_id" jsonschema:"the id of the run"`
	Loop     string        `json:"loop"`
	Folder   string        `json:"folder" jsonschema:"absolute, whose files were put back"`
	To       string        `json:"to" jsonschema:"the snapshot that was put back, as 3 before"`
	Commit   string        `json:"commit" jsonschema:"of that snapshot"`
	DryRun   bool          `json:"dry_run"`
	Changes  []ChangedFile `json:"changes"`
	Others   []string      `json:"others" jsonschema:"files that differed from the last snapshot of the run"`
	Found    Text          `json:"found" jsonschema:"the commit with the files as they were before; null where nothing was changed"`
}

// ChangedFile is a file that undo changed.
type ChangedFile struct {
	Path   string `json:"path" jsonschema:"from the folder"`
	Change string `json:"change" words:"added,changed,deleted"`
}

// Snapshot is a commit with the files of a run as they were at a time.
type Snapshot struct {
	To     string `json:"to" jsonschema:"what undo --to takes for it"`
	Step   Text   `json:"step" jsonschema:"null of the files as an undo or a fork found or left them"`
	When   string `json:"when" words:"before,after,found,restored"`
	Time   Time   `json:"time"`
	Commit string `json:"commit" jsonschema:"that has the files"`
	Folder Text   `json:"folder" jsonschema:"the work tree that has the files, relative to the folder of the run; null = they are in that folder"`
}

// Blamed is a line of a file, and the step that wrote it.
type Blamed struct {
	File        string      `json:"file" jsonschema:"absolute"`
	Line        int         `json:"line" jsonschema:"counted from 1"`
	Text        string      `json:"text" jsonschema:"the line as it is now"`
	Instance    string      `json:"instance_id" jsonschema:"the id of the run"`
	Loop        string      `json:"loop"`
	Step        string      `json:"step" jsonschema:"as explain and undo take it"`
	Time        Time        `json:"time" jsonschema:"when the files were kept after the step"`
	Commit      string      `json:"commit" jsonschema:"with the files as they were then"`
	Explanation Explanation `json:"explanation" jsonschema:"of the step, as explain prints it"`
}

// TrustedLoop is a loop of others that may run as it was.
type TrustedLoop struct {
	Loop  string            `json:"loop"`
	File  string            `json:"file" jsonschema:"from the project, or absolute"`
	Why   string            `json:"why" words:"asked,command,ran" jsonschema:"it was shown before a run, loops trust was given, or it had completed a run before loops asked"`
	Time  Time              `json:"time"`
	Files map[string]string `json:"files" jsonschema:"SHA-256 of each file that it is made of, by its path"`
}

// ForgottenTrust is what trust --forget did.
type ForgottenTrust struct {
	Name      string `json:"name"`
	Forgotten bool   `json:"forgotten" jsonschema:"whether it was trusted"`
}

// Scrubbed is what scrub found of a run.
type Scrubbed struct {
	Instance string        `json:"instance_id" jsonschema:"the id of the run"`
	Loop     string        `json:"loop"`
	DryRun   bool          `json:"dry_run"`
	Found    []FoundSecret `json:"found"`
	Left     []LeftFile    `json:"left" jsonschema:"files that were left as they are"`
}

// FoundSecret is a kind of secret in a part of what is recorded of a run. It has no value.
type FoundSecret struct {
	Where string `json:"where" jsonschema:"events, memory, commands or definition, or the absolute path of a file"`
	Kind  string `json:"kind" jsonschema:"a declared name, or the shape of a token as in github-token"`
	Count int    `json:"count"`
}

// LeftFile is a file that scrub left as it is.
type LeftFile struct {
	File string `json:"file" jsonschema:"absolute"`
	Why  string `json:"why"`
}

// Unblocked is what unblock prints.
type Unblocked struct {
	Agents []string `json:"agents" jsonschema:"agents, and models of agents, that runs use again"`
	Runs   []string `json:"runs" jsonschema:"ids of the runs that continue"`
}

// RunReceipt is what receipt prints.
type RunReceipt struct {
	Instance  string       `json:"instance_id" jsonschema:"the id of the run"`
	Loop      string       `json:"loop"`
	Signature string       `json:"signature" words:"none,accepted,unknown,forged" jsonschema:"accepted: by a key of dispatch.keys or that of the user; unknown: by another one; forged: not of this receipt"`
	Receipt   *fsm.Receipt `json:"receipt" jsonschema:"null of a run that did not complete, and of one of an earlier version"`
}

// Verified is what verify prints.
type Verified struct {
	Instance   string          `json:"instance_id" jsonschema:"the id of the run"`
	Loop       string          `json:"loop"`
	Same       bool            `json:"same" jsonschema:"whether each check that was repeated came to the same verdict and exit code"`
	Tree       string          `json:"tree" jsonschema:"the files, a tree of git"`
	Unenforced []string        `json:"unenforced" jsonschema:"what would have kept the scripts offline and from changing other files, and cannot be enforced here"`
	Checks     []RepeatedCheck `json:"checks"`
}

// RepeatedCheck is a check of a receipt, and what it came to now.
type RepeatedCheck struct {
	Was        fsm.CheckResult  `json:"was"`
	Now        *fsm.CheckResult `json:"now" jsonschema:"null of one that was not repeated"`
	Why        Text             `json:"not_repeated" jsonschema:"why it was not"`
	Same       bool             `json:"same"`
	SameOutput bool             `json:"same_output"`
}

// Removed is what rm prints.
type Removed struct {
	Removed  []RemovedRun `json:"removed"`
	Bytes    int64        `json:"bytes" jsonschema:"that were freed"`
	Finished []string     `json:"finished" jsonschema:"ids of runs whose removal was begun before"`
}

// RemovedRun is a run whose record was removed.
type RemovedRun struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	Loop     string `json:"loop"`
	Status   Text   `json:"status"`
	Started  Text   `json:"started_at"`
	Bytes    int64  `json:"bytes"`
}

// Run is a run of a history.
type Run struct {
	RunID        string `json:"run_id" jsonschema:"as little-loops calls it"`
	Instance     string `json:"instance_id" jsonschema:"the id of the run"`
	Loop         string `json:"loop"`
	Status       Text   `json:"status"`
	Started      Time   `json:"started_at"`
	Iterations   int    `json:"iterations" jsonschema:"the same as iteration, as little-loops calls it"`
	Iteration    int    `json:"iteration" jsonschema:"the number of the last step"`
	Duration     int64  `json:"duration_ms"`
	TerminatedBy Text   `json:"terminated_by"`
	Error        Text   `json:"error"`
	State        string `json:"current_state"`
	Outcome      string `json:"outcome"`
	Ending
	Damage []string `json:"damage,omitempty" jsonschema:"what is known to be damaged of its record, and was not accepted"`
	RunOrigin
	Worktree *RunTree `json:"worktree,omitempty"`
	AskedCost
}

// AskedCost is what runs cost, with --cost.
type AskedCost struct {
	Cost    **float64 `json:"cost_usd,omitempty" jsonschema:"with --cost; null where a part is not known"`
	Known   *float64  `json:"known_cost_usd,omitempty" jsonschema:"with --cost"`
	Most    *float64  `json:"max_cost_usd,omitempty" jsonschema:"the most that it can be, where a part is not known and the agent ended each such prompt above a limit"`
	Unknown *int      `json:"unknown_costs,omitempty" jsonschema:"with --cost; of so many prompts and judges the cost is not known"`
}

// Sent is an event that was sent to a run.
type Sent struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	RunID    string `json:"run_id" jsonschema:"as little-loops calls it"`
	Event    string `json:"event"`
	Number   uint64 `json:"number"`
	At       Time   `json:"at"`
	From     Text   `json:"from"`
	Alive    bool   `json:"alive"`
	Waits    bool   `json:"waits" jsonschema:"whether the run waits for it"`
}

// Stats is what runs of a loop did, added up.
type Stats struct {
	Loop      string       `json:"loop"`
	Runs      int          `json:"runs"`
	Open      int          `json:"open"`
	Ended     int          `json:"ended"`
	Succeeded int          `json:"succeeded"`
	Rate      *float64     `json:"success_rate" jsonschema:"of those that ended"`
	Outcomes  Pairs[int]   `json:"outcomes"`
	P50       int64        `json:"p50_ms"`
	P95       int64        `json:"p95_ms"`
	Longest   int64        `json:"longest_ms"`
	Used      Used         `json:"used" jsonschema:"by prompts and judges of all runs"`
	Agents    []AgentUsed  `json:"agents" jsonschema:"the same by agent and model"`
	States    []StateStats `json:"states"`
}

// Forecast is what a run of a loop may use, by what its ended runs used.
type Forecast struct {
	Loop     string        `json:"loop"`
	Runs     int           `json:"runs" jsonschema:"that ended"`
	Needed   int           `json:"needed" jsonschema:"below so many runs it is unknown"`
	Unpriced int           `json:"unknown_costs" jsonschema:"runs whose cost is not known, which cost_usd leaves out"`
	Bounded  int           `json:"bounded_costs" jsonschema:"how many of these have a known upper bound"`
	Most     *float64      `json:"max_cost_usd,omitempty" jsonschema:"the most that one of these can have cost"`
	Uses     []ForecastUse `json:"uses"`
}

// ForecastUse is what runs use of one kind of limit.
type ForecastUse struct {
	Kind    string   `json:"kind" jsonschema:"as in a budget: cost_usd, tokens, wall (in seconds), steps or prompts"`
	Runs    int      `json:"runs" jsonschema:"that are known"`
	P50     *float64 `json:"p50" jsonschema:"null: unknown, as the next two"`
	P95     *float64 `json:"p95"`
	Worst   *float64 `json:"worst" jsonschema:"the most so far"`
	Budget  *float64 `json:"budget" jsonschema:"of the loop; null for none"`
	Reached bool     `json:"budget_reached" jsonschema:"whether a run used as much as the budget allows"`
}

// StateStats is what runs did in a state, added up.
type StateStats struct {
	State     string     `json:"state" jsonschema:"with the states of its parents"`
	Visits    int        `json:"visits"`
	Runs      int        `json:"runs"`
	P50       int64      `json:"p50_ms"`
	P95       int64      `json:"p95_ms"`
	Longest   int64      `json:"longest_ms"`
	Failed    int        `json:"failed_actions"`
	Evaluator Text       `json:"evaluator"`
	Verdicts  Pairs[int] `json:"verdicts"`
	Never     bool       `json:"never_said_no"`
}

// Copied is a run that was copied to another store.
type Copied struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	Loop     string `json:"loop"`
	Result   string `json:"result"`
	Events   *int   `json:"events"`
	SHA256   Text   `json:"sha256" jsonschema:"of the events"`
	Error    Text   `json:"error"`
}

// Change is what was found out about a run that died.
type Change struct {
	Instance string `json:"instance_id" jsonschema:"the id of the run"`
	Loop     string `json:"loop"`
	Kind     string `json:"kind"`
	Why      string `json:"why"`
}

// Checked is a loop that was checked.
type Checked struct {
	Loop       string      `json:"loop"`
	File       string      `json:"file,omitempty" jsonschema:"absolute"`
	Valid      bool        `json:"valid"`
	Violations []Violation `json:"violations"`
}

// Violation is a problem of a loop file.
type Violation struct {
	Severity string `json:"severity" jsonschema:"error or warning"`
	Rule     string `json:"rule"`
	Path     string `json:"path" jsonschema:"of the key"`
	Message  string `json:"message"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Col      *int   `json:"col,omitempty"`
}

// VersionInfo is what version prints.
type VersionInfo struct {
	Version  string   `json:"version"`
	Commit   Text     `json:"commit"`
	Date     Text     `json:"date"`
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Modules  []Module `json:"modules"`
}

// Module is a module that the program is built of.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum"`
}
