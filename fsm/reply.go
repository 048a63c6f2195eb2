package fsm

import (
	"strings"
	"time"
)

// A Reply is what an agent host reported about one prompt or judge, besides its text, which is the Stdout of
// the [Result]. Invariant: a Result whose Reply has a Failure has an ExitCode other than 0. A Reply is not
// changed once it was returned.
type Reply struct {
	Host     string // its name
	Model    string // that answered; "" = not said
	Session  string // "" = none, or not said
	Complete bool   // the event that ends the host's stream was read
	Answer   any    // of a judge: what it answered, a value of the language; nil = none
	Text     string // of a judge: its last message
	Raw      string // of a judge: the beginning of what the host printed

	Usage        Usage    // of this prompt alone
	SessionUsage Usage    // of the whole session so far, as its host counts: the next Action.Counted
	Coverage     string   // of Usage: see CoverageComplete
	Cost         *float64 // USD; nil = unknown
	Priced       string   // where it is from: the host, or the price table with its date; "" = it is not known

	Failure Failure   // "" = none
	Reason  string    // of the failure, for users
	ResetAt time.Time // from when a host that refused may be asked again; zero = not said

	Ignored []string // keys the host has nothing for, as the loop file calls them
	Denied  []string // tools the agent was not allowed to use
	Skipped string   // lines the host printed that were too long to be read, for users; "" = none
}

// A Usage counts tokens. The four are disjoint: Input was neither read from the cache nor written to it.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int64
}

// Total is all tokens.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// How much of what a prompt used is in its Usage.
const (
	CoverageComplete = "complete"
	CoveragePartial  = "partial" // it was cut off: more was used
	CoverageNone     = "none"    // the host does not report it
)

// A Failure is why a prompt or judge failed, as far as its host reports it. The zero Failure means that it did not
// fail.
type Failure string

// The classes of failure.
const (
	FailTransient   Failure = "transient"     // worth trying again soon: overload, network, server error
	FailRateLimited Failure = "rate_limited"  // worth trying again after ResetAt
	FailAuth        Failure = "auth"          // the key or login is refused
	FailBilling     Failure = "billing"       // the account has to be paid for, or its credit or quota raised
	FailModel       Failure = "unknown_model" // the host has no such model, or not for this account
	FailAdminLimit  Failure = "admin_limit"   // the host's own ceiling: turns or costs of one prompt
	FailPermission  Failure = "permission"    // it needs a permission that cannot be given here
	FailContext     Failure = "context"       // the prompt or session is too long for the model
	FailSchema      Failure = "schema"        // the answer of a judge does not match, or there is none
	FailMissing     Failure = "host_missing"  // no such host is installed
	FailTimeout     Failure = "timeout"       // ended by our clock
	FailVelocity    Failure = "velocity"      // ended because it used too much within a minute
	FailTruncated   Failure = "truncated"     // the host ended without a result
	FailOther       Failure = "failed"        // anything else
)

// wasAsked reports whether a host was started, which costs something even where nothing comes of it.
func wasAsked(res Result) bool { return res.Reply != nil && res.Reply.Failure != FailMissing }

// cutShort counts what a prompt used that a stop has ended, or a limit of a budget: it is paid for, although nothing
// else of it counts. most is as in spentOn.
func (e *Executor) cutShort(st *State, res Result, most float64, by *overrun) {
	if !wasAsked(res) {
		return
	}
	fields := []Field{{"state", st.Name}, {"duration_ms", res.Duration.Milliseconds()}, {"is_prompt", true}}
	if by != nil {
		fields = append(fields, Field{"limit", by.Name})
	}
	e.emit(EventActionKilled, append(fields, e.replyFields(res.Reply)...)...)
	e.spend(spentOn(res, most))
}

// replyFields are what an action_complete event says about a prompt beside its result.
func (e *Executor) replyFields(r *Reply) []Field {
	fields := []Field{{"session_jsonl", nil}}
	if r == nil {
		return fields
	}
	if r.Coverage != CoverageNone && (r.Coverage != "" || r.Usage != Usage{}) {
		model := any("unknown")
		if r.Model != "" {
			model = r.Model
		}
		fields = append(fields, Field{"input_tokens", r.Usage.Input}, Field{"output_tokens", r.Usage.Output},
			Field{"cache_read_tokens", r.Usage.CacheRead}, Field{"cache_creation_tokens", r.Usage.CacheWrite},
			Field{"model", model})
	} else if r.Model != "" {
		fields = append(fields, Field{"model", r.Model})
	}
	for _, f := range []Field{
		{"host", r.Host},
		{"session_id", r.Session},
		{"coverage", r.Coverage},
		{"failure", string(r.Failure)},
		{"failure_reason", r.Reason},
	} {
		if f.Value != "" {
			fields = append(fields, f)
		}
	}
	if !r.ResetAt.IsZero() {
		fields = append(fields, Field{"reset_at", FormatTime(r.ResetAt)})
	}
	if r.Cost != nil {
		fields = append(fields, Field{"cost_usd", *r.Cost})
	}
	if r.Priced != "" {
		fields = append(fields, Field{"priced", r.Priced})
	}
	if s := e.mem.Session; s != nil && r.Host != "" && r.Host != s.Host {
		fields = append(fields,
			Field{"session_reset", "the session before is of " + s.Host + ", and this prompt went to " + r.Host})
	}
	if len(r.Ignored) > 0 {
		fields = append(fields, Field{"ignored", strings.Join(r.Ignored, ", ")})
	}
	if len(r.Denied) > 0 {
		fields = append(fields, Field{"denied", strings.Join(r.Denied, ", ")})
	}
	if r.Skipped != "" {
		fields = append(fields, Field{"skipped", r.Skipped})
	}
	return fields
}
