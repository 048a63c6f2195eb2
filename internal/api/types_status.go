package api

type owner struct {
	PID   int     `json:"pid"`
	Host  *string `json:"host" jsonschema:"the machine"`
	Boot  *string `json:"boot" jsonschema:"the id of the start of that machine"`
	Start any     `json:"start" jsonschema:"when the process began, as the machine counts"`
}

// sentenceOf is the text about one visit.
type sentenceOf struct {
	State  *string `json:"state" jsonschema:"with the states of its parents"`
	Step   *int    `json:"step"`
	Number *string `json:"number" jsonschema:"the step, with those of its parents before it"`
	Text   string  `json:"text"`
	Events []int   `json:"events" jsonschema:"numbers of the events that show it"`
}

type queued struct {
	ID       string   `json:"id" jsonschema:"queue_id of queue list"`
	Loop     string   `json:"loop"`
	Instance *string  `json:"instance_id" jsonschema:"the id of the run that it resumes"`
	PID      int      `json:"pid"`
	Host     *string  `json:"host"`
	Since    string   `json:"since"`
	Waits    int      `json:"waits_ms"`
	Scope    []string `json:"scope"`
	Log      *string  `json:"log" jsonschema:"the file of its output"`
	For      struct {
		Path     *string `json:"path"`
		Loop     *string `json:"loop"`
		Instance *string `json:"instance_id"`
		Waiter   *string `json:"waiter"`
		Since    *string `json:"since"`
	} `json:"for" jsonschema:"what it waits for"`
}

// queuedStatus is in the place of a run that has not begun.
type queuedStatus struct {
	Loop      string   `json:"loop"`
	LoopName  string   `json:"loop_name" jsonschema:"the same, as little-loops calls it"`
	Instance  *string  `json:"instance_id" jsonschema:"the id of the run that it resumes"`
	Status    string   `json:"status" jsonschema:"queued"`
	Alive     bool     `json:"alive"`
	PID       int      `json:"pid"`
	Owner     *owner   `json:"owner"`
	Resumable bool     `json:"resumable"`
	Queued    []queued `json:"queued" jsonschema:"itself"`
	Log       *string  `json:"log" jsonschema:"the file of its output"`
}

// A standing is what all objects of a run that may be running have.
type standing struct {
	Loop         string         `json:"loop"`
	LoopName     string         `json:"loop_name" jsonschema:"the same, as little-loops calls it"`
	RunID        string         `json:"run_id" jsonschema:"as little-loops calls it"`
	Instance     string         `json:"instance_id" jsonschema:"the id of the run"`
	Status       *string        `json:"status"`
	Outcome      string         `json:"outcome" jsonschema:"the status of a run that is running, or the outcome of one that ended"`
	State        string         `json:"current_state"`
	Iteration    int            `json:"iteration" jsonschema:"the number of the last step"`
	Passes       int            `json:"iteration_count" jsonschema:"passes, as max_iterations counts them"`
	MaxSteps     *int           `json:"max_steps"`
	Started      *string        `json:"started_at"`
	Updated      *string        `json:"updated_at"`
	Elapsed      int            `json:"elapsed_ms" jsonschema:"the same as duration_ms"`
	Duration     int            `json:"duration_ms"`
	PID          *int           `json:"pid"`
	Alive        bool           `json:"alive"`
	Owner        *owner         `json:"owner"`
	Archived     bool           `json:"archived"`
	Resumable    bool           `json:"resumable"`
	TerminatedBy *string        `json:"terminated_by"`
	Error        *string        `json:"error"`
	Message      *string        `json:"message"`
	Continuation *string        `json:"continuation_prompt"`
	Reconciled   *string        `json:"reconciled_at"`
	File         *string        `json:"file" jsonschema:"of the loop, absolute"`
	EventsFile   *string        `json:"events_file"`
	RunDir       string         `json:"run_dir"`
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
	Store       string          `json:"store,omitempty" jsonschema:"absent where runs are in files"`
	Damage      []string        `json:"damage,omitempty" jsonschema:"what is known to be damaged of its record, and was not accepted"`
	Captured    *map[string]any `json:"captured" jsonschema:"captures by name"`
	PrevResult  *map[string]any `json:"prev_result"`
	LastResult  *map[string]any `json:"last_result"`
	Accumulated int             `json:"accumulated_ms"`
	Log         *string         `json:"log_file"`
	PIDSource   *string         `json:"pid_source"`
	LastEvent   *string         `json:"last_event" jsonschema:"as a line of text"`
	Idle        *int            `json:"idle_ms"`
	Reason      *string         `json:"reason" jsonschema:"why the run ended"`
	Ignored     *string         `json:"ignored_failures" jsonschema:"which actions failed on the way without changing it"`
	Merge       *string         `json:"merge" jsonschema:"what became of the merge that worktree: merge asks for: done, conflict or refused; null where none was to be made"`
	Elsewhere   bool            `json:"owner_elsewhere" jsonschema:"whether the owner cannot be seen from here"`
	Unowned     bool            `json:"owner_unknown,omitempty" jsonschema:"whether it was recorded without an owner"`
	Waiting     *waiting        `json:"waiting,omitempty" jsonschema:"the first of waits"`
	Waits       []openWait      `json:"waits,omitempty" jsonschema:"all that it waits for"`
	PauseAsked  string          `json:"pause_asked_at,omitempty"`
}

type status struct {
	standing
	Path []struct {
		Loop     string `json:"loop"`
		State    string `json:"state"`
		Step     int    `json:"step"`
		MaxSteps *int   `json:"max_steps"`
	} `json:"path" jsonschema:"where the run is, from the outermost loop"`
	Lease  *string `json:"lease_until"`
	Action *struct {
		Text    string  `json:"text"`
		Started *string `json:"started_at"`
		Running int     `json:"running_ms"`
	} `json:"action"`
	Git *struct {
		Doing string `json:"doing"`
		Since string `json:"since"`
	} `json:"git,omitempty" jsonschema:"what git does for the run beside its actions, as merging a branch; absent where it does nothing"`
	FilesLeft string `json:"files_left,omitempty" jsonschema:"which of its files do not travel with it, and why; absent if all do"`
	Items     *struct {
		Count   int `json:"count"`
		Done    int `json:"done"`
		Failed  int `json:"failed"`
		Running int `json:"running"`
		Left    int `json:"left_ms" jsonschema:"how long the rest may take"`
	} `json:"items,omitempty"`
	Branches []struct {
		Name    string  `json:"name"`
		Begun   bool    `json:"begun"`
		State   *string `json:"state"`
		Verdict *string `json:"verdict"`
	} `json:"branches,omitempty"`
	Used *struct {
		Cost    *float64 `json:"cost_usd" jsonschema:"null where a part is not known"`
		Known   *float64 `json:"known_cost_usd,omitempty"`
		Unknown int      `json:"unknown_costs" jsonschema:"prompts and judges whose cost is not known"`
		Tokens  int      `json:"tokens"`
		Prompts int      `json:"prompts"`
	} `json:"used" jsonschema:"by prompts and judges"`
	Verdict *struct {
		sentenceOf
		Verdict string `json:"verdict"`
	} `json:"verdict" jsonschema:"the last one"`
	Way *struct {
		sentenceOf
		To string `json:"to" jsonschema:"the next state"`
	} `json:"way" jsonschema:"the last transition"`
	Limits []struct {
		Limit string   `json:"limit"`
		Loop  string   `json:"loop"`
		State *string  `json:"state"`
		Used  *float64 `json:"used" jsonschema:"times in seconds; null where it is not known"`
		Most  float64  `json:"most"`
		Share *float64 `json:"share"`
		Ends  bool     `json:"ends_run" jsonschema:"false where it leads to another state"`
	} `json:"limits"`
	Why         *string  `json:"why" jsonschema:"the same at more length, or what the run waits for"`
	Queued      []queued `json:"queued" jsonschema:"those who wait to resume it"`
	Answers     []given  `json:"answers,omitempty" jsonschema:"to its questions, in the order in which they were given"`
	Next        *string  `json:"next" jsonschema:"what a user can do, as resume"`
	NextCommand *string  `json:"next_command"`
}

// given is an answer to a question of a run.
type given struct {
	Address  string         `json:"address" jsonschema:"of the question"`
	State    *string        `json:"state" jsonschema:"that asked; null where a former version recorded the answer"`
	Path     *string        `json:"path" jsonschema:"the branches and items that the state is in"`
	Question *string        `json:"question" jsonschema:"its first 4 KiB"`
	Choice   string         `json:"choice" jsonschema:"withdrawn where the question was taken back"`
	Fields   map[string]any `json:"fields"`
	By       *string        `json:"by" jsonschema:"who answered"`
	At       string         `json:"at"`
}

type waiting struct {
	For     string  `json:"for"`
	Tier    *string `json:"tier"`
	State   string  `json:"state"`
	Since   string  `json:"since"`
	Until   *string `json:"until"`
	Left    *int    `json:"seconds_left"`
	Host    *string `json:"host"`
	What    *string `json:"what,omitempty"`
	Event   *string `json:"event,omitempty"`
	Choices any     `json:"choices,omitempty"`
	Asks    *string `json:"question,omitempty" jsonschema:"the address of the question, for --question"`
	Checks  *int    `json:"checks,omitempty"`
	Seen    *string `json:"seen,omitempty"`
}

type openWait struct {
	waiting
	Address string  `json:"address" jsonschema:"the steps that lead to the state that waits"`
	Path    *string `json:"path" jsonschema:"the branches and items that it is in, outermost first"`
}
