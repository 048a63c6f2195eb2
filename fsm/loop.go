package fsm

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"loops/fsm/confine"
	"loops/fsm/expr"
	"loops/fsm/value"
)

// A Pos is a place in a loop file. The zero Pos means "nowhere in particular".
type Pos struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // from 1
	Col  int    `json:"col,omitempty"`  // from 1, in runes
}

func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// A Schedule says when a loop is to be run. Nothing in this package runs it.
type Schedule struct {
	Cron     string   // a line of a crontab, checked
	Timezone string   // "" = that of the machine
	Overlap  string   // skip or queue: what happens to a time at which the run before has not ended
	Except   []string // dates at which no time comes, and ranges of dates; see cron.ParseExcept
	// none, one or all: what happens to times that were missed: nothing, one run for all of them, or a run for
	// each
	CatchUp string

	CatchUpLimit int // with CatchUp all: the most missed times that wait for their runs at once
}

// A Severity is whether a [Problem] stops a loop from running.
type Severity string

// The two severities. A loop with an error never starts; a warning is printed and the loop runs.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// A Problem is one mistake in a loop file, described so that its author can fix it without the manual.
type Problem struct {
	Pos      Pos      `json:"pos"`
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`           // short stable name, as in [unknown-state]
	Path     string   `json:"path,omitempty"` // where in the document: states.fix.on_yes
	Message  string   `json:"message"`        // what is wrong and what was expected
}

// A Loop is a definition, complete and checked: every default is filled in and every fixed target names a
// state. It is not changed while a run uses it, so runs may share one.
type Loop struct {
	Name        string
	Description string
	File        string // where it was read from
	Pos         Pos    // of the document's first key
	Initial     string
	States      map[string]*State
	Order       []string // names of the states as they stand in the file
	Otherwise   string   // where states lead that say nothing about failures: it is in their routes; "" = nowhere

	Context    *value.Map  // initial values of ${context.*}
	Parameters []Parameter // typed inputs, in file order; see [Bind]

	MaxSteps        int           // cap on state entries; 50 unless set
	MaxIterations   int           // cap on full passes of a maintain loop; 0 = none
	OnMaxSteps      string        // state entered once when the step cap is hit
	OnMaxIterations string        // state entered once when the pass cap is hit
	MaxEdgeRevisits int           // how often one edge may be taken; 100 unless set
	Backoff         time.Duration // slept after each ordinary transition
	Timeout         time.Duration // of the whole run, all segments; 0 = none
	DefaultTimeout  time.Duration // of an action whose state has none; 0 = the fallback of its kind
	DefaultIdle     time.Duration // longest silence of an action whose state sets none; 0 = off
	Maintain        bool
	Budget          *Budget    // nil = none
	OnBudget        string     // state entered once when a budget is used up; "" = the run ends
	Quota           *Quota     // of the accounts of agents; nil = all of it may be used
	Velocity        *Velocity  // of every prompt; nil = none
	Failover        *Failover  // nil = the default, where host is a list
	OnHandoff       string     // pause (default), spawn or terminate
	InputKey        string     // context key of the positional input; "input" unless set
	Properties      []Property // what must hold of every run, for loops prove
	RequiredInputs  []string
	Scope           []string // paths this loop locks; empty means the project directory
	Singleton       bool
	Secrets         []string // names whose values are kept off the record
	// what becomes of a work tree that the run was given: keep, merge or discard; "" = nothing is said
	Worktree        string
	LLM             LLM
	Stall           *Stall          // circuit.repeated_failure; nil = off
	Throttle        *Throttle       // of every state that has none of its own; nil = none (D4)
	SessionMode     string          // of every state that has none of its own: fresh or continue; "" = fresh
	Permissions     string          // of every prompt whose state does not say: skip or host; "" = skip
	Sandbox         *confine.Policy // of every action; nil = none
	Snapshots       *FileSnapshots  // of the files of a run; nil = nothing is said
	Guard           *Guard          // of every action; nil = none
	Lessons         *LessonBook     // its memory; nil = it has none
	HostGuard       HostGuard       // memory limits
	PromptSizeGuard PromptSizeGuard
	Category        string
	Labels          []string
	Visibility      string
	Schedule        *Schedule       // when it is to be run; nil = nothing is said
	SuppressFlags   map[string]bool // the *_ok flags that are true
	SHA256          string          // of the definition's text and of every file it is made of, hex

	// Place finds the text that a value of this loop came from; nil where that is not known. The path is that of the
	// merged document: "states", "fix", "action". An offset of 0 or more is a byte of the decoded scalar; KeyPlace
	// asks for the key instead of its value. The place of what is not there is that of the nearest thing around it.
	Place func(offset int, path ...string) Pos
}

// KeyPlace is the offset that asks [Loop.Place] for a key.
const KeyPlace = -1

// A Parameter is a typed input of a loop that another one runs, or of a fragment.
type Parameter struct {
	Name        string
	Pos         Pos
	Type        string // string, integer, number, boolean, enum or path
	Required    bool
	Default     any // nil = none
	Description string
	Values      []any // what an enum allows
}

// FileSnapshots say whether the files of a run are kept as they are before and after its actions, for loops undo.
type FileSnapshots struct {
	Keep    string   // [SnapshotsGit] or [SnapshotsOff]; "" = git
	Include []string // patterns of ignored files that are kept as well
	MaxFile int64    // larger files that git does not track are left out, in bytes; 0 = a default
}

// What [FileSnapshots] can say.
const (
	SnapshotsGit = "git"
	SnapshotsOff = "off"
)

// LLM holds the settings of the judge.
type LLM struct {
	Enabled bool          // true unless set
	Host    string        // "" = as for prompts
	Hosts   []AgentChoice // of Host, where it is a list; the first is Host
	Model   string        // "" = DefaultJudge
	Effort  string        // "" = the model's own
	Timeout time.Duration // of a judge without an evaluate block
}

// Stall configures the detector of repeated failures (circuit.repeated_failure).
type Stall struct {
	Window          int    // consecutive equal records that fire it; 3 unless set
	OnRepeated      string // "abort" or a state
	RecurrentWindow int    // equal records in the whole run that fire it; 0 = off
	ProgressPaths   []string
	ExcludePaths    []string
}

// HostGuard holds the memory limits of a run (host_guard).
type HostGuard struct {
	Enabled          bool
	Cooldown         time.Duration
	WarnPct          float64
	CriticalPct      float64
	OnPressure       string // cool_down, route or abort
	PressureState    string
	OnAbortRoute     string
	BudgetMB         int    // max_cumulative_subproc_mb; 0 = off
	OnBudgetExceeded string // route or abort
	BudgetState      string
}

// PromptSizeGuard warns about very long action texts.
type PromptSizeGuard struct {
	Enabled   bool
	WarnChars int // 50000 unless set; 0 = off
}

// Title is the first line of the description of a state, which says more to people than its script; "" = it has none.
func (s *State) Title() string {
	first, _, _ := strings.Cut(strings.TrimSpace(s.Description), "\n")
	return strings.TrimSpace(first)
}

// A State is one node of a Loop.
type State struct {
	Name        string
	Pos         Pos    // of its name
	Description string // what it does, for people; "" = that is not said

	Action     string     // text as written; "" counts as no action
	ActionType string     // as written
	Extension  *Extension // what the settings make of ActionType; nil = it is one of the language
	Params     *value.Map // arguments of an mcp_tool
	Call       *Call      // the request that its action is; nil = it is not a request
	Timeout    time.Duration
	Idle       time.Duration
	Capture    string
	Append     string // append_to_messages
	Message    string // template; what a run that ends in this terminal state says last
	Agent      string
	Tools      []string
	Model      string
	Effort     string
	Host       string // agent host; "" = that of llm
	// SessionMode is continue for a prompt that carries on the session of the one before, fresh for one that does
	// not; "" = as the loop says.
	SessionMode string
	Permissions string // skip or host; "" = as the loop says
	// limits what the action may touch, beside what the loop says; nil = nothing more
	Sandbox *confine.Policy
	// limits what the action may change, beside what the loop says; nil = nothing more
	Guard *Guard
	Check *Check // says that its verdict decides; nil = nothing is said
	// what it leaves for later runs; nil = nothing
	Remember *Remember

	Loop        string     // template; the loop to run as this state, "" = none
	With        *value.Map // values for its parameters; nil = none
	Passthrough bool       // context_passthrough: it gets the whole context and all captures
	Worktree    string     // template; the branch whose work tree it runs in
	Await       *Await     // what it waits for; nil = nothing
	Each        *Each      // the list whose items its action is done for; nil = it is done once
	Branches    *Branches  // what it does side by side; nil = nothing
	Fragment    *Fragment  // what the state was built from; nil = none

	Set      []Assignment // into the context, after the action and before the verdict; nil = nothing
	Evaluate *Evaluate
	Route    *Route
	On       map[string]string // target by verdict: on_yes is On["yes"], on_foo is On["foo"]
	Next     string
	Terminal bool
	Failure  bool // a failure terminal
	Succeeds bool // failure: false is written

	Retry                *Retry // of the action, in the same step; nil = none
	OnMaintain           string
	MaxRetries           int // 0 = none
	OnRetryExhausted     string
	RetryableExitCodes   []int // nil = not set
	OnRateLimitExhausted string
	MaxRateLimitRetries  int
	RateLimitBackoff     time.Duration
	RateLimitMaxWait     time.Duration
	RateLimitLadder      []time.Duration
	Budget               *Budget      // of all visits; nil = none
	CostCeiling          *CostCeiling // of all visits, as little-loops has it; nil = none
	OnBudget             string       // where to go when a budget is used up; "" = where the loop's says
	Throttle             *Throttle    // nil = none (D4)
	OnThrottleHard       string
	// where to go when a guard does not allow what the action changed; "" = the run ends
	OnGuarded     string
	Hosts         []AgentChoice // of Host, where it is a list; the first is Host
	Velocity      *Velocity     // of its prompts, beside that of the loop; nil = none
	Failover      *Failover     // nil = that of the loop
	OnSuspended   string        // where to go when a person has to do something first; "" = the run is suspended
	OnInterrupted string        // where to go instead of acting again after an interruption; "" = act again
	Once          bool          // idempotent: false: the action is not started again unless a user asks for it
}

// An Extension is what the settings of a project make of an action type that is not of the language: a host,
// for which the action is a prompt, or a program, which gets the action on its standard input. Exactly one of
// the two is set.
type Extension struct {
	Host    string
	Program []string // with its arguments
}

// PromptHost returns the name of the host of the prompt that a state is; "" = none is named.
func (l *Loop) PromptHost(st *State) string {
	if st.Extension != nil && st.Extension.Host != "" {
		return st.Extension.Host
	}
	return cmp.Or(st.Host, l.LLM.Host)
}

// A Fragment holds what a state that was built from a fragment sees as ${param.*}.
type Fragment struct {
	Name       string
	Bindings   *value.Map // values given by the state, templates not expanded; nil = none
	Parameters []Parameter
}

// Throttle limits how often one uninterrupted stay in a state may act.
type Throttle struct{ Normal, Warn, Hard int }

// A Route is a route table: verdict to target.
type Route struct {
	Pos     Pos
	Table   *value.Map // verdict -> target (string), in file order, without the two below
	Default string     // key _
	Error   string     // key _error
	Cases   []Case     // of a route that is a list, which has none of the others: nil = it is a table
}

// Evaluate is an evaluate block. Fields that a type does not use keep their zero value or default.
type Evaluate struct {
	Pos           Pos
	Type          string
	Operator      string // eq unless set
	Target        any    // number, bool, string (a template where the type says so), list, *Map or nil
	HasTarget     bool
	Tolerance     any           // number or template
	Expression    *expr.Program // of an expression; nil = none
	Filter        *expr.Jq      // of jq; nil = none
	Yes, No       []int         // exit codes that mean so, of exit_code; nil = not set: 0, and 1
	Pattern       string
	Negate        bool
	ErrorPatterns []string
	Path          string
	Prompt        string
	Schema        *value.Map
	MinConfidence float64 // 0.5 unless set
	Uncertain     bool    // uncertain_suffix
	Source        string  // template; HasSource distinguishes "" from absent
	HasSource     bool
	Previous      string
	HasPrevious   bool
	Direction     string   // minimize unless set
	Scope         []string // paths of diff_stall
	MaxStall      int      // 1 unless set
	HistoryFile   string   // template; "" = the default of the type
	Epsilon       float64  // 0.5 unless set
	Track         []string // ["action"] unless set
	MaxRepeat     int      // 2 unless set
	BaselinePath  string
	AutoPromote   bool
	MinPairs      int
	Pairs         []any
	Line          any // of classify: "last", "first" or an int64; nil, the default, is the last too
	Key           string
	Unproven      string // of EvaluateLearning: the verdict where there is something to prove

	// Who judges, and how; of llm_structured, comparator and contract.
	Model    string        // "" = that of the state, or of the loop
	Host     string        // the same
	Hosts    []AgentChoice // of Host, where it is a list
	Effort   string        // "" = that of the loop
	Timeout  time.Duration // of one question
	Votes    int           // of llm_structured: how often the same question is asked; 1 unless set
	Quorum   int           // votes that decide; 0 = more than half
	Verbatim bool          // of llm_structured: evidence that is not found in what is judged decides nothing
}

// DefaultEvaluate returns the block with the defaults of the language filled in.
func DefaultEvaluate(typ string) Evaluate {
	return Evaluate{
		Type: typ, Operator: "eq", MinConfidence: 0.5, Direction: "minimize", MaxStall: 1, Epsilon: 0.5,
		Track: []string{"action"}, MaxRepeat: 2, MinPairs: 1, Timeout: judgeTimeout, Votes: 1,
	}
}

// Current is the target that means "the state we are in" in every transition slot (D6).
const Current = "$current"
