package inspect

import (
	"fmt"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// operators are the comparisons of the language as people read them.
var operators = map[string]string{
	"eq": "equal to", "ne": "different from", "lt": "less than", "le": "at most",
	"gt": "more than", "ge": "at least",
}

// judged says what an evaluator decided, from what and by which limits.
func (x *explainer) judged(e fsm.Event) []Sentence {
	verdict, kind := str(e, "verdict"), str(e, "type")
	switch {
	case kind == "default":
		kind = x.defaultKind(e)
	case kind == "" && x.st != nil && x.st.Evaluate != nil:
		kind = x.st.Evaluate.Type
	case kind == "" && x.st != nil:
		kind = x.defaultKind(e)
	}
	head := fmt.Sprintf("%s said %s", kind, quoted(verdict))
	if kind == "" {
		head = "the last verdict was " + quoted(verdict)
	}
	why := x.reason(kind, verdict, e)
	if why != "" {
		head += ": " + why
	}
	said := []Sentence{say(e, "%s.", head)}
	return append(said, judges(e)...)
}

// defaultKind is the evaluator of a state without one, by what it recorded.
func (x *explainer) defaultKind(e fsm.Event) string {
	switch {
	case e.Get("confidence") != nil || e.Get("llm_prompt") != nil:
		return "llm_structured (the default)"
	case e.Get("envelope") != nil:
		return "mcp_result (the default)"
	case e.Get("exit_code") != nil:
		return "exit_code (the default)"
	}
	return "the default evaluator"
}

func (x *explainer) reason(kind, verdict string, e fsm.Event) string {
	kind = strings.TrimSuffix(kind, " (the default)")
	if text := str(e, "error"); text != "" && kind != "exit_code" {
		return text
	}
	val := func(key string) string { return show(e.Get(key)) }
	switch kind {
	case "exit_code":
		switch whole(e, "exit_code") {
		case 0, 1:
			return fmt.Sprintf("exit code %s means that", val("exit_code"))
		case timeoutCode:
			if acted := x.v.find(fsm.EventActionComplete); acted == nil || TimedOut(*acted) &&
				str(*acted, "timeout_kind") != fsm.TimeoutVelocity {
				return "the action timed out"
			} else if TimedOut(*acted) {
				return "the action " + Timeout(*acted)
			}
			return "exit code 124 stands for an action that timed out"
		}
		return fmt.Sprintf("exit code %s is neither 0, which is yes, nor 1, which is no", val("exit_code"))
	case "wait":
		return waited(verdict, e)
	case "for_each":
		return itemsDone(e)
	case "parallel":
		return branchesDone(e)
	case "output_numeric":
		return compared("the number", "", verdict, e)
	case "output_json":
		return compared("the value", " at "+val("path"), verdict, e)
	case "output_contains":
		return contained(e)
	case "convergence":
		text := fmt.Sprintf("it is %s now, the target is %s", val("current"), val("target"))
		if x.st != nil && x.st.Evaluate != nil && x.st.Evaluate.Tolerance != nil {
			text += fmt.Sprintf(" (tolerance %s)", show(x.st.Evaluate.Tolerance))
		}
		if e.Get("previous") != nil {
			text += fmt.Sprintf(", and it was %s before", val("previous"))
		}
		return text
	case "diff_stall", "action_stall", "score_stall", "open_question_stall":
		return stalled(kind, e)
	case "llm_structured":
		return x.model(e)
	case "classify":
		return "that is the line it chose"
	case fsm.EvaluateLearning:
		if n, _ := e.Get("targets").(int64); n > 0 {
			return fmt.Sprintf("%s to prove, and nothing is proven here", humanize.Count(int(n), "target"))
		}
		return "there is nothing to prove"
	case "harbor_scorer":
		if e.Get("score") != nil {
			return "the score is " + val("score")
		}
	}
	return fields(e, "type", "verdict", "envelope", "judges", "raw")
}

// compared says how a value compares with its target.
func compared(what, where, verdict string, e fsm.Event) string {
	op := str(e, "operator")
	word := operators[op]
	if word == "" || e.Get("value") == nil {
		return fields(e, "type", "verdict")
	}
	is := "is"
	if verdict != "yes" {
		is = "is not"
	}
	return fmt.Sprintf("%s%s, %s, %s %s %s (%s)", what, where, show(e.Get("value")), is, word, show(e.Get("target")),
		op)
}

func contained(e fsm.Event) string {
	matched, _ := e.Get("matched").(bool)
	negate, _ := e.Get("negate").(bool)
	text := fmt.Sprintf("the pattern %s was not found in the output", show(e.Get("pattern")))
	if matched {
		text = fmt.Sprintf("the pattern %s was found in the output", show(e.Get("pattern")))
	}
	if negate {
		text += ", and negate turns that round"
	}
	if p := str(e, "error_pattern"); p != "" {
		text += fmt.Sprintf(", and the error pattern %s was", humanize.Quote(p))
	}
	return text
}

func stalled(kind string, e fsm.Event) string {
	limit, name := e.Get("max_stall"), "max_stall"
	if limit == nil {
		limit, name = e.Get("max_repeat"), "max_repeat"
	}
	what := map[string]string{
		"diff_stall": "the work tree was the same", "action_stall": "the tracked values were the same",
		"score_stall": "the score did not rise", "open_question_stall": "the number of open questions did not fall",
	}[kind]
	if keys, ok := e.Get("tracked_keys").([]any); ok {
		what += " (" + show(keys) + ")"
	}
	if best := e.Get("best"); best != nil {
		what += fmt.Sprintf(" (best so far: %s)", show(best))
	}
	if limit == nil {
		return fields(e, "type", "verdict")
	}
	return fmt.Sprintf("%s %s in a row; %s is %s", what, humanize.Count(whole(e, "stall_count"), "time"), name,
		show(limit))
}

// model says how sure a judge was, and what for.
func (x *explainer) model(e fsm.Event) string {
	var parts []string
	if c, ok := Number(e.Get("confidence")); ok {
		text := fmt.Sprintf("the judge's confidence is %s", show(c))
		if x.st != nil && x.st.Evaluate != nil {
			text += fmt.Sprintf(", min_confidence is %s", show(x.st.Evaluate.MinConfidence))
		} else if confident, known := e.Get("confident").(bool); known && !confident {
			text += ", which is less than min_confidence"
		}
		parts = append(parts, text)
	}
	if was := str(e, "verdict_without_evidence"); was != "" {
		parts = append(parts, fmt.Sprintf("it said %s, but its evidence is not in what it judged (verbatim)",
			quoted(was)))
	}
	if coerced, _ := e.Get("evidence_coerced").(bool); coerced {
		parts = append(parts, "it gave no evidence, so its verdict counts as no")
	}
	if reason := str(e, "reason"); reason != "" {
		parts = append(parts, "its reason: "+humanize.Quote(reason))
	}
	if evidence := str(e, "evidence"); evidence != "" {
		text := "its evidence: " + humanize.Quote(evidence)
		if found, known := e.Get("evidence_found").(bool); known {
			text += map[bool]string{true: ", which is in the output", false: ", which is not in the output"}[found]
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// judges says who was asked, and how they voted.
func judges(e fsm.Event) []Sentence {
	var said []Sentence
	if votes, ok := e.Get("votes").([]any); ok {
		var names []string
		for _, v := range votes {
			if m, ok := v.(*value.Map); ok {
				name, _ := m.Get("verdict")
				names = append(names, show(name))
			}
		}
		said = append(said, say(e, "%s: %s; %s decide (quorum).", humanize.Count(len(votes), "vote"),
			strings.Join(names, ", "), show(e.Get("quorum"))))
	}
	asked, _ := e.Get("judges").([]any)
	for _, j := range asked {
		m, ok := j.(*value.Map)
		if !ok {
			continue
		}
		one := fsm.Event{Seq: e.Seq}
		for _, k := range m.Keys() {
			v, _ := m.Get(k)
			one.Fields = append(one.Fields, fsm.Field{Key: k, Value: v})
		}
		if who := strings.TrimPrefix(askedOf(one, ""), ", "); who != "" {
			said = append(said, say(e, "The judge was %s.", who))
		}
	}
	return said
}

// fields writes the fields of an event that nothing more is known about.
func fields(e fsm.Event, without ...string) string {
	var parts []string
next:
	for _, f := range e.Fields {
		for _, w := range without {
			if f.Key == w {
				continue next
			}
		}
		parts = append(parts, f.Key+" "+show(f.Value))
	}
	return strings.Join(parts, ", ")
}

// quoted writes a verdict in a sentence.
func quoted(verdict string) string {
	if verdict == "" || strings.ContainsAny(verdict, " \t\n") {
		return humanize.Quote(verdict)
	}
	return verdict
}

// show writes a value in a sentence: text in quotes, all else as JSON, not too long.
func show(v any) string {
	if s, ok := v.(string); ok {
		if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' }) && len(s) <= 40 {
			return s
		}
		return humanize.Quote(s)
	}
	if f, ok := v.(float64); ok && f == float64(int64(f)) && f < 1e15 && f > -1e15 {
		v = int64(f)
	}
	text := string(value.AppendJSON(nil, v))
	if len(text) > 120 {
		return humanize.Clip(text)
	}
	return text
}

// waited is why a wait is over.
func waited(verdict string, e fsm.Event) string {
	if e.Get("waited_seconds") == nil {
		return "" // of a simulation
	}
	text := "it waited " + secondsOf(e, "waited_seconds")
	if n := whole(e, "checks"); n > 0 {
		text += " and looked " + humanize.Count(n, "time")
	}
	seen := strings.TrimRight(str(e, "seen"), ".")
	switch {
	case seen == "":
	case verdict == fsm.AwaitTimeout:
		text += "; its time was up, and the last look came to: " + seen
	default:
		text += "; " + seen
	}
	return text
}
