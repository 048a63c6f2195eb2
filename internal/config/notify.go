package config

// A NotifyKind is something that happens to a run, of which a Notify may send notifications. Its name is in on.
type NotifyKind struct {
	Name    string
	Means   string // for a person: "the run ..."
	Unasked bool   // it is on where on is empty
}

// NotifyEscalated is the kind of an event about a question that is escalated. It is sent to the targets that
// the question names, whatever their On and Loops are, and to no others.
const NotifyEscalated = "escalated"

// NotifyKinds are all there are, in the order of the documentation.
var NotifyKinds = []NotifyKind{
	{"started", "began or was resumed", false},
	{"completed", "came to its end", true},
	{"unmerged", "came to its end, and was not merged, which it asked for", true},
	{"failed", "ended on a failure terminal, with an error, or because it could not be recorded", true},
	{"timed_out", "reached the timeout of its loop", true},
	{"capped", "reached its cap on steps or passes", true},
	{"stalled", "was in a cycle, or made no progress", true},
	{"budget", "used up a budget, or the memory limits of the host", true},
	{"limited", "ended because an agent host was rate-limited for too long", true},
	{"interrupted", "was stopped by a signal or by loops stop, its process died, or the machine could not " +
		"start its action", true},
	{"suspended", "cannot continue until a person does something, such as a login; once for all runs that need " +
		"the same agent", true},
	{"awaiting", "handed off and waits for a user to resume it", true},
	{"paused", "was paused by a user", false},
	{"waiting", "begins to wait for five minutes or more, or asks a question; and each reminder of a question", false},
	{NotifyEscalated, "has a question without an answer, which names the target; only such targets get it", false},
	{"alarm", "is stuck, died, has an unanswered question, or did not begin on schedule, as loops serve finds", true},
	{"all_clear", "no longer has what an alarm was about", true},
}

// NotifyNames are the names of NotifyKinds, for messages about a word that is not one of them.
func NotifyNames() []string {
	names := make([]string, len(NotifyKinds))
	for i, k := range NotifyKinds {
		names[i] = k.Name
	}
	return names
}

// NotifyRetries is how often a webhook is tried again that says nothing of it.
const NotifyRetries = 3
