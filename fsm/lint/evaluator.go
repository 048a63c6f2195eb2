package lint

import (
	"slices"
	"strconv"
	"strings"

	"loops/fsm"
	"loops/fsm/pyregexp"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// wholeReference finds a reference that lacks its ${ and }.
var wholeReference = pyregexp.Lazy(`^(context|captured|prev|param)(\.[\w-]+)+$`)

// evaluatorRules look at the values of an evaluate block.
func (c *checker) evaluatorRules(s *fsm.State) {
	ev := s.Evaluate
	if ev == nil || s.Next != "" || s.Loop != "" || s.Terminal {
		return
	}
	at := func(k ...string) spot { return valueAt(append([]string{"states", s.Name, "evaluate"}, k...)...) }
	c.foreignKeys(s, ev)
	say := func(where spot, format string, args ...any) { c.warnf("evaluate-value", where, format, args...) }
	target, isText := ev.Target.(string)
	switch ev.Type {
	case "output_numeric", "convergence":
		if isText && !isTemplate(target) && !isNumber(target) {
			say(at("target"), "%s compares numbers, and %s is not a number, so it never gives an answer; write a "+
				"number, or ${context.NAME}%s", ev.Type, humanize.Quote(target), bracedHint(target))
		}
	case "output_json":
		switch {
		case isText && isTemplate(target):
			c.notReplaced(at("target"), target, "the target of output_json")
		case isText && slices.Contains([]string{"lt", "le", "gt", "ge"}, ev.Operator):
			say(at("target"), "output_json compares by %s only where both are numbers, and %s is a text, so the "+
				"verdict is always error; write a number, or operator: eq", ev.Operator, humanize.Quote(target))
		}
		c.notReplaced(at("path"), ev.Path, "the path of output_json")
	case "output_contains":
		c.pattern(s, ev)
	case "action_stall":
		c.tracked(s, ev)
	}
	if t, ok := ev.Tolerance.(string); ok && ev.Type == "convergence" && !isTemplate(t) && !isNumber(t) {
		say(at("tolerance"), "%s is no number, and counts as 0; write a number, or ${context.NAME}%s",
			humanize.Quote(t), bracedHint(t))
	}
	if ev.Type == "convergence" && ev.HasPrevious && ev.Previous != "" && !isTemplate(ev.Previous) &&
		!isNumber(ev.Previous) {
		say(at("previous"), "%s is no number, so there is never a value before and nothing ever stalls; write "+
			"${captured.NAME.output}%s", humanize.Quote(ev.Previous), bracedHint(ev.Previous))
	}
	if ev.HasSource && wholeReference().MatchString(ev.Source) {
		say(at("source"), "the source is the text %s itself, not what it names; write ${%s}",
			humanize.Quote(ev.Source), humanize.Clip(ev.Source))
	}
	if (ev.Type == "score_stall" || ev.Type == "open_question_stall") && wholeReference().MatchString(ev.HistoryFile) {
		say(at("history_file"), "%s is the name of the file itself; write ${%s}", humanize.Quote(ev.HistoryFile),
			humanize.Clip(ev.HistoryFile))
	}
}

func isNumber(s string) bool {
	_, ok := value.ParseFloat(s)
	return ok
}

// bracedHint is a clause for a reference without its braces, or "".
func bracedHint(s string) string {
	if !wholeReference().MatchString(s) {
		return ""
	}
	return ", here ${" + humanize.Clip(s) + "}"
}

// notReplaced warns of a template where templates stay as they are.
func (c *checker) notReplaced(at spot, in, what string) {
	for _, r := range references(in) {
		if _, ok := properties[r.Namespace]; ok {
			c.warnf("not-replaced", spot{r.Offset, at.path}, "templates are not replaced in %s, so %s stays as it is",
				what, humanize.Clip(r.Text))
			return
		}
	}
}

// pattern checks what output_contains looks for.
func (c *checker) pattern(s *fsm.State, ev *fsm.Evaluate) {
	at := valueAt("states", s.Name, "evaluate", "pattern")
	c.notReplaced(at, ev.Pattern, "the pattern of output_contains")
	if !isTemplate(ev.Pattern) && len(ev.Pattern) < 10_000 && !pyregexp.Valid(ev.Pattern) {
		c.warnf("evaluate-value", at, "%s is not a regular expression, so it is searched for literally; put a \\ "+
			"before what is meant literally, or fix it", humanize.Quote(ev.Pattern))
	}
	for i, p := range ev.ErrorPatterns {
		if i == maxHits {
			break
		}
		c.notReplaced(valueAt("states", s.Name, "evaluate", "error_patterns", strconv.Itoa(i)), p, "error_patterns")
	}
}

// tracked checks the names whose values action_stall compares.
func (c *checker) tracked(s *fsm.State, ev *fsm.Evaluate) {
	known, names := c.contextNames()
	for _, o := range c.states {
		if o.Capture != "" {
			known[o.Capture] = true
			names = append(names, o.Capture)
		}
		if o.Loop != "" {
			return // its captures may be there under any name
		}
	}
	for _, k := range append(slices.Clone(properties["prev"]), properties["result"]...) {
		known[k] = true
	}
	var lost []string
	for _, k := range ev.Track {
		name := k
		if namespace, path, dotted := strings.Cut(k, "."); dotted {
			if namespace != "context" && namespace != "captured" {
				continue
			}
			name, _, _ = strings.Cut(path, ".")
			name, _, _ = strings.Cut(name, ":")
		}
		if !known[name] {
			lost = append(lost, k)
		}
	}
	if len(lost) == 0 {
		return
	}
	if len(lost) == 1 && lost[0] == "action" {
		c.warnf("evaluate-value", valueAt("states", s.Name, "evaluate"),
			"action_stall compares what track names, and nothing is called action, so every visit looks the same "+
				"and the verdict is no from visit %d on; write track: [captured.NAME.output]", ev.MaxRepeat+1)
		return
	}
	c.warnf("evaluate-value", valueAt("states", s.Name, "evaluate", "track"),
		"nothing is called %s, so action_stall sees no change there%s", humanize.And(quoted(lost)),
		c.didYouMean(lost[0], names))
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = humanize.Quote(w)
	}
	return out
}

// foreignKeys warns of keys that belong to another type of evaluator.
func (c *checker) foreignKeys(s *fsm.State, ev *fsm.Evaluate) {
	if _, ok := answers[ev.Type]; !ok {
		return
	}
	d := fsm.DefaultEvaluate(ev.Type)
	stalls, scores := []string{"diff_stall", "score_stall", "open_question_stall"},
		[]string{"score_stall", "open_question_stall"}
	for _, k := range []struct {
		name  string
		set   bool
		types []string
	}{
		{"pattern", ev.Pattern != "", []string{"output_contains"}},
		{"negate", ev.Negate, []string{"output_contains"}},
		{"error_patterns", len(ev.ErrorPatterns) > 0, []string{"output_contains"}},
		{"operator", ev.Operator != d.Operator, []string{"output_numeric", "output_json"}},
		{"target", ev.HasTarget, []string{"output_numeric", "output_json", "convergence"}},
		{"path", ev.Path != "", []string{"output_json"}},
		{"key", ev.Key != "", []string{"output_numeric"}},
		{"previous", ev.Previous != "", []string{"convergence"}},
		{"direction", ev.Direction != d.Direction, []string{"convergence"}},
		{"line", ev.Line != nil, []string{"classify"}},
		{"max_stall", ev.MaxStall != d.MaxStall, stalls},
		{"history_file", ev.HistoryFile != "", scores},
		{"epsilon", ev.Epsilon != d.Epsilon, scores},
		{"max_repeat", ev.MaxRepeat != d.MaxRepeat, []string{"action_stall"}},
	} {
		if k.set && !slices.Contains(k.types, ev.Type) {
			c.gather("ignored", "evaluate "+ev.Type+" "+k.name, s.Name, key("states", s.Name, "evaluate", k.name),
				"%s has no effect with type: %s; it is a key of %s", k.name, ev.Type, humanize.And(k.types))
		}
	}
}

// literalRules look at values of the whole loop.
func (c *checker) literalRules() {
	for _, k := range c.l.Context.Keys() {
		v, _ := c.l.Context.Get(k)
		fsm.EachText(v, []string{"context", k}, func(in string, path ...string) {
			c.notReplaced(valueAt(path...), in, "the values of context")
		})
	}
	for _, p := range c.l.Parameters {
		if p.Default == nil {
			continue
		}
		if err := p.Check(p.Default); err != nil {
			c.warnf("parameter-default", valueAt("parameters", p.Name, "default"),
				"the default of %s does not fit its type: %v", humanize.Quote(p.Name), err)
		}
	}
	for _, s := range c.states {
		if s.Failure && !s.Terminal {
			c.warnf("ignored", ofState(s, "failure"), "failure marks the end of a run as a bad one, and %s is no "+
				"terminal state, so it has no effect; add terminal: true", humanize.Quote(s.Name))
		}
	}
}
