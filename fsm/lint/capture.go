package lint

import (
	"fmt"
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/expr"
	"loops/internal/humanize"
)

var (
	recordFields = []string{
		"output", "stderr", "exit_code", "duration_ms", "failure_type", "timeout_kind",
		"verdict", "file", "truncated", "bytes", "stderr_truncated",
	}
	endFields     = []string{"terminated_by", "failure_terminal", "error"} // of a sub-loop that is not captured
	subloopFields = []string{"output", "exit_code", "verdict", "truncated"}
	callFields    = []string{"status", "headers"}       // of a request, besides those of all records
	itemsFields   = []string{"failed", "items", "done"} // of a state with for_each, besides those of all records
)

// walkBudget is how many states and edges may be looked at to find paths around groups of states.
const walkBudget = 4_000_000

// A captures knows which state makes which record of ${captured.*}.
type captures struct {
	by       map[string][]int // states by the name they capture under
	names    []string         // in file order
	subloops map[string]int   // states that run a loop, by their own name: their records are there without capture
	dom      *domTree         // nil where transitions are not known: a target is a template
	around   map[string][]int // by record with several makers: the paths that avoid them all, see reach
	budget   int
}

// captureRules check that what is captured is there when it is used.
func (c *checker) captureRules() {
	k := &captures{by: map[string][]int{}, subloops: map[string]int{}, around: map[string][]int{}, budget: walkBudget}
	for i, s := range c.states {
		if s.Loop != "" && s.Each == nil {
			k.subloops[s.Name] = i
		}
		if s.Capture == "" {
			continue
		}
		if k.by[s.Capture] == nil {
			k.names = append(k.names, s.Capture)
		}
		k.by[s.Capture] = append(k.by[s.Capture], i)
	}
	for i, s := range c.states {
		texts := c.texts[i]
		for _, f := range formulas(s) {
			texts = append(slices.Clip(texts), f.captures())
		}
		for _, t := range texts {
			said := map[string]bool{}
			for _, r := range t.refs {
				if r.Namespace != "captured" || guarded(r) || isTorn(r) || badFilter(r) || said[r.Path] ||
					len(said) == maxHits {
					continue
				}
				said[r.Path] = true
				c.captured(k, i, s, t, r)
			}
		}
	}
}

// fallback is how a text says what holds where a reference has no value.
func (t text) fallback(r expr.Reference) string {
	if t.formula {
		return "(" + humanize.Clip(r.Text) + " ?? 0)"
	}
	return "${captured." + humanize.Clip(r.Path) + ":default=}"
}

// written is how a text names something of a capture.
func (t text) written(format string, args ...any) string {
	name := "captured." + fmt.Sprintf(format, args...)
	if !t.formula {
		name = "${" + name + "}"
	}
	return name
}

// captured checks one reference that fails without a value.
func (c *checker) captured(k *captures, i int, s *fsm.State, t text, r expr.Reference) {
	at := spot{r.Offset, t.path}
	name, field, _ := strings.Cut(r.Path, ".")
	if j, ok := k.subloops[name]; ok {
		if c.unbound(k, j, name, field, at) {
			return
		}
		if t.use != tolerant || t.source {
			c.dominated(k, name, []int{j}, i, s, t, at, r)
		}
		return
	}
	makers := k.by[name]
	if len(makers) == 0 {
		c.unknownCapture(k, s, t, at, name, r)
		return
	}
	if c.captureField(makers, s, t, at, name, field, r) && (t.use != tolerant || t.source) {
		c.dominated(k, name, makers, i, s, t, at, r)
	}
}

// unbound reports whether a field of a sub-loop cannot be there, because nothing but its end comes back from it.
func (c *checker) unbound(k *captures, j int, name, field string, at spot) bool {
	s := c.states[j]
	first, _, _ := strings.Cut(field, ".")
	if len(k.by[name]) > 0 || s.With != nil || s.Passthrough || isTemplate(s.Loop) || first == "" ||
		slices.Contains(endFields, first) {
		return false
	}
	c.warnf("capture-field", at, "the state %s%s has neither with nor context_passthrough, so of its loop there is "+
		"only %s, and no %s%s",
		humanize.Quote(name), c.seen(ofState(s, "loop"), at), humanize.And(endFields), humanize.Quote(first),
		c.didYouMean(first, endFields))
	return true
}

// strict reports whether little-loops refuses a loop for such a text, or does not know it: an expression. In
// other texts there is only a warning.
func strict(t text) bool { return t.action || t.source || t.formula }

func (c *checker) unknownCapture(k *captures, s *fsm.State, t text, at spot, name string, r expr.Reference) {
	known := "no state has capture"
	if len(k.names) > 0 {
		known = "captures: " + humanize.List(k.names)
	}
	hint := ""
	if meant := c.nearest(name, k.names); meant != "" {
		maker := c.states[k.by[meant][0]]
		hint = "; did you mean " + humanize.Quote(meant) + ", which " + humanize.Quote(maker.Name) +
			c.seen(ofState(maker, "capture"), at) + " captures?"
	}
	report := c.errorf
	if len(k.subloops) > 0 || !strict(t) {
		report = c.warnf // context_passthrough may bring it
	}
	report("unknown-capture", at, "no state captures %s%s (%s); write %s if it may be absent", humanize.Quote(name),
		hint, known, t.fallback(r))
}

// captureField checks the part after the name of a record. It reports false if something is wrong with it.
func (c *checker) captureField(makers []int, s *fsm.State, t text, at spot, name, field string, r expr.Reference) bool {
	loops, judged := 0, false
	for _, m := range makers {
		if c.states[m].Loop != "" && c.states[m].Each == nil {
			loops++
			judged = true
		} else if c.states[m].Next == "" {
			judged = true
		}
	}
	first, deeper, _ := strings.Cut(field, ".")
	maker := c.states[makers[0]]
	where := func() string { return humanize.Quote(maker.Name) + c.seen(ofState(maker, "capture"), at) }
	switch {
	case field == "":
		if t.use != tolerant && !t.formula {
			c.warnf("capture-field", at, "%s is the whole record, printed as a mapping; for what the state %s "+
				"printed write ${captured.%s.output}", humanize.Clip(r.Text), where(), humanize.Clip(name))
		}
		return true
	case maker.Branches != nil:
		return c.branchField(maker, t, at, name, first, deeper, r)
	case slices.Contains(itemsFields, first) &&
		slices.ContainsFunc(makers, func(m int) bool { return c.states[m].Each != nil }):
	case loops > 0 && !slices.Contains(subloopFields, field) && !(field == "json" && r.Program != ""):
		report := c.errorf
		if !strict(t) {
			report = c.warnf
		}
		report("capture-field", at, "a captured sub-loop, here that of the state %s, has %s and no %s; what its own "+
			"states captured is %s", where(), humanize.And(subloopFields), humanize.Quote(field),
			t.written("%s.…", humanize.Clip(maker.Name)))
		return false
	case maker.Await != nil && maker.Await.Ask != nil && maker.Each == nil &&
		!slices.Contains(answerFields(maker.Await.Ask), first):
		c.warnf("capture-field", at, "the answer to %s has no %s%s (it has %s)", where(), humanize.Quote(first),
			c.didYouMean(first, answerFields(maker.Await.Ask)), humanize.List(answerFields(maker.Await.Ask)))
		return false
	case maker.Await != nil && maker.Await.Ask != nil && maker.Each == nil:
	case slices.Contains(callFields, first) &&
		slices.ContainsFunc(makers, func(m int) bool { return c.states[m].Call != nil }):
	case field == "json" && r.Program != "":
	case !slices.Contains(recordFields, first):
		c.warnf("capture-field", at, "a capture has no %s%s (it has %s); %s is captured by the state %s",
			humanize.Quote(first), c.didYouMean(first, recordFields), humanize.List(recordFields),
			humanize.Quote(name), where())
		return false
	case deeper != "":
		c.warnf("capture-field", at, "%s of a capture is one value; there is no %s inside it", first,
			humanize.Quote(deeper))
		return false
	case first == "verdict" && !judged:
		c.warnf("capture-field", at, "the state %s has next, so nothing is evaluated and its capture has no "+
			"verdict; use ${captured.%s.exit_code}", where(), humanize.Clip(name))
		return false
	case first == "file" && !slices.ContainsFunc(makers, func(m int) bool { return hasFile(c.states[m]) }):
		c.warnf("capture-field", at, "the state %s runs nothing whose output could be in a file, so its "+
			"capture has no file", where())
		return false
	case first == "bytes" || first == "truncated" || first == "stderr_truncated":
		instead := t.fallback(r)
		if !t.formula {
			instead = "${captured." + humanize.Clip(r.Path) + "?}"
		}
		c.warnf("capture-field", at, "%s of a capture is there only when the output was long; write %s", first, instead)
		return false
	}
	return true
}

// branchField checks what follows the name of the record that branches left.
func (c *checker) branchField(maker *fsm.State, t text, at spot, name, first, field string, r expr.Reference) bool {
	if first == "failed" {
		return true
	}
	names := make([]string, 0, len(maker.Branches.List)+1)
	for _, b := range maker.Branches.List {
		names = append(names, b.Name)
	}
	var known []string
	b := maker.Branches.Named(first)
	if b != nil {
		known = branchFields(b.State)
	}
	inside, _, _ := strings.Cut(field, ".")
	switch {
	case b == nil:
		c.errorf("capture-field", at, "the state %s has no branch %s%s (branches: %s)", humanize.Quote(maker.Name),
			humanize.Quote(first), c.didYouMean(first, names), humanize.List(names))
	case field == "" && t.formula:
		return true
	case field == "":
		c.warnf("capture-field", at, "${captured.%s.%s} is the whole record of a branch, printed as a mapping; for "+
			"what it printed write ${captured.%s.%s.output}", name, first, name, first)
	case b.State.Loop != "", field == "json" && r.Program != "", inside == "headers" && b.State.Call != nil:
		return true
	case !slices.Contains(known, field):
		c.warnf("capture-field", at, "the branch %s leaves no %s%s (it has %s)", humanize.Quote(first),
			humanize.Quote(field), c.didYouMean(field, known), humanize.List(known))
	default:
		return true
	}
	return false
}

// dominated warns if a run can come to the state i without the record: none of its makers is on the path.
func (c *checker) dominated(k *captures, name string, makers []int, i int, s *fsm.State, t text, at spot,
	r expr.Reference,
) {
	if c.off("capture-reachability") || t.name {
		return
	}
	if k.dom == nil {
		if c.g.initial < 0 || slices.Contains(c.g.dynamic, true) {
			return
		}
		k.dom = dominators(c.g.next, c.g.initial)
	}
	self := slices.Contains(makers, i)
	if self && t.use != before {
		return // made just now
	}
	if slices.ContainsFunc(makers, func(m int) bool { return m != i && k.dom.over(m, i) }) {
		return
	}
	if self {
		c.firstVisit(k, name, makers, i, s, t, at, r)
		return
	}
	by := c.around(k, name, makers)
	way := "another way"
	switch {
	case by == nil && len(makers) > 1, by != nil && by[i] < 0:
		return
	case by != nil:
		way = c.shown(path(by, i))
	}
	places := make([]string, 0, 3)
	does := "captures"
	for _, m := range makers[:min(len(makers), 3)] {
		key := ofState(c.states[m], "capture")
		if c.states[m].Capture != name {
			key, does = ofState(c.states[m], "loop"), "runs"
		}
		places = append(places, humanize.Quote(c.states[m].Name)+c.seen(key, at))
	}
	if len(makers) > 3 {
		places = append(places, "another one")
	}
	what := humanize.Quote(name)
	if does == "runs" {
		what = "that loop"
	}
	c.warnf("capture-reachability", at, "%s may not be there: a run can come to %s by %s, and then no state %s %s, "+
		"as %s does; write %s, or make every way lead through there",
		humanize.Clip(r.Text), humanize.Quote(s.Name), way, does, what, strings.Join(places, " or "), t.fallback(r))
}

// firstVisit warns of a state that needs its own capture, unless others make it before.
func (c *checker) firstVisit(k *captures, name string, makers []int, i int, s *fsm.State, t text, at spot,
	r expr.Reference,
) {
	if len(makers) > 1 {
		others := slices.DeleteFunc(slices.Clone(makers), func(m int) bool { return m == i })
		by := c.around(k, name+"\x00"+s.Name, others)
		if by == nil || by[i] < 0 {
			return
		}
	}
	if k.dom.enter[i] == 0 {
		return // no way leads here
	}
	c.warnf("own-capture", at, "the state %s captures %s itself, so at its first visit %s is not there yet; write %s",
		humanize.Quote(s.Name), humanize.Quote(name), humanize.Clip(r.Text), t.fallback(r))
}

// around returns the paths from the initial state that avoid all of some states, or nil if that would take too long.
func (c *checker) around(k *captures, id string, avoid []int) []int {
	if by, ok := k.around[id]; ok {
		return by
	}
	if k.budget < 0 {
		return nil
	}
	stop := make([]bool, len(c.states))
	for _, i := range avoid {
		stop[i] = true
	}
	k.budget -= len(c.states)
	by := reach(c.g.next, []int{c.g.initial}, func(i int) bool { return stop[i] }, &k.budget)
	if k.budget < 0 {
		by = nil
	}
	if len(k.around) < 64 { // each is as long as the loop
		k.around[id] = by
	}
	return by
}

// answerFields are what the record of an answer has.
func answerFields(a *fsm.Ask) []string {
	fields := []string{"output", "choice", "by", "at", "verdict", "exit_code"}
	for _, f := range a.Fields {
		fields = append(fields, f.Name)
	}
	return fields
}

// branchFields are what the record of a branch with an action has.
func branchFields(s *fsm.State) []string {
	fields := recordFields
	if s.Await != nil && s.Await.Ask != nil {
		fields = answerFields(s.Await.Ask)
	}
	if s.Call != nil {
		fields = slices.Concat(fields, callFields)
	}
	return slices.Concat(fields, []string{"error", "worktree", "git_branch"})
}

// hasFile reports whether the output of a state is in a file where a loop refers to it.
func hasFile(s *fsm.State) bool {
	return s.Action != "" || s.Call != nil || s.Each != nil || s.Await != nil && s.Await.Until != ""
}
