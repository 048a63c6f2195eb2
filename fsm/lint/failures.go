package lint

import (
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/expr"
	"loops/fsm/pyregexp"
	"loops/internal/humanize"
)

// ignoredFailure warns of a state whose failure changes nothing: next leads on to more work, or to an end that
// counts as a success.
func (c *checker) ignoredFailure(s *fsm.State) {
	if s.Terminal || s.Next == "" || s.On["error"] != "" || c.l.Maintain || !c.fails(s) {
		return
	}
	after := c.after(s)
	switch {
	case after == nil, after.Terminal && after.Failure, c.looksBack(s, after):
		return
	}
	then := "goes on to " + humanize.Quote(after.Name)
	if after.Terminal {
		then = "ends in " + humanize.Quote(after.Name) + " as a success"
	}
	silence := "write on_error: " + humanize.Clip(s.Next)
	if isShell(s) && s.Each == nil {
		silence = "end the action with || true, or " + silence
	}
	add := "with the state for failures, or otherwise at the top level"
	if alone := c.leftAlone(s); alone != "" {
		add = "with the state for failures" + alone
	}
	c.warnf("ignored-failure", ofState(s, "next"), "if %s fails, the run %s all the same, because of next; add "+
		"on_error %s; if its failure does not matter, %s",
		humanize.Quote(s.Name), then, add, silence)
}

// leftAlone says in brackets why otherwise does not cover a state of which a failure leads nowhere; "" where
// the loop has no otherwise.
func (c *checker) leftAlone(s *fsm.State) string {
	if c.l.Otherwise == "" || s.Name == c.l.Otherwise {
		return ""
	}
	if s.Route == nil && s.On["no"] == c.l.Otherwise && s.On["error"] == c.l.Otherwise &&
		s.On["partial"] == c.l.Otherwise {
		return " (otherwise covers no, error, timeout and partial only)"
	}
	return " (otherwise leaves this state alone, because it has a key for failures)"
}

// partialOtherwise warns of a state that has one key for failures, so that otherwise leaves it alone, and whose
// other failures lead nowhere. With told, another rule has warned of the verdict error.
func (c *checker) partialOtherwise(s *fsm.State, told bool) {
	acts := s.Action != "" || s.Loop != "" || s.Call != nil || s.Await != nil || s.Branches != nil || s.Each != nil ||
		s.Evaluate != nil
	if c.l.Otherwise == "" || s.Name == c.l.Otherwise || s.Terminal || s.Next != "" || c.l.Maintain || !acts ||
		s.Route != nil && s.Route.Cases != nil {
		return
	}
	sure := s.Await != nil || s.Evaluate != nil && s.Evaluate.Type == "exit_code" || isShell(s) && s.Each == nil &&
		!canFail(s.Action) ||
		s.Loop != "" && !strings.Contains(s.Loop, "${") // of which an error leads where no does
	own, missing := "route", []string{}
	for _, v := range []string{"partial", "no", "timeout", "error"} {
		if s.Route == nil && s.On[v] != "" {
			own = "on_" + v
		}
	}
	a := answerOf(s)
	for _, v := range []string{"error", "partial", "timeout"} {
		switch {
		case takes(s, v), v == "error" && (told || sure), v != "error" && (a.open || !slices.Contains(a.verdicts, v)):
		case v == "partial" && judged(s) && s.Route == nil: // partial-route says it
		// leads there
		case (v == "timeout" || v == "partial" && (s.Each != nil || s.Branches != nil)) && takes(s, "no"):
		default:
			missing = append(missing, v)
		}
	}
	if len(missing) == 0 || own == "route" && s.Route == nil {
		return
	}
	add := "_: " + humanize.Clip(c.l.Otherwise) + " to the route"
	if s.Route == nil {
		keys := prefixed("on_", missing)
		for i := range keys {
			keys[i] += ": " + humanize.Clip(c.l.Otherwise)
		}
		add = humanize.And(keys)
	}
	c.warnf("partial-otherwise", ofState(s, own), "otherwise leaves the state %s alone, because it has %s, and a "+
		"run that comes to the verdict %s there ends with an error; add %s",
		humanize.Quote(s.Name), own, strings.Join(missing, " or "), add)
}

// fails reports whether what a state does can fail, where known.
func (c *checker) fails(s *fsm.State) bool {
	switch {
	case s.Each != nil && isShell(s), s.Branches != nil, s.Loop != "", s.Call != nil:
		return true
	}
	return isShell(s) && canFail(s.Action)
}

// after returns the state that next leads to, past those that only set; nil where that is not known, or where
// something is decided there.
func (c *checker) after(s *fsm.State) *fsm.State {
	for range len(c.states) {
		next := c.l.States[s.Next]
		switch {
		case next == nil:
			return nil
		case next.Terminal || next.Action != "" || next.Loop != "" || next.Await != nil || next.Branches != nil ||
			next.Each != nil:
			return next
		case next.Next == "":
			return nil
		}
		s = next
	}
	return nil
}

// looksBack reports whether a later state asks how the action of s ended.
func (c *checker) looksBack(s, after *fsm.State) bool {
	asks := func(in *fsm.State, names ...string) bool {
		i, known := c.g.index[in.Name]
		named := func(space, path string) bool { return slices.Contains(names, space+"."+path) }
		return known && slices.ContainsFunc(c.texts[i], func(t text) bool {
			return slices.ContainsFunc(t.refs, func(r expr.Reference) bool { return named(r.Namespace, r.Path) })
		}) || slices.ContainsFunc(formulas(in), func(f formula) bool {
			return slices.ContainsFunc(f.Refs(), func(r expr.Ref) bool {
				return named(r.Namespace, strings.Join(r.Path, "."))
			})
		})
	}
	if asks(after, "prev.exit_code", "prev.timeout_kind") {
		return true
	}
	names := []string{
		s.Capture + ".exit_code", s.Capture + ".failure_type", s.Capture + ".verdict",
		s.Capture + ".timeout_kind", s.Name + ".terminated_by",
	}
	for i := range names {
		names[i] = "captured." + names[i]
	}
	return slices.ContainsFunc(c.states, func(in *fsm.State) bool { return asks(in, names...) })
}

// steady are programs that do not fail, or whose failure says nothing; in a pipe also those that only pass text on.
var (
	steady = []string{
		"echo", "printf", "true", ":", "sleep", "date", "pwd", "export", "local", "declare", "set",
		"shift", "unset", "trap", "wait", "seq",
	}
	pipes = []string{
		"cat", "head", "tail", "sort", "uniq", "wc", "tr", "cut", "sed", "awk", "tee", "nl", "fold",
		"column",
	}
	exits = pyregexp.Lazy(`(?m)(^|[;&|({\s])(exit|return)\s+("?\$|[1-9])`)
	zero  = pyregexp.Lazy(`^exit(\s+0)?\s*$`)
)

// canFail reports whether a script can end with another exit code than 0, as far as that is plain.
func canFail(script string) bool {
	if exits().MatchString(script) {
		return true
	}
	return slices.ContainsFunc(lastCommands(script), func(cmd shellCommand) bool {
		line, _, _ := strings.Cut(cmd.text, "\n")
		words := strings.Fields(line)
		for len(words) > 0 && assignment().MatchString(words[0]) {
			if strings.Contains(words[0], "$(") || strings.Contains(words[0], "`") {
				return true
			}
			words = words[1:]
		}
		if len(words) == 0 || zero().MatchString(strings.TrimRight(line, ";& ")) {
			return false
		}
		name := strings.TrimRight(words[0][strings.LastIndexByte(words[0], '/')+1:], ";&|")
		quiet := name == "rm" && slices.Contains(words, "-f") || name == "rm" && slices.Contains(words, "-rf") ||
			name == "mkdir" && slices.Contains(words, "-p") || name == "touch" || name == "cat" &&
			strings.Contains(line, "<<")
		return !quiet && !slices.Contains(steady, name) && !(cmd.by == "|" && slices.Contains(pipes, name))
	})
}

// bad are the verdicts that say that what a state did, asked or waited for did not turn out well.
var bad = []string{
	"no", "error", "timeout", "partial", "blocked", "failure", "withdrawn", "tool_error", "reject", "rejected",
	"deny", "denied", "decline", "declined", "refuse", "refused", "cancel", "abort",
}

// failureAsSuccess warns of an end that a run comes to only after something went wrong, and that counts as a success.
func (c *checker) failureAsSuccess() {
	if c.g.open || c.l.Maintain || slices.Contains(c.g.dynamic, true) {
		return
	}
	good := make([][]int, len(c.states)) // by where they lead: the states that lead there when all is well
	bads := make([]string, len(c.states))
	for i, s := range c.states {
		if s.Terminal {
			continue
		}
		for _, e := range c.edges(s) {
			j, known := c.g.index[e.to]
			switch {
			case !known:
			case e.bad == "":
				good[i] = append(good[i], j)
			case bads[j] == "":
				bads[j] = "on " + e.bad + " of " + humanize.Quote(s.Name)
			}
		}
	}
	// What a state leads to after a failure is well again where that state says so: only next passes the failure on.
	starts := []int{c.g.initial}
	for i, s := range c.states {
		if !s.Terminal && (s.Next == "" || c.l.States[s.Next] == nil) &&
			(s.Action != "" || s.Loop != "" || s.Await != nil || s.Branches != nil || s.Each != nil ||
				s.Evaluate != nil) {
			starts = append(starts, i)
		}
	}
	by := reach(good, starts, nil, nil)
	everything := reach(c.g.next, []int{c.g.initial}, nil, nil)
	for i, s := range c.states {
		if s.Terminal && !s.Failure && !s.Succeeds && by[i] < 0 && everything[i] >= 0 {
			which := ""
			if bads[i] != "" {
				which = " (" + bads[i] + ")"
			}
			c.warnf("failure-as-success", ofState(s), "a run comes to %s only after a failure%s, and ends there as "+
				"completed, with exit code 0; add failure: true, or failure: false if that is a success",
				humanize.Quote(s.Name), which)
		}
	}
}

// An edge is a target of a state with what leads to it: a verdict or a limit that says that something went
// wrong, or "".
type edge struct{ to, bad string }

func (c *checker) edges(s *fsm.State) (out []edge) {
	add := func(to, verdict string) {
		if to != "" {
			if !slices.Contains(bad, verdict) {
				verdict = ""
			}
			out = append(out, edge{to, verdict})
		}
	}
	add(s.Next, "")
	for _, verdict := range verdicts(s) {
		add(s.On[verdict], verdict)
	}
	if s.Route != nil {
		sure := false
		for _, verdict := range s.Route.Table.Keys() {
			sure = sure || verdict == "yes" || verdict == "success"
			add(tableTarget(s.Route, verdict), verdict)
		}
		for _, row := range s.Route.Cases {
			add(row.To, "")
		}
		if sure {
			add(s.Route.Default, "no")
		} else {
			add(s.Route.Default, "")
		}
		add(s.Route.Error, "error")
	}
	for _, to := range []string{
		s.OnRetryExhausted, s.OnRateLimitExhausted, s.OnThrottleHard, s.OnBudget, s.OnGuarded,
		s.OnSuspended,
	} {
		add(to, "error")
	}
	add(s.OnInterrupted, "")
	return out
}
