package api

import "loops/fsm/value"

// Owner is the process that carries a run, or waits in the queue.
type Owner struct {
	PID   int  `json:"pid"`
	Host  Text `json:"host" jsonschema:"the machine"`
	Boot  Text `json:"boot" jsonschema:"the id of the start of that machine"`
	Start any  `json:"start" jsonschema:"when the process began, as the machine counts"`
}

// VisitText is the text about one visit.
type VisitText struct {
	State  Text     `json:"state" jsonschema:"with the states of its parents"`
	Step   Int      `json:"step"`
	Number Text     `json:"number" jsonschema:"the step, with those of its parents before it"`
	Text   string   `json:"text"`
	Events []uint64 `json:"events" jsonschema:"numbers of the events that show it"`
}

// Queued is a waiter in the queue, as a status has it.
type Queued struct {
	ID       string   `json:"id" jsonschema:"queue_id of queue list"`
	Loop     string   `json:"loop"`
	Instance Text     `json:"instance_id" jsonschema:"the id of the run that it resumes"`
	PID      int      `json:"pid"`
	Host     Text     `json:"host"`
	Since    Time     `json:"since"`
	Waits    int64    `json:"waits_ms"`
	Scope    []string `json:"scope"`
	Log      Text     `json:"log" jsonschema:"the file of its output"`
	For      QueuedAt `json:"for" jsonschema:"what it waits for"`
}

// QueuedAt is what a waiter waits for.
type QueuedAt struct {
	Path     Text `json:"path"`
	Loop     Text `json:"loop"`
	Instance Text `json:"instance_id"`
	Waiter   Text `json:"waiter"`
	Since    Text `json:"since"`
}

// QueuedStatus is instead of a run that has not begun.
type QueuedStatus struct {
	Loop      string   `json:"loop"`
	LoopName  string   `json:"loop_name" jsonschema:"the same, as little-loops calls it"`
	Instance  Text     `json:"instance_id" jsonschema:"the id of the run that it resumes"`
	Status    string   `json:"status" jsonschema:"queued"`
	Alive     bool     `json:"alive"`
	PID       int      `json:"pid"`
	Owner     *Owner   `json:"owner"`
	Resumable bool     `json:"resumable"`
	Queued    []Queued `json:"queued" jsonschema:"itself"`
	Log       Text     `json:"log" jsonschema:"the file of its output"`
}

// RunOrigin is where a run comes from, and what workers do about it.
type RunOrigin struct {
	Project     string     `json:"project,omitempty" jsonschema:"the project of the run: its name or the path of its folder; with --all-projects"`
	StartedBy   string     `json:"started_by,omitempty" jsonschema:"what started it: run ID for an action of that run, schedule TIME for a schedule; absent for a user"`
	ScheduledAt string     `json:"scheduled_at,omitempty" jsonschema:"the time of its schedule that it was started for, in the zone of the schedule; a fork has that of the run it comes from"`
	ForkedFrom  *Origin    `json:"forked_from,omitempty"`
	Placement   *Placement `json:"placement,omitempty" jsonschema:"what workers do about a submitted run that no process owns"`
}

// Ending is why a run ended, and the result of its failures and its branch.
type Ending struct {
	Reason  Text `json:"reason" jsonschema:"why the run ended"`
	Ignored Text `json:"ignored_failures" jsonschema:"which actions failed on the way without changing it"`
	Merge   Text `json:"merge" jsonschema:"the result of the merge that worktree: merge asks for: done, conflict or refused; null where none was to be made"`
	// of a suspended run
	SuspendedBy string `json:"suspended_by,omitempty" jsonschema:"what a suspended run waits for, as loops unblock takes it: an agent, a model of one, the server of a tool or the host of an address"`
	Remedy      string `json:"remedy,omitempty" jsonschema:"what a person does before a suspended run can continue"`
}

// RunTree is the work tree of a run.
type RunTree struct {
	Path   string `json:"path"`
	Branch Text   `json:"branch"`
	End    string `json:"end"`
	Of     Text   `json:"of"`
}

// Standing is what all objects of a run that may be running have.
type Standing struct {
	Loop         string `json:"loop"`
	LoopName     string `json:"loop_name" jsonschema:"the same, as little-loops calls it"`
	RunID        string `json:"run_id" jsonschema:"as little-loops calls it"`
	Instance     string `json:"instance_id" jsonschema:"the id of the run"`
	Status       Text   `json:"status"`
	Outcome      string `json:"outcome" jsonschema:"the status of a run that is running, or the outcome of one that ended"`
	State        string `json:"current_state"`
	Iteration    int    `json:"iteration" jsonschema:"the number of the last step"`
	Passes       int    `json:"iteration_count" jsonschema:"passes, as max_iterations counts them"`
	MaxSteps     Int    `json:"max_steps"`
	Started      Text   `json:"started_at"`
	Updated      Text   `json:"updated_at"`
	Elapsed      int64  `json:"elapsed_ms" jsonschema:"the same as duration_ms"`
	Duration     int64  `json:"duration_ms"`
	PID          Int    `json:"pid"`
	Alive        bool   `json:"alive"`
	Owner        *Owner `json:"owner"`
	Archived     bool   `json:"archived"`
	Resumable    bool   `json:"resumable"`
	TerminatedBy Text   `json:"terminated_by"`
	Error        Text   `json:"error"`
	Message      Text   `json:"message"`
	Continuation Text   `json:"continuation_prompt"`
	Reconciled   Text   `json:"reconciled_at"`
	File         Text   `json:"file" jsonschema:"of the loop, absolute"`
	EventsFile   Text   `json:"events_file"`
	RunDir       string `json:"run_dir"`
	RunOrigin
	Worktree    *RunTree `json:"worktree,omitempty"`
	Store       string   `json:"store,omitempty" jsonschema:"absent where runs are in files"`
	Damage      []string `json:"damage,omitempty" jsonschema:"what is known to be damaged of its record, and was not accepted"`
	Captured    Object   `json:"captured" jsonschema:"captures by name"`
	PrevResult  Object   `json:"prev_result"`
	LastResult  Object   `json:"last_result"`
	Accumulated int64    `json:"accumulated_ms"`
	Log         Text     `json:"log_file"`
	PIDSource   Text     `json:"pid_source"`
	LastEvent   Text     `json:"last_event" jsonschema:"as a line of text"`
}

// OpenWaits are what a run waits for; all are absent where it waits for nothing.
type OpenWaits struct {
	Waiting *Waiting    `json:"waiting,omitempty" jsonschema:"the first of waits"`
	Waits   *[]OpenWait `json:"waits,omitempty" jsonschema:"all that it waits for"`
}

// OpenRun is a run that is running or can be resumed.
type OpenRun struct {
	Standing
	Ending
	Idle      *int64 `json:"idle_ms"`
	Unowned   bool   `json:"owner_unknown,omitempty" jsonschema:"whether it was recorded without an owner"`
	Elsewhere bool   `json:"owner_elsewhere" jsonschema:"whether the owner cannot be seen from here"`
	OpenWaits
	PauseAsked Time `json:"pause_asked_at,omitempty"`
}

// Status is all that is known of where a run is.
type Status struct {
	Standing
	Path      []StatusLevel  `json:"path" jsonschema:"where the run is, from the outermost loop"`
	Lease     Text           `json:"lease_until"`
	Idle      *int64         `json:"idle_ms"`
	Action    *StatusAction  `json:"action"`
	Git       *StatusGit     `json:"git,omitempty" jsonschema:"what git does for the run beside its actions, as merging a branch; absent where it does nothing"`
	FilesLeft string         `json:"files_left,omitempty" jsonschema:"which of its files do not travel with it, and why; absent if all do"`
	Items     *StatusItems   `json:"items,omitempty"`
	Branches  []StatusBranch `json:"branches,omitempty"`
	Used      *StatusUsed    `json:"used" jsonschema:"by prompts and judges"`
	Verdict   *VisitVerdict  `json:"verdict" jsonschema:"the last one"`
	Way       *VisitRoute    `json:"way" jsonschema:"the last transition"`
	Limits    []StatusLimit  `json:"limits"`
	Ending
	Why         Text     `json:"why" jsonschema:"the same at more length, or what the run waits for"`
	Elsewhere   bool     `json:"owner_elsewhere" jsonschema:"whether the owner cannot be seen from here"`
	Queued      []Queued `json:"queued" jsonschema:"those who wait to resume it"`
	Next        Text     `json:"next" jsonschema:"what a user can do, as resume"`
	NextCommand Text     `json:"next_command"`
	OpenWaits
	Answers    []Given `json:"answers,omitempty" jsonschema:"to its questions, in the order in which they were given"`
	PauseAsked Time    `json:"pause_asked_at,omitempty"`
}

// StatusLevel is where a run is in one of the loops that it is in.
type StatusLevel struct {
	Loop     string `json:"loop"`
	State    string `json:"state"`
	Step     int    `json:"step"`
	MaxSteps Int    `json:"max_steps"`
}

// StatusAction is the last action.
type StatusAction struct {
	Text    string `json:"text"`
	Started Text   `json:"started_at"`
	Running int64  `json:"running_ms"`
}

// StatusGit is what git does for a run.
type StatusGit struct {
	Doing string `json:"doing"`
	Since Time   `json:"since"`
}

// StatusItems counts the items of the list that a run is in.
type StatusItems struct {
	Count   int   `json:"count"`
	Done    int   `json:"done"`
	Failed  int   `json:"failed"`
	Running int   `json:"running"`
	Left    int64 `json:"left_ms" jsonschema:"how long the rest may take"`
}

// StatusBranch is a branch of a run.
type StatusBranch struct {
	Name    string `json:"name"`
	Begun   bool   `json:"begun"`
	State   Text   `json:"state"`
	Verdict Text   `json:"verdict"`
}

// StatusUsed is what prompts and judges used.
type StatusUsed struct {
	Cost    *float64 `json:"cost_usd" jsonschema:"null where a part is not known"`
	Unknown int      `json:"unknown_costs" jsonschema:"prompts and judges whose cost is not known"`
	Tokens  int64    `json:"tokens"`
	Prompts int      `json:"prompts"`
	Known   *float64 `json:"known_cost_usd,omitempty" jsonschema:"absent where all is known"`
	Most    *float64 `json:"max_cost_usd,omitempty" jsonschema:"the most that it can be, where a part is not known and the agent ended each such prompt above a limit"`
}

// VisitVerdict is a verdict and its reasons.
type VisitVerdict struct {
	VisitText
	Verdict string `json:"verdict"`
}

// VisitRoute is a transition and its reasons.
type VisitRoute struct {
	VisitText
	To string `json:"to" jsonschema:"the next state"`
}

// StatusLimit is how much of a limit is used up.
type StatusLimit struct {
	Limit string  `json:"limit"`
	Loop  string  `json:"loop"`
	State Text    `json:"state"`
	Used  *Number `json:"used" jsonschema:"times in seconds; null where it is not known"`
	Most  Number  `json:"most"`
	Share *Number `json:"share"`
	Ends  bool    `json:"ends_run" jsonschema:"false where it leads to another state"`
}

// Given is an answer to a question of a run.
type Given struct {
	Address  string     `json:"address" jsonschema:"of the question"`
	State    Text       `json:"state" jsonschema:"that asked; null where a former version recorded the answer"`
	Path     Text       `json:"path" jsonschema:"the branches and items that the state is in"`
	Question Text       `json:"question" jsonschema:"its first 4 KiB"`
	Choice   string     `json:"choice" jsonschema:"withdrawn where the question was taken back"`
	Fields   *value.Map `json:"fields"`
	By       Text       `json:"by" jsonschema:"who answered"`
	At       Time       `json:"at"`
}

// Waiting is a wait of a run. The keys after host are those of a state that waits.
type Waiting struct {
	For     string  `json:"for"`
	Tier    Text    `json:"tier"`
	State   string  `json:"state"`
	Since   Time    `json:"since"`
	Until   Text    `json:"until"`
	Left    *int64  `json:"seconds_left"`
	Host    Text    `json:"host"`
	What    *string `json:"what,omitempty"`
	Event   *Text   `json:"event,omitempty"`
	Choices *Text   `json:"choices,omitempty"`
	Asks    *Text   `json:"question,omitempty" jsonschema:"the address of the question, for --question"`
	Checks  *int    `json:"checks,omitempty"`
	Seen    *Text   `json:"seen,omitempty"`
}

// OpenWait is a wait and its place.
type OpenWait struct {
	Waiting
	Address string `json:"address" jsonschema:"the steps that lead to the state that waits"`
	Path    Text   `json:"path" jsonschema:"the branches and items that it is in, outermost first"`
}
