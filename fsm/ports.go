package fsm

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"loops/fsm/confine"
)

// A Kind is how an action is carried out.
type Kind string

// The kinds of action.
const (
	KindShell    Kind = "shell"
	KindPrompt   Kind = "prompt"
	KindJudge    Kind = "judge" // a question to a model about what was done; it changes nothing
	KindMCP      Kind = "mcp_tool"
	KindHTTP     Kind = "http"
	KindContract Kind = "contract" // never run; the text only belongs to its evaluator
	// an action type that the settings give to a program, which gets the text on its standard input
	KindProgram Kind = "program"
)

// An Action is one thing to do, with every template in it expanded.
type Action struct {
	Kind    Kind
	Text    string   // bash script, prompt, server/tool, or method and address of a request as they are shown
	Params  string   // JSON arguments of an mcp_tool
	Call    *Request // of KindHTTP
	Program []string // of KindProgram: the program and its arguments
	State   string   // the state it belongs to
	Step    int      // of the loop it belongs to, from 1
	Attempt int      // how often this step was started, from 1; above 1 after a crash
	Item    string   // mark of one of several actions of this step; "" = it is the only one
	// how often this item was started, from 1, where Attempt counts starts of the list; 0 = as Attempt
	Started int
	// marks of the states this loop runs inside, outermost first (see AttemptMark); "" in the run itself
	Outer string
	// address of the visit or the item that it is done for, as recorded; "" = it changes nothing, or only looks
	At      string
	Dir     string        // working directory; "" is that of the run
	Vars    []Var         // text the action finds in its environment
	Timeout time.Duration // wall clock; 0 = none
	Idle    time.Duration // longest silence on both streams; 0 = none
	Keep    bool          // write the full output to a file even if it is short
	Quiet   bool          // a question of an evaluator: do not call back with output
	// what git does for the machine itself, as "merging branch a"; the Runner may add limits and variables. ""
	// = an action of the loop
	Git string
	// the work tree that Git looks into; "" = none. If it is there but no longer one, the error is [ErrMoved]
	Tree string
	RSS  bool // sample the peak memory of the process tree
	// what it may touch: that which all of these allow; nil = everything
	Sandbox []*confine.Policy
	Check   *CheckRun // with which files it runs; nil = as they are

	// What follows is of prompts and judges only.
	Host        string   // agent host; "" = the runner's choice
	Model       string   // "" = the host's own
	Agent       string   // "" = none
	Tools       []string // nil = the host's own
	Effort      string   // "" = the host's own
	Session     string   // of an earlier Reply, which this prompt carries on; "" = a new one
	SessionHost string   // that Session is of; any other host begins a new one
	Counted     Usage    // what Session had used when it was left, as its host counts
	Permissions string   // "" = PermissionsSkip
	MaxCost     float64  // USD; a host that supports it is asked to stop above it; 0 = no limit
	Velocity    Velocity // what it may use within a minute; the Runner ends it above that
	Quota       bool     // a quota holds: an agent that reports no limits of its account is named as ignoring it
	Schema      string   // JSON Schema that the answer of a judge is to match
	Strict      bool     // an answer that does not match Schema is a failure
}

// PermissionsSkip lets an agent use its tools without asking; any other value leaves that to its own settings.
const PermissionsSkip = "skip"

// AttemptMark is how markers name one start of one step of a run: its step and its attempt.
func AttemptMark(step, attempt int) string {
	return "/" + strconv.Itoa(step) + "/" + strconv.Itoa(attempt)
}

// A Var is one environment variable of an action. A Runner puts a Value that is too long for an environment into a
// file, whose path is then in the variable Name + "_FILE".
type Var struct{ Name, Value string }

// A Result is the result of an Action that was attempted, well or badly.
type Result struct {
	// Stdout and Stderr are valid UTF-8 with \r\n and \r turned into \n (D9, D23). Each is capped: what is
	// over the cap keeps its head and its tail around a line that says how much is missing.
	Stdout, Stderr string
	ExitCode       int           // negative: ended by that signal; 124: timed out
	Duration       time.Duration // wall clock
	TimeoutKind    string        // "", "wall", "idle" or TimeoutVelocity
	Bytes          int64         // of standard output, before the cap
	Truncated      bool          // Stdout is not the full text
	File           string        // holds the full standard output; "" where none was written
	StderrCut      bool          // Stderr is not the full text
	Background     int           // processes the action left running (D25)
	// what its sandbox did not let it reach or call, with spaces between: HOST:PORT, network, and system calls
	// as ptrace()
	Refused  string
	PeakRSS  int64     // bytes, where asked for; 0 = unknown
	Reply    *Reply    // of a prompt or judge; else nil
	Response *Response // of a request over HTTP; else nil
}

// A Runner does actions. Run blocks until the action is over and nothing of it that has to be ended is alive.
//
// While the action runs, out (if not nil) is called with pieces of its standard output: whole lines without the
// last line end, joined by \n, valid UTF-8, in order, never concurrently, at least 20 ms or 64 KiB apart. All
// calls happen before Run returns. When ctx ends, the action's process group gets TERM, KILL after a grace
// time, and the Result is of no use. An error means that the action could not be attempted; an action that ran
// and failed is a Result. One that is [ErrDiskFull] or [ErrMoved] stops the run as a failed Record does, so
// that it can be resumed. After an [ErrScarce] the run ends as interrupted when what runs beside the action has
// ended.
type Runner interface {
	Run(ctx context.Context, a Action, out func(text string)) (Result, error)
}

// A Keep is called before anything but output is recorded, and keeps files as they are. An event that it
// returns is recorded with that, so that memory and files never disagree. Its error ends the run as a failed
// Record does. Branches of the run may be at work meanwhile; it is never called concurrently.
type Keep func(ctx context.Context) (ev Event, changed bool, err error)

// ErrDiskFull is the error of a Runner that could not write down what an action needs, and of Files, where the
// disk is full or broken.
var ErrDiskFull = errors.New("the disk is full or broken")

// ErrScarce is the error of a Runner that tried several times to start an action for which the machine had no
// process, memory or descriptor. Nothing of the action ran.
var ErrScarce = errors.New("the machine lacks what an action needs to start")

// ErrMoved is the error of a Runner, of Files and of a Recorder when the folder of the run was moved while this process
// runs it.
var ErrMoved = errors.New("it was moved")

// Files is how evaluators look at the project. Relative names are relative to the directory actions run in.
// Errors are those of package os: a missing file is fs.ErrNotExist. [ErrDiskFull] and [ErrMoved] stop the run.
type Files interface {
	ReadFile(name string) ([]byte, error)
	WriteFile(name string, data []byte) error
	// Write is WriteFile of a text that is long: content writes it piece by piece, and its error leaves
	// everything as it was.
	Write(name string, content func(io.Writer) error) error
	Stat(name string) (modTime time.Time, size int64, err error)
	// Glob returns the paths below dir ("" is that of actions) that match a pattern, as they are named there,
	// sorted by bytes. A pattern has * ? [...] {a,b} and ** (all folders below); a backslash makes the next
	// byte literal. Hidden names match only where the pattern has the dot. A folder that cannot be read, and a
	// match that is not UTF-8, are errors.
	Glob(ctx context.Context, dir, pattern string) ([]string, error)
}

// A Library finds the loops that states run as sub-loops.
type Library interface {
	// Loop returns the loop that a state of the loop from calls name, complete and checked. An error explains
	// to users why there is none to run: nothing has that name, or it has mistakes.
	Loop(name string, from *Loop) (*Loop, error)
}

// An Event is one line of a run's history.
type Event struct {
	Kind   string // EventStateEnter …
	Time   time.Time
	Seq    uint64 // 1, 2, 3 … in the run; set by the Recorder (D14)
	Depth  int    // 0 in the run itself, 1 in its sub-loop …
	Fields []Field
}

// A Field is a named value of an Event. Order is kept.
type Field struct {
	Key   string
	Value any // a value of the language
}

// Get returns the value of a field, or nil.
func (e Event) Get(key string) any {
	for _, f := range e.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// A Batch is what the machine wants recorded before it continues.
type Batch struct {
	// Events happened since the last batch. Record numbers them in place.
	Events []Event
	// Snapshot is the machine's memory after these events, or nil for a batch of output lines. It is lent:
	// Record must not keep or change it. Invariant: maps inside Captured and Context are never changed after
	// they were recorded, they are replaced; Messages only grows.
	Snapshot *Snapshot
	// Checkpoint asks for durability, of the events alone where there is no snapshot. It is set before
	// everything that cannot be undone or may take long.
	Checkpoint bool
	// Written asks that the death of this process cannot lose the events, also without a snapshot. They need not
	// be durable before [Syncer.Sync] returns. It is only set where the Recorder is a Syncer.
	Written bool
}

// A Recorder remembers. It is called by one goroutine at a time.
//
// When Record returns nil, a batch with a snapshot is in the journal: the death of this process cannot lose
// it. If Checkpoint is set it is durable: the loss of power cannot lose it, nor anything recorded before it. A
// batch with neither may be written later. After an error the run must stop: nothing more is recorded.
type Recorder interface {
	Record(ctx context.Context, b *Batch) error
}

// A Syncer is a Recorder that makes durable what it has recorded, while it records more.
type Syncer interface {
	Recorder
	// Sync returns when the loss of power cannot lose what was recorded before it was called. It is called by one
	// goroutine at a time, and may run at the same time as Record. After an error the run must stop.
	Sync(ctx context.Context) error
}
