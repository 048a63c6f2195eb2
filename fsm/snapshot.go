package fsm

import (
	"time"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// A Phase is where inside its current state a machine is.
type Phase string

// The phases, in the order a state goes through them.
const (
	PhasePending Phase = "pending" // Current was chosen but not entered; entering it takes the next step number
	PhaseActing  Phase = "acting"  // entered, its action was started; a crash here runs the action again
	PhaseActed   Phase = "acted"   // the action's result is in Result; judge and route, never act again
)

// A Snapshot is the machine's whole memory. What is not in it is forgotten when the process dies.
type Snapshot struct {
	Loop      string
	Phase     Phase
	Current   string // the state about to run, running, or last run
	Previous  string // the state of the turn before; "" at the start
	Step      int    // state entries so far
	Passes    int    // maintain restarts so far
	Attempt   int    // how often the action of this step was started
	Tries     int    // how many of those were retries: tries after one that failed
	StartedAt time.Time
	Elapsed   time.Duration // all segments, at the time of the snapshot

	Context  *value.Map // ${context.*}
	Param    *value.Map // ${param.*} of a current state that was built from a fragment, else nil
	Captured *value.Map // capture name -> *Map record
	Messages []string

	// PrevResult is {output, exit_code, state, timeout_kind} of the last action or decision state, or nil.
	PrevResult *value.Map
	// LastResult is {verdict, details} of the last evaluation, or nil.
	LastResult *value.Map
	// Result is the result waiting to be judged; set in PhaseActed only.
	Result *Result

	Retries     map[string]int // consecutive re-entries by state
	Throttles   map[string]int // actions in one uninterrupted stay by state
	Holds       map[string]int // consecutive abstentions by state
	Edges       value.Counts   // "from->to" -> times taken
	JustRouted  bool           // Current was announced by a route event and not entered
	StepsCapped bool           // the on_max_steps handler was started
	PassCapped  bool           // the on_max_iterations handler was started
	// failures that did not keep their state from following next, as "state (exit 1)"; in the run itself only
	Ignored  map[string]int
	Flushing bool   // Current acts one last time after a cap, without being judged
	CappedAt string // what was about to be entered when the handler was; "" where none was

	StallRing      []StallRecord     // last records of the window detector, oldest first
	StallCounts    map[string]int    // of the recurrent detector, by record key
	StallPrints    map[string]string // progress fingerprint last seen by state
	Evaluators     map[string]Repeat // memory of diff_stall and action_stall by state
	CumulativeMB   float64           // peak memory of all actions so far, for the host guard
	BudgetSpent    bool              // the memory budget fired
	UnderPressure  bool              // the machine was short of memory when it was last looked at
	Continuation   string            // payload of a handoff
	PendingRequest string            // text signal seen but not yet acted on: "", "handoff", "error", "stop"
	PendingPayload string

	Spent        Spent            // by prompts and judges, also of sub-loops
	StateSpent   map[string]Spent // the same by state
	Outstanding  Unsure           // prompts and judges that were sent and whose end is not on record; of the run itself
	Lost         Unsure           // those whose process was killed; of the run itself
	BudgetWarned map[string]int   // limits that little was left of, as "state/limit"
	BudgetRouted bool             // on_budget of the loop was taken

	// Answers are those of the judges asked in this visit, in order; they are not asked again. Asking is set while
	// one more is asked, which costs AskingMost US dollars at most; 0 = that is not known. The list only grows
	// until the state is left.
	Answers     []Answer
	Asking      bool
	AskingMost  float64
	RateLimits  map[string]RateLimit // how often a prompt was refused in a row, by state
	APIErrors   map[string]int       // retries after an error of the host's API by state
	InfraErrors map[string]int       // retries after a host was ended from outside by state
	Storm       int                  // rate limits that were waited out without success, in a row
	Spared      string               // state whose next entry is no retry: a rate limit is to blame; "" = none
	Session     *Session             // that the next prompt carries on, if it wants to; nil = none
	Wait        *Wait                // the run pauses; nil = it does not
	Raised      *Raised              // the limits that were raised while the run was running; nil = none
	Awaiting    *Awaiting            // the wait that Current is in, also while Wait pauses it; nil = none

	Asked int            // questions to people so far, also those that no one answered; in the run itself only
	Taken map[string]int // the number of the last signal of each name that a wait took; in the run itself only
	Event *value.Map     // ${event.*}: the signal that this loop took last; nil = none

	AgentsOut map[string]int // until when agents of a list are not asked, in seconds since 1970, by AgentChoice.Name
	Handover  string         // what the next prompt ends with, because another agent takes over

	// Items is the list that Current works on, until its verdict was followed; nil = none.
	Items *Items

	// Child is the sub-loop that Current runs or ran last, until its outcome was routed; nil = none.
	Child *Child

	// Branches are those of Current that began, in the order in which they did, until the state was left; nil =
	// none. The list and what has ended never change after they were recorded.
	Branches []*BranchMemory

	// VisitBegan is the used time of this loop when Current was entered, where Current has branches and a
	// timeout. 0 means that Current has none, or that a former version entered it.
	VisitBegan time.Duration

	// StartTree is the tree of the files with which the run began, in the run itself only; "" = no check needs it.
	StartTree string

	// FailedFirst says that the checks that have to fail before the first prompt did.
	FailedFirst bool

	// Recalled is what the loop knows of its memory since it began; nil = it has none.
	Recalled *Recalled

	// Decided is where Current leads while what to remember of it is looked for and written; nil = that is not decided.
	Decided *Decided

	// Lesson is a fact that a state left, until it was written; nil = there is none.
	Lesson *PendingLesson

	// Guard is what a guard remembers of the action of Current; nil = none limits it, or it was judged.
	Guard *Guarded

	// Ending is how the run is about to end, while what is done at its end is being done; nil = it is not ending. It is
	// set where Outcome will be one that no resumed run continues from: in the run itself, and in a loop inside
	// it whose terminal state left a fact. A resumed run ends so, and does nothing again. It is not changed
	// once it was recorded.
	Ending *Outcome

	// Outcome is how the run ended, nil before. Phase and Current still hold where it was, so that a run that can be
	// resumed continues from there.
	Outcome *Outcome
}

// Decided is what a visit to a state came to. It is not changed once it was recorded.
type Decided struct {
	To     string `json:"to"`               // "" = nowhere
	Judged bool   `json:"judged,omitempty"` // LastResult is of this visit
	// the verdict that no evaluation gave, as of a sub-loop or of an action that could not be attempted; "" =
	// there is none
	Verdict string `json:"verdict,omitempty"`
	// what the visit leaves for later runs is on record, and is not looked for again
	Remembered bool `json:"remembered,omitempty"`
	AsError    bool `json:"as_error,omitempty"` // see [FieldAsError]
}

// A Child is what the machine remembers of the sub-loop it runs.
type Child struct {
	Memory   *Snapshot
	Name     string        // as the state calls it, expanded
	File     string        // it was read from
	SHA256   string        // of its definition
	Timeout  time.Duration // its own and those above it, whichever is least; 0 = none
	Branch   string        // of the work tree it runs in; "" = none
	Worktree string        // path of that work tree
	Log      []string      // its events as JSON, only where the state captures them; only grows
}

// inner is the memory of the sub-loop that was entered, or nil.
func (m *Snapshot) inner() *Snapshot {
	if m.Child == nil || m.Child.Memory.Step == 0 {
		return nil
	}
	return m.Child.Memory
}

// InState reports whether the machine is in a state of that name, or in one inside its state: of a sub-loop, a
// branch or an item.
func (m *Snapshot) InState(name string) bool {
	if m.Current == name {
		return true
	}
	for _, c := range m.Inside() {
		if c.Memory.InState(name) {
			return true
		}
	}
	return false
}

// forgetInside forgets what the state that was left ran inside.
func (m *Snapshot) forgetInside() { m.Child, m.Branches, m.VisitBegan = nil, nil, 0 }

// Mark names the start of the action done last, through all sub-loops; see [AttemptMark].
func (m *Snapshot) Mark() string {
	mark := AttemptMark(m.Step, m.Attempt)
	if c := m.inner(); c != nil {
		mark += c.Mark()
	}
	return mark
}

// setCapture replaces a record. Maps that were recorded are never changed (see Batch).
func (m *Snapshot) setCapture(name string, rec *value.Map) {
	c := m.Captured.Clone()
	c.Set(name, rec)
	m.Captured = c
}

// InFlight reports whether that action, or a judge of it, was started and its result is not on record.
func (m *Snapshot) InFlight() bool {
	if m.Outcome != nil || m.Ending != nil || m.Phase != PhaseActing && !m.Asking {
		return false
	}
	if m.Awaiting != nil {
		return m.Awaiting.Looking
	}
	c := m.inner()
	return c == nil || c.InFlight()
}

// A StallRecord is one evaluated visit as the stall detector sees it.
type StallRecord struct {
	State    string
	ExitCode int
	Verdict  string
}

// Repeat is what diff_stall and action_stall remember between visits of a state.
type Repeat struct {
	Hash  string // of what was seen last
	Count int    // how often it was seen again in a row
	Seen  bool   // false before the first visit
}

// An Answer is the result of asking a judge once. It is not changed once it was recorded.
type Answer struct {
	Question string  // fingerprint of what was asked, and of which judge
	Result   Result  // with the beginnings of its texts only
	Most     float64 // what it cost at most, in US dollars; 0 = that is not known
}

// How a run can end (terminated_by).
const (
	EndTerminal      = "terminal"
	EndMaxSteps      = "max_steps"
	EndMaxIterations = "max_iterations_reached"
	EndTimeout       = "timeout"
	EndInterrupted   = "interrupted"
	EndUserStopped   = "user_stopped"
	EndSystemSignal  = "system_signal"
	EndError         = "error"
	EndHandoff       = "handoff"
	EndParked        = "parked"    // it waits, and nothing carries it: a run that is resumed waits the rest
	EndSuspended     = "suspended" // a person has to do something first: see [Outcome.SuspendedBy]
	EndCycle         = "cycle_detected"
	EndStall         = "stall_detected"
	EndHostPressure  = "host_pressure_abort"
	EndHostBudget    = "host_budget_exceeded"
	EndBudget        = "budget_exceeded"
	EndCostCeiling   = EventCostCeilingExceeded

	EndWorkdirVanished = EventWorkdirVanished // the folder that actions run in is gone
)

// An Outcome is how a run ended. It never changes after it was recorded.
type Outcome struct {
	TerminatedBy string
	FinalState   string
	Steps        int
	Failure      bool   // ended on a failure terminal
	Error        string // what went wrong, where there is something to say
	Source       string // the line of a file that Error is about, and a line with a caret; "" = none
	Message      string // what the terminal state says last (message:)
	Reason       string // why it ended so, as [Config.Why] says; "" in sub-loops
	// which actions failed on the way without changing it (see [Snapshot.IgnoredText]); "" = none, or a
	// sub-loop
	Ignored string
	Merge   string // what became of the merge that the run asked for when it completed; "" = none was to be made
	// items that failed of the list that decided how it ended, as [Config.Why] says; 0 = no list did
	FailedItems  int
	Signal       string   // SIGINT, SIGTERM, SIGHUP or SIGQUIT if one stopped the run
	Continuation string   // payload of a handoff
	Receipt      *Receipt // of a run that completed; nil = there is none
	Limited      bool     // a rate limit, or a lack of processes or descriptors, lasted: it can be resumed later
	Refused      bool     // something failed permanently (D29): it can be resumed once the cause is removed
	// of EndSuspended: what the run waits for, as [Suspension.By], and what is wrong with it
	SuspendedBy string
	Cause       Failure
	Remedy      string // of EndSuspended: what a person does first; "" = that is not known
	Duration    time.Duration
}

// What [Outcome.Merge] may say.
const (
	MergeDone     = "done"     // the branch has the commits, or there were none
	MergeConflict = "conflict" // git found conflicts
	MergeRefused  = "refused"  // it was not tried, git refused it, or it was cut short
)

// Unmerged reports whether the run completed, and the merge that it asked for was not made.
func (o Outcome) Unmerged() bool { return o.Merge != "" && o.Merge != MergeDone }

// Retriable reports whether a run that ended so as an error can be resumed all the same: its host refused, and
// may not do so later.
func (o Outcome) Retriable() bool { return o.Limited || o.Refused }

// Expand returns a text with its templates expanded by what the snapshot remembers, as they are in a state. The
// environment, and what only a machine that runs knows, is not there.
func (m *Snapshot) Expand(text, state string) (string, error) {
	return expr.Expand(text, m.scope(state))
}

func (m *Snapshot) scope(state string) *expr.Scope {
	var memory expr.Memory
	if m.Recalled != nil {
		memory = m.Recalled
	}
	return &expr.Scope{
		Memory:  memory,
		Context: m.Context, Captured: m.Captured, Param: m.Param, Prev: m.PrevResult, Event: m.Event, State: state,
		Step: m.Step, Loop: m.Loop,
		StartedAt: FormatTime(m.StartedAt), ElapsedMS: m.Elapsed.Milliseconds(), Messages: m.Messages,
	}
}

// Rejudge returns the verdict of a state on another result of its script, whose whole output is given. The evaluator
// has to be one of [RepeatableEvaluators].
func (m *Snapshot) Rejudge(st *State, res Result, output string, files Files) (Verdict, error) {
	cfg := st.Evaluate
	if cfg == nil {
		d := DefaultEvaluate(defaultEvaluator(KindOf(st)))
		cfg = &d
	}
	scope := m.scope(st.Name)
	scope.Prev = prevResult(st, &res)
	v, _, err := Judge(cfg, Evidence{Output: output, ExitCode: res.ExitCode, Acted: true, Scope: scope, Files: files})
	return v, err
}

// Unrepeatable names the state whose action was cut short and must not run again unasked (idempotent: false), or "".
// The library finds the sub-loops the run is in.
func (m *Snapshot) Unrepeatable(l *Loop, lib Library) (string, error) {
	if m.Ending != nil {
		return "", nil
	}
	if c := m.inner(); c != nil {
		child, err := lib.Loop(m.Child.Name, l)
		if err != nil {
			return "", err
		}
		return c.Unrepeatable(child, lib)
	}
	st := l.States[m.Current]
	if st == nil || !st.Once || st.Each != nil || st.OnInterrupted != "" || m.Phase != PhaseActing ||
		m.Attempt == 0 || !acts(st) {
		return "", nil
	}
	return st.Name, nil
}
