package fsm

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"loops/fsm/pyregexp"
	"loops/fsm/value"
)

// gitPushes matches a script whose last command is git push.
var gitPushes = pyregexp.Lazy(
	`(?:^|[\n;&|]|\bexec)[ \t]*(?:\w+=\S*[ \t]+)*git(?:[ \t]+-[cC][ \t]+\S+)*[ \t]+push\b[^\n;&|]*$`)

// refusedPush are texts of git, ssh and servers about a push that no one let in. Each needs a person. Where git speaks
// another language some are not found, and the push is a failure as any other.
var refusedPush = []string{
	"authentication failed", "could not read username", "could not read password", "permission denied (publickey",
	"host key verification failed",
	"invalid username or password", "access denied", "the requested url returned error: 401",
	"the requested url returned error: 403",
	"password authentication was removed", "password authentication is not supported",
}

// pushHost matches the server in what git or ssh says of a refused push.
var pushHost = pyregexp.Lazy(
	`(?:https?|ssh)://(?:[^@/\s']*@)?([A-Za-z0-9.-]+)|(?m:^(?:[\w.-]+@)?([\w.-]+): Permission denied)`)

// remoteHost matches the server in the address of a repository.
var remoteHost = pyregexp.Lazy(`^(?:[a-z+]+://(?:[^@/\s']*@)?([A-Za-z0-9.-]+)|(?:[\w.-]+@)([\w.-]+):)`)

// pushPrefix begins the name of a server of git that suspends runs.
const pushPrefix = "git:"

// LoginRefused reports whether what git printed means that a server refuses its login.
func LoginRefused(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(refusedPush, func(known string) bool { return strings.Contains(text, known) })
}

// PushSuspension returns what suspends a run whose files a server of git does not take, or does not give,
// because it refuses the login. remote is the address of the repository, what is "kept" or "fetched", and why
// the error.
func PushSuspension(remote, what string, why error) *Suspension {
	by := pushPrefix + "origin"
	if m := remoteHost().FindStringSubmatch(remote); m != nil && utf8.ValidString(m[1]+m[2]) {
		by = pushPrefix + m[1] + m[2]
	}
	return &Suspension{By: by, Cause: FailServer, Why: "the files of the run cannot be " + what + ": " +
		value.Truncate(why.Error(), 300)}
}

// SuspendAt ends a run as suspended where its memory was recorded last: what it did after that is not on record, and is
// done again when it is resumed. The batch is that end, to be recorded; its memory is m, with the outcome.
func SuspendAt(m *Snapshot, s *Suspension, at time.Time, facts []Field) *Batch {
	o := &Outcome{
		TerminatedBy: EndSuspended, Error: s.Why, Refused: true, SuspendedBy: s.By, Cause: s.Cause,
		FinalState: m.Current, Steps: m.Step,
		Continuation: m.Continuation, Duration: m.Elapsed, Ignored: m.IgnoredText(),
	}
	o.Remedy = outsideRemedy(s)
	m.Outcome = o
	return &Batch{
		Events:   []Event{{Kind: EventLoopComplete, Time: at, Fields: append(endFields(o, ""), facts...)}},
		Snapshot: m, Checkpoint: true,
	}
}

// StopAt ends a run that no process carries as one that a user stopped, where its memory was recorded last. by
// is the name of the user; "" = it is not known.
func StopAt(m *Snapshot, by string, at time.Time) *Batch {
	o := &Outcome{
		TerminatedBy: EndUserStopped, FinalState: m.Current, Steps: m.Step, Continuation: m.Continuation,
		Duration: m.Elapsed, Ignored: m.IgnoredText(),
	}
	m.Outcome = o
	fields := endFields(o, "")
	if by != "" {
		fields = append(fields, Field{"by", by})
	}
	return &Batch{Events: []Event{{Kind: EventLoopComplete, Time: at, Fields: fields}}, Snapshot: m, Checkpoint: true}
}

// pushRefused returns what suspends a run whose action ended with a push that needs a login; "" = nothing does.
func pushRefused(st *State, res *Result) string {
	if !gitPushes().MatchString(strings.TrimSpace(st.Action)) {
		return ""
	}
	if !LoginRefused(res.Stderr) {
		return ""
	}
	if m := pushHost().FindStringSubmatch(res.Stderr); m != nil && utf8.ValidString(m[1]+m[2]) {
		return pushPrefix + m[1] + m[2]
	}
	return pushPrefix + "origin"
}
