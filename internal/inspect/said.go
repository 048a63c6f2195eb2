package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// Text returns a value of an event as people read it: text as it is, nothing for null.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(value.AppendJSON(nil, v))
}

// fileFacts are fields that say which files a run worked on, and that only programs compare.
var fileFacts = []string{"worktree_digest", "loop_yaml_path", "loop_yaml_sha256"}

// shortSum is how many digits of the sum of a commit people are shown.
const shortSum = 12

// Pairs returns the fields of an event as k=v, without the named ones and without those that only programs read.
func Pairs(e fsm.Event, without ...string) string {
	var b strings.Builder
next:
	for _, f := range e.Fields {
		if slices.Contains(fileFacts, f.Key) || f.Value == nil && (f.Key == "head_sha" || f.Key == "branch") {
			continue
		}
		for _, w := range without {
			if f.Key == w {
				continue next
			}
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		text := humanize.FirstLine(Text(f.Value))
		if f.Key == "head_sha" {
			text = text[:min(len(text), shortSum)]
		}
		fmt.Fprintf(&b, "%s=%s", f.Key, text)
	}
	return b.String()
}

// NoteText is an event that says something to people.
func NoteText(e fsm.Event) string {
	message := Text(e.Get("message"))
	if message == "" {
		message = Text(e.Get("note"))
	}
	if message == "" {
		return "note: " + Pairs(e)
	}
	until, err := fsm.ParseTime(Text(e.Get("until")))
	if err != nil {
		return message
	}
	line := message + "; waiting until " + humanize.Clock(until)
	if tier := Text(e.Get("tier")); tier != "" {
		line += " (" + humanize.Words(tier) + ")"
	}
	return line
}

// Source returns the lines of a file that an error is about, and one with a caret; "" = there are none.
func Source(e fsm.Event) string {
	if e.Kind == fsm.EventActionError || e.Kind == fsm.EventLoopComplete {
		return str(e, "source")
	}
	return ""
}

// questionOf returns what a person was asked. Records of little-loops have other fields than ours.
func questionOf(e fsm.Event) string {
	return cmp.Or(str(e, "question"), str(e, "prompt"), str(e, "message"))
}

// answerOf returns the verdict of a person.
func answerOf(e fsm.Event) string {
	return cmp.Or(str(e, "response"), str(e, "verdict"), str(e, "decision"))
}

// reasonOf returns why a person gave this answer; "" = that was not said.
func reasonOf(e fsm.Event) string {
	fields, _ := e.Get("fields").(*value.Map)
	reason, _ := fields.Value("reason").(string)
	return humanize.FirstLine(cmp.Or(reason, str(e, "reason")))
}

// Listed returns a list of texts in an event as people read it: "ada and bob".
func Listed(v any) string {
	list, _ := v.([]any)
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = Text(w)
	}
	return humanize.And(words)
}

// EventText is an event that has words of its own; "" = it has none.
func EventText(e fsm.Event) string {
	switch e.Kind {
	case fsm.EventRateLimitWaiting:
		line := "still waiting for the rate limit"
		if at, ok := Number(e.Get("next_attempt_at")); ok {
			line += " until " + humanize.Clock(time.UnixMilli(int64(at*1000)))
		}
		so, _ := Number(e.Get("total_waited_seconds"))
		most, _ := Number(e.Get("budget_seconds"))
		return fmt.Sprintf("%s (%s, %s of at most %s so far)", line, humanize.Words(Text(e.Get("tier"))),
			humanize.InSeconds(so), humanize.InSeconds(most))
	case fsm.EventHumanRequested:
		choices, _ := e.Get("choices").([]any)
		var words []string
		for _, c := range choices {
			words = append(words, Text(c))
		}
		line := "asked: " + questionOf(e)
		if len(words) > 0 {
			line += " (" + strings.Join(words, ", ") + ")"
		}
		if address := Text(e.Get("address")); address != "" {
			line += ", --question " + value.ShellQuote(fsm.ShownAddress(address))
		}
		return line
	case fsm.EventHumanVote:
		return "one of several answers: " + Text(e.Get("standing"))
	case fsm.EventHumanReminded:
		return fmt.Sprintf("reminder %s: still no answer: %s", Text(e.Get("number")), questionOf(e))
	case fsm.EventHumanEscalated:
		return "escalated to " + Listed(e.Get("to")) + ": still no answer: " + questionOf(e)
	case fsm.EventHumanResponse:
		line := "answered: " + answerOf(e)
		if by := Text(e.Get("by")); by != "" {
			line += ", by " + by
		}
		if why := reasonOf(e); why != "" {
			line += ", because " + why
		}
		return line
	case fsm.EventWorktreeMerged:
		return "merged branch " + Text(e.Get("of"))
	case fsm.EventWorktreeAttached:
		return "work tree: " + Text(e.Get("path"))
	case fsm.EventActionError:
		line := "error: " + Text(e.Get("error"))
		if route := str(e, "route"); route != "" {
			line += "; " + route + " leads on"
		}
		return line
	case fsm.EventActionInterrupted:
		return "the action was cut short; on_interrupted leads to " + Text(e.Get("next"))
	case fsm.EventBranchesStart:
		return branchesText(e)
	case fsm.EventBranchStart:
		return fmt.Sprintf("branch %s begins", Text(e.Get("branch")))
	case fsm.EventBranchEnd:
		return branchText(e)
	case fsm.EventItemsStart:
		return itemsText(e)
	case fsm.EventItemStart:
		return fmt.Sprintf("item %s begins: %s", Text(e.Get("item")), Text(e.Get("key")))
	case fsm.EventItemEnd:
		return itemText(e)
	case fsm.EventItemTaken:
		return itemText(e) + ", taken over"
	case fsm.EventWaitCheck:
		line := fmt.Sprintf("check %s: %s", Text(e.Get("check")), Text(e.Get("seen")))
		if next, err := fsm.ParseTime(Text(e.Get("next_check"))); err == nil {
			line += "; the next one at " + humanize.Clock(next)
		}
		return line
	case fsm.EventActionRetriesSpent:
		return fmt.Sprintf("no retry is left after %s; the last one came to %s too", Text(e.Get("retries")),
			Text(e.Get("on")))
	case fsm.EventRateLimitExhausted:
		n, _ := e.Get("retries").(int64)
		so, _ := Number(e.Get("total_wait_seconds"))
		return fmt.Sprintf("the waits for the rate limit are used up: %s, %s in all", humanize.Count(int(n), "wait"),
			humanize.InSeconds(so))
	case fsm.EventFailover:
		return failoverText(e)
	case fsm.EventBudgetExceeded:
		line := whoseBudget(e) + " is used up: " + budgetLine(e)
		if Text(e.Get("next")) == "" {
			line += "; the run stops here"
		}
		return line
	case fsm.EventMemoryRead:
		facts, _ := e.Get("facts").([]any)
		line := fmt.Sprintf("memory %s: begins with %s", Text(e.Get("memory")), humanize.Count(len(facts), "fact"))
		if left, _ := e.Get("left").(int64); left > 0 {
			line += fmt.Sprintf("; %d older ones do not fit", left)
		}
		return line
	case fsm.EventRemember:
		what := "remembers: "
		if failed, _ := e.Get("failed").(bool); failed {
			what = "remembers as failed: "
		}
		return what + Text(e.Get("fact"))
	case fsm.EventCheckFirst:
		what, where := "fails", map[string]string{
			"": "before the first prompt", string(fsm.FaultNone): "in a clean copy of the folder",
			string(fsm.FaultBroken):  "where all files that actions may change are broken",
			string(fsm.FaultRemoved): "without the files that actions may change",
		}
		if passes, _ := e.Get("passes").(bool); passes {
			what = "passes"
		}
		item, code := "", ""
		if key, is := e.Get("key").(string); is {
			item = " of " + key
		}
		if e.Get("exit_code") != nil {
			code = fmt.Sprintf(" (exit code %v)", e.Get("exit_code"))
		}
		return fmt.Sprintf("the check of state %v%s %s %s%s", e.Get("state"), item, what,
			where[fmt.Sprint(e.Get("fault"))], code)
	case fsm.EventCostCeilingWarn:
		return "state " + Text(e.Get("state")) + " has cost " + Text(e.Get("cost_usd")) +
			" US dollars (cost_warn_at " + Text(e.Get("cost_warn_at")) + ")"
	case fsm.EventCostCeilingUnknown:
		return "what state " + Text(e.Get("state")) + " cost is not known: " + Text(e.Get("reason"))
	case fsm.EventCostCeilingExceeded:
		return "state " + Text(e.Get("state")) + " has cost " + Text(e.Get("cost_usd")) +
			" US dollars, more than its ceiling of " + Text(e.Get("cost_ceiling_per_state")) + "; the run stops here"
	case fsm.EventWorkdirVanished:
		return "the folder that actions run in is gone: " + Text(e.Get("path"))
	case fsm.EventLimitRaised:
		return "limit raised: " + Text(e.Get("limit")) + " " + limitAmount(e, "from") + " -> " + limitAmount(e, "to")
	case fsm.EventBudgetWarning:
		return "little is left of " + whoseBudget(e) + ": " + budgetLine(e)
	}
	return ""
}

func whoseBudget(e fsm.Event) string {
	if state := Text(e.Get("budget_of")); state != "" {
		return "the budget of state " + state + " of loop " + Text(e.Get("loop"))
	}
	return "the budget of loop " + Text(e.Get("loop"))
}

func budgetLine(e fsm.Event) string {
	line := budgetUsed(e)
	if e.Get("cost_unknown") == true {
		line += ", and what a prompt cost is not known"
	}
	return line
}

// budgetUsed says which limit of a budget an event is about, how much of it is used, and how much there is.
func budgetUsed(e fsm.Event) string {
	return Text(e.Get("limit")) + " " + limitAmount(e, "spent") + " of " + limitAmount(e, "budget")
}

// limitAmount returns a field of an event that is about a limit, of time as a time.
func limitAmount(e fsm.Event, key string) string {
	n, is := Number(e.Get(key))
	switch strings.TrimPrefix(str(e, "limit"), "budget.") {
	case "wall", "timeout":
		if is {
			return humanize.Limit(time.Duration(n * float64(time.Second)))
		}
	}
	return Text(e.Get(key))
}

// WhyVerdict says in one line why an evaluator came to its verdict; "" = it does not say.
func WhyVerdict(e fsm.Event) string {
	if Text(e.Get("verdict")) == "error" {
		return humanize.Cut(humanize.FirstLine(Text(e.Get("error"))), 160)
	}
	why := humanize.Cut(humanize.FirstLine(Text(e.Get("reason"))), 160)
	if said := Text(e.Get("verdict_without_evidence")); said != "" {
		return "the judge said " + said + ", but its quotation is not in the output"
	}
	return why
}

// longFields are those of a verdict that have lines of their own.
var longFields = []string{"reason", "evidence", "error", "votes"}

// VerdictLines is all about a verdict that people may want, a line for each thing.
func VerdictLines(e fsm.Event) []string {
	lines := []string{Pairs(e, append([]string{"verdict", "raw", "judges"}, longFields...)...)}
	for _, key := range longFields {
		v := e.Get(key)
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, v := range list {
			said := Text(v)
			if vote, ok := v.(*value.Map); ok {
				verdict, _ := vote.Get("verdict")
				sure, _ := vote.Get("confidence")
				why, _ := vote.Get("reason")
				said = strings.TrimSpace(Text(verdict) + ", confidence " + Text(sure) + ": " + Text(why))
			}
			if s := strings.TrimSpace(said); s != "" {
				lines = append(lines, strings.TrimSuffix(key, "s")+": "+strings.ReplaceAll(s, "\n", "\n  "))
			}
		}
	}
	return lines
}

// Raised returns a loop with the cap on its steps or passes as an event says it was raised; budgets are not changed.
func Raised(e fsm.Event, l *fsm.Loop) *fsm.Loop {
	to, ok := Number(e.Get("to"))
	if e.Kind != fsm.EventLimitRaised || !ok {
		return l
	}
	raised := *l
	switch Text(e.Get("limit")) {
	case "max_steps":
		raised.MaxSteps = int(to)
	case "max_iterations":
		raised.MaxIterations = int(to)
	}
	return &raised
}

// failoverText says which agent took over from which, and why.
func failoverText(e fsm.Event) string {
	if Text(e.Get("failure")) == fsm.WaitQuota {
		return Text(e.Get("to")) + " is asked instead of " + Text(e.Get("from")) + ": " +
			humanize.FirstLine(Text(e.Get("reason")))
	}
	text := fmt.Sprintf("%s takes over from %s, which failed (%s): %s", Text(e.Get("to")), Text(e.Get("from")),
		Text(e.Get("failure")), humanize.FirstLine(Text(e.Get("reason"))))
	if Text(e.Get("files")) == "reset" {
		text += "; the files are as the step found them"
	}
	return text
}
