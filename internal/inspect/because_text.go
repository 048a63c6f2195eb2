package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/humanize"
)

// reachedLimit says which limit was reached in a state; "" = that is not known.
func reachedLimit(e fsm.Event, state string) string {
	text := strings.TrimSuffix((&explainer{v: &Visit{State: state}}).limit(e), ".")
	switch {
	case text == "":
		return ""
	case strings.HasPrefix(text, state+" "):
		return "state " + text
	}
	return "in state " + state + ": " + lower(text)
}

// errorText says which error a state came to. Some texts name their state themselves.
func errorText(state, problem string) string {
	problem = strings.TrimSuffix(strings.TrimPrefix(problem, "in state "+state+": "), ".")
	if strings.HasPrefix(problem, "state "+state+" ") || strings.Contains(problem, " of state "+state+" cannot ") {
		return problem
	}
	return "state " + state + ": " + problem
}

// promptFailed reports whether a prompt failed for good, so that what its text was judged to be was not followed.
func (t *turn) promptFailed() bool {
	switch fsm.Failure(str(t.acted, "failure")) {
	case fsm.FailAuth, fsm.FailPermission, fsm.FailMissing, fsm.FailBilling, fsm.FailAdminLimit, fsm.FailModel:
	default:
		return false
	}
	return whole(t.acted, "exit_code") != 0 && str(t.verdict, "verdict") == "yes" &&
		str(t.verdict, "type") != "exit_code"
}

// text says what a visit came to, and where it failed what its sandbox did not let it reach.
func (t *turn) text() string {
	text := t.came()
	said := func(host string) bool { return strings.Contains(text, host) } // by the action, or by what is inside
	if len(t.kept) > 0 && t.failed() && !slices.ContainsFunc(t.kept, said) {
		text += "; its sandbox " + humanize.Cut(humanize.PlainLine(fsm.NotLet(t.kept)), quoteLength)
	}
	return text
}

// came says what a visit came to.
func (t *turn) came() string {
	verdict := str(t.verdict, "verdict")
	switch {
	case t.mishap.Kind != "":
		return humanize.Cut(humanize.PlainLine(humanize.FirstLine(errorText(t.state, str(t.mishap, "error")))),
			2*quoteLength)
	case t.led.Kind != "":
		return reachedLimit(t.led, cmp.Or(str(t.led, "state"), t.state))
	case t.promptFailed():
		return "the prompt of state " + t.state + " failed (" + t.exit() + ")"
	case verdict == "" && t.sub.Kind != "":
		return fmt.Sprintf("the sub-loop of state %s ended in %s [%s]%s", t.state, str(t.sub, "final_state"),
			str(t.sub, "terminated_by"), cmp.Or(quotation(str(t.sub, "error")), t.inside))
	case verdict == "" && whole(t.acted, "exit_code") != 0:
		return "the action of state " + t.state + " failed" + t.brackets()
	case verdict == "" && t.acted.Kind == "":
		return "state " + t.state + " led to " + t.to
	case verdict == "":
		return "state " + t.state + " ended its action"
	}
	text := "state " + t.state + " said " + verdict
	if t.times > 1 {
		text += " " + humanize.Count(t.times, "time")
	}
	return text + t.brackets()
}

// brackets is the evidence for what a visit came to, in brackets.
func (t *turn) brackets() string {
	if evidence := t.evidence(); evidence != "" {
		return " (" + evidence + ")"
	}
	return ""
}

func (t *turn) evidence() string {
	e := t.verdict
	kind := str(e, "type")
	if was := str(e, "verdict_without_evidence"); was != "" {
		return "the judge said " + was + ", but what it quoted is not in the output"
	}
	if text := str(e, "error"); text != "" && kind != "exit_code" {
		return humanize.Cut(humanize.FirstLine(text), quoteLength)
	}
	if text := str(e, "reason"); text != "" {
		return "judge: " + quoteOf(text)
	}
	if exit := t.exit(); exit != "" {
		return exit
	}
	switch kind {
	case "", "default", "exit_code", "llm_structured":
		return ""
	}
	if e.Kind == "" {
		return ""
	}
	text := humanize.Cut((&explainer{v: &Visit{State: t.state}}).reason(kind, str(e, "verdict"), e), quoteLength)
	if t.part != "" && (kind == "parallel" || kind == "for_each") && str(e, "verdict") != "yes" {
		text = strings.TrimPrefix(text+"; "+t.part, "; ")
	}
	return text
}

// exit is how the action of a visit failed; "" = it did not.
func (t *turn) exit() string {
	code := whole(t.acted, "exit_code")
	text := fmt.Sprintf("exit %d", code)
	switch {
	case code == 0:
		return ""
	case TimedOut(t.acted):
		text = Timeout(t.acted) + " after " +
			humanize.Duration(time.Duration(whole(t.acted, "duration_ms"))*time.Millisecond)
	case code < 0:
		text = fmt.Sprintf("ended by signal %d", -code)
	}
	return text + quotation(t.words())
}

// words are the last line of an action: on standard error, or else on standard output.
func (t *turn) words() string {
	for _, said := range []string{
		str(t.acted, "stderr_preview"), str(t.printed, "line"),
		str(t.acted, "output_preview"),
	} {
		if line := lastLine(said); line != "" {
			return line
		}
	}
	return ""
}

func quotation(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return ": " + quoteOf(text)
}

func quoteOf(text string) string {
	return `"` + humanize.Cut(humanize.PlainLine(humanize.FirstLine(text)), quoteLength) + `"`
}

// numberOr is what is said of a limit whose number is known, or where it is not.
func numberOr(known bool, text, without string) string {
	if known {
		return text
	}
	return without
}

func passes(n int) string {
	if n == 1 {
		return "1 pass"
	}
	return fmt.Sprintf("%d passes", n)
}

// refusedBy says what an event says that a sandbox did not let an action do; "" = it says nothing.
func refusedBy(e fsm.Event) string {
	var list []string
	all, _ := e.Get("refused").([]any)
	for _, one := range all {
		list = append(list, Text(one))
	}
	if len(list) == 0 {
		return ""
	}
	return " Its sandbox " + fsm.NotLet(list) + "."
}
