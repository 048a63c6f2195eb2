package agent

import (
	"encoding/json"
	"syscall"
	"time"
)

// A CLI is one agent CLI.
type CLI struct {
	Name       string            // as people write it
	Aliases    []string          // other names for it, such as little-loops'
	Program    string            // looked up in PATH
	Login      string            // the command that a person logs in with; "" = not known
	Stop       syscall.Signal    // the one it ends best at; whatever is left gets TERM and KILL anyway
	JudgeModel string            // that judges where nothing names one; "" = the host's own
	Hints      map[string]string // the model for each model_hint of a loop file; nil = the settings have to name them
	Documented bool              // built from its documentation: it was never driven for real
	Has        Features
	State      []string // files and folders where it keeps its state, which a sandbox lets it change
	Settings   []string // those of them that say what it does, which a sandbox protects

	// Command says how it is started. An error says to a person why this request cannot be made to this host.
	Command func(Request) (Command, error)
	// Stream returns a reader for what it then prints.
	Stream func(Request) Stream
}

// ModelHints are what a loop may want of a model instead of naming one.
var ModelHints = []string{"coding", "reasoning", "burst"}

// Features are the keys of a loop file that mean something to a host.
type Features struct {
	Model, Agent, Tools, Effort, Session, Permissions bool
	Schema                                            bool // it is known a JSON Schema to answer by
	MaxCost                                           bool // it can stop at a cost by itself
	Cost                                              bool // it says what a prompt cost
	Usage                                             bool // it says what a prompt used
	Live                                              bool // it says so while the prompt runs: its Stream is a Meter
}

// A Request is one prompt to an agent, or one question to a judge.
type Request struct {
	Text    string
	Alone   bool     // nothing reads what it prints, or tries again: it is started and left to itself
	Judge   bool     // one answer is wanted, and no tool is needed for it
	Schema  string   // JSON Schema of a judge's answer; "" = none
	Model   string   // "" = the host's own, as for all that follow
	Agent   string   // a name the host knows
	Tools   []string // nil = the host's own
	Effort  string
	Session string  // id to carry on
	Counted Usage   // what Session had used when it was left, as this host counts
	Skip    bool    // tools are used without asking
	MaxCost float64 // USD; 0 = none
	Scratch string  // an empty folder for this request alone, where Command may write files
}

// A Command is a started host: its program is [Host.Program].
type Command struct {
	Args    []string
	Stdin   string   // written to its standard input, which is then closed
	Env     []string // NAME=value, over the environment of all actions
	Ignored []string // keys of the loop file that were set and mean nothing to this host
}

// A Stream reads what a host prints, line by line. It is not safe for concurrent use. Its memory is bounded, but for
// the text of the final message.
type Stream interface {
	// Line takes one line of standard output, without its end, which it may not keep. It returns the text in it that
	// belongs to the output of the prompt, with the line ends it has there; known is false for a line that this host
	// is not known to print.
	Line(line []byte) (text string, known bool)
	// Done reports whether the event was read after which the host only exits.
	Done() bool
	// End returns the final result, once: the host has exited.
	End(Exit) Outcome
}

// A Meter is a Stream that knows what was used before the end.
type Meter interface {
	// Used returns what was used so far, as far as the host reported it, what that cost (nil = not said) and the model
	// ("" = not said).
	Used() (u Usage, usd *float64, model string)
}

// An Exit is how a host's process ended.
type Exit struct {
	Code    int    // negative: by that signal
	Stderr  string // the beginning and the end of it
	Stopped bool   // by us after its last event, so that Code says nothing

	printed string // see printed.of
}

// An Outcome is the result of a request.
type Outcome struct {
	Complete bool   // see Stream.Done
	Text     string // the final message
	// Text or Answer was in the event that ends the stream, or in one of only the final message
	Final    bool
	Answer   json.RawMessage // of a judge, by the host's structured output; nil = none
	Model    string          // "" = not said, as for all that follow
	Session  string
	Usage    Usage // of this request alone
	Whole    Usage // of the whole session, as this host counts
	Coverage Coverage
	Cost     *float64 // USD
	Denied   []string // tools that were refused to the agent
	Failure  *Failure // nil = none
	Limits   []Limit  // of the account, as they were reported last
}

// A Limit is what a host reported of one limit of its account.
type Limit struct {
	Name   string
	Used   float64       // share, from 0 to 1; negative = not said
	Length time.Duration // 0 = not known
	Resets time.Time
}

// A Usage counts tokens; the four are disjoint.
type Usage struct{ Input, Output, CacheRead, CacheWrite int64 }

// A Coverage says how much of what was used is in a Usage.
type Coverage string

// The coverages.
const (
	Complete Coverage = "complete"
	Partial  Coverage = "partial"
	None     Coverage = "none"
)

// A Failure is why a request failed.
type Failure struct {
	Class   Class
	Reason  string        // for people, one line
	Status  int           // of HTTP; 0 = not said
	ResetAt time.Time     // from when it may be asked again; zero = not said
	After   time.Duration // the same, as a time from now; 0 = not said
	Exit    bool          // only its exit code says so: its stream says that all went well
}

// A Class is a kind of failure. The names are those that events have.
type Class string

// The classes.
const (
	Transient      Class = "transient"     // worth trying again soon
	RateLimited    Class = "rate_limited"  // worth trying again later
	Auth           Class = "auth"          // key or login refused
	Billing        Class = "billing"       // the account has to be paid for, or its credit or quota raised
	NoModel        Class = "unknown_model" // the host has no such model, or not for this account
	AdminLimit     Class = "admin_limit"   // the host's own ceiling: turns or costs of one prompt
	Permission     Class = "permission"    // it needs a permission that no user can give here
	Context        Class = "context"       // too long for the model
	SchemaMismatch Class = "schema"        // no answer that matches
	Truncated      Class = "truncated"     // it ended without saying how it went
	Other          Class = "failed"        // anything else
)

// Hosts are those that are known, in the order in which they are looked for.
func Hosts() []*CLI { return hosts }

// Find returns the host of a name or alias, or nil.
func Find(name string) *CLI {
	for _, h := range hosts {
		if h.Name == name {
			return h
		}
		for _, a := range h.Aliases {
			if a == name {
				return h
			}
		}
	}
	return nil
}
