package config

import "time"

// A Budget is what a run may use whose loop sets no such limit. 0 = no limit.
type Budget struct {
	Cost           float64 // US dollars
	Tokens         int64
	Wall           time.Duration
	Steps, Prompts int
}

// Retention says which runs may be removed without being asked for. The zero value keeps all.
type Retention struct {
	KeepLast  int           // of each loop, so many of the newest stay; 0 = no limit
	OlderThan time.Duration // younger runs stay; 0 = no limit
	MaxSize   int64         // bytes that all runs may take; 0 = no limit
}

// Whether the record of a run says what git says of its files.
const (
	GitFactsOn  = "on"
	GitFactsOff = "off"
)

// What becomes of a run's work tree when the run is over.
const (
	WorktreeKeep    = "keep"    // it stays if it has changes or commits of its own, and goes otherwise
	WorktreeMerge   = "merge"   // its commits are merged into the branch of the main checkout if the run succeeded
	WorktreeDiscard = "discard" // it goes, with its branch and whatever is in it
)

// A Notify is a user who wants to know how runs end, or that they wait. Exactly one of Command, Desktop and URL is set.
type Notify struct {
	On      []string      // which ends: completed, failed, interrupted, waiting, ...; empty = every end
	Loops   []string      // names or patterns of loops; empty = all
	Command string        // bash script; the event is in its environment, and as JSON on its standard input
	Desktop bool          // a message of the desktop
	URL     string        // gets the event as JSON by POST
	Secret  Secret        // the key of the HMAC-SHA256 signature; none = not signed
	Timeout time.Duration // of one attempt; 0 = 10 s
	Retries int           // of a webhook, after the first attempt
	Name    string        // by which questions name it; several may have one; "" = none
}

// AnswerLinks say which links notifications of questions have, by which they are answered.
type AnswerLinks struct {
	URL  string // of loops serve as those open it who are notified, with its base path; "" = there are no links
	File string // that has the key of their signature; "" = one in the folder of the project
}

// Metrics say whether loops serve and loops worker answer at /metrics, and to clients that have which token.
type Metrics struct {
	On    string // true or false; "" = false
	Token Secret // not set: only this machine is answered
}

// Telemetry says where traces and metrics of runs go.
type Telemetry struct {
	Endpoint string // of OTLP over HTTP, without /v1/traces; "" = the environment says it
	Content  string // true or false: whether the texts of prompts and answers are sent; "" = false
}

// Spend is what runs may spend together, in US dollars; 0 = no limit.
type Spend struct {
	Project, All SpendRate // of the runs of this project; of all runs of this user on this machine
}

// A SpendRate limits what is spent in the last hour, and in the last day.
type SpendRate struct{ PerHour, PerDay float64 }
