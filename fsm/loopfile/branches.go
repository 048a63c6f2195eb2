package loopfile

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/pyregexp"
)

// joinKeys are the keys of a state that mean something beside branches only.
var joinKeys = []string{"join", "max_parallel", "on_branch_failure", "merge"}

// branchKeys are the keys of a state that a branch can have.
var branchKeys = []string{
	"action", "action_type", "agent", "ask", "call", "check", "context_passthrough", "description", "effort",
	"evaluate", "failover", "guard", "host", "idempotent", "idle_timeout",
	"loop", "model", "params", "permissions", "retry", "sandbox", "session_mode", "timeout", "tools", "velocity",
	"wait", "with",
}

const mostBranches = fsm.MostBranches

const branchName = `^[A-Za-z_][A-Za-z0-9_-]*$`

var isBranchName = pyregexp.Lazy(branchName)

// notBranchNames are taken in the record of the branches, or name the states in which a branch ends.
var notBranchNames = append(slices.Clone(fsm.BranchVerdicts), "failed")

// hasBranches reports whether parallel of a state means branches, and not how many items are worked on at once.
func (b *block) hasBranches() bool {
	return b.has("parallel") && b.fields["parallel"].node.Kind == yaml.MappingNode
}

// atOnce reads the parallel of a list: a number.
func (d *decoder) atOnce(b *block) int {
	if !b.has("parallel") || b.hasBranches() {
		return 1
	}
	n, path := b.fields["parallel"].node, join(b.path, "parallel")
	v, ok := d.int(n, path, "parallel")
	if key := (&Key{Name: "parallel", Type: TypeInt, Min: &limit1, Max: &limit256}); !ok ||
		!d.inRange(key, n, float64(v), path) {
		return 1
	}
	return v
}

// branches reads the branches of a state; nil means that there are none.
func (d *decoder) branches(s *stateDecl) *fsm.Branches {
	b := s.b
	if !b.hasBranches() {
		return nil
	}
	n, path := b.fields["parallel"].node, join(b.path, "parallel")
	x := &fsm.Branches{
		Join: fsm.JoinAll, Most: b.int("max_parallel"),
		Continue: b.text("on_branch_failure") == "continue",
	}
	if text := b.text("join"); text != "" {
		x.Join = text
	}
	entries := d.entries(n, path)
	d.joins = x
	defer func() { d.joins = nil }()
	for _, e := range entries {
		at := join(path, e.name)
		switch {
		case !isBranchName().MatchString(e.name):
			d.errorf(d.pos(e.key), at, "bad-value", "a branch cannot be called %s; expected a name of letters, "+
				"digits, _ and -, such as lint", quote(e.name))
		case slices.Contains(notBranchNames, e.name):
			d.errorf(d.pos(e.key), at, "conflict", "a branch cannot be called %s, because that names what branches "+
				"come to; choose another name", quote(e.name))
		case isNull(e.val):
			d.errorf(d.pos(e.key), at, "null", "the branch %s has no body; expected a mapping such as {action: make "+
				"lint} or {loop: NAME}", quote(e.name))
		default:
			if branch := d.branch(e, at); branch != nil {
				x.List = append(x.List, branch)
			}
		}
	}
	switch {
	case len(entries) == 0:
		d.errorf(d.pos(n), path, "range", "parallel has no branches; expected names with what each does, such as "+
			"{lint: {action: make lint}, test: {loop: test-suite}}")
	case len(entries) > fsm.MostBranches:
		d.errorf(d.pos(n), path, "range", "parallel has %d branches and can have %d at most; use for_each for a list",
			len(entries), fsm.MostBranches)
	}
	if len(x.List) == 0 {
		return nil
	}
	return x
}

// workTrees reads worktree: of branches, whether each has one; of a loop, the branch of git that it is of.
func (d *decoder) workTrees(s *stateDecl) {
	b := s.b
	f, ok := b.fields["worktree"]
	if !ok || isNull(f.node) {
		return
	}
	path := join(b.path, "worktree")
	switch {
	case !b.hasBranches() && b.has("loop") && isBool(f.node):
		d.errorf(d.pos(f.node), path, "wrong-type", "beside loop, worktree is the name of an existing branch of git "+
			"that the loop runs in, and not %s: write worktree: BRANCH, or leave it out to run in the files "+
			"of the project", f.node.Value)
	case !b.hasBranches():
		s.Worktree, _ = d.text(f.node, path, "worktree")
	case !isBool(f.node):
		d.errorf(d.pos(f.node), path, "wrong-type", "beside branches, worktree is true or false: whether each has a "+
			"work tree of its own; found %s", describe(f.node))
	case s.Branches != nil && boolOf(f.node):
		s.Branches.Trees = fsm.TreesStay
		if b.text("merge") == fsm.TreesMerge {
			s.Branches.Trees = fsm.TreesMerge
		}
	}
}

func (d *decoder) branch(e entry, path string) *fsm.Branch {
	if e.val.Kind != yaml.MappingNode {
		d.errorf(d.pos(e.val), path, "wrong-type", "the branch %s must be a mapping such as {action: make lint} or "+
			"{loop: NAME}, found %s", quote(e.name), describe(e.val))
		return nil
	}
	s := &stateDecl{
		State: &fsm.State{Name: e.name, Pos: d.pos(e.key)}, b: d.block(e.val, InState, path), path: path,
		branch: true,
	}
	for _, in := range s.b.order {
		if key := in.name; !slices.Contains(branchKeys, key) &&
			(byWhere()[InState][key] != nil || strings.HasPrefix(key, "on_")) {
			d.errorf(d.pos(in.key), join(path, key), "conflict", "a branch has no %s%s", clip(key), whyNot(key))
		}
	}
	targets := len(d.targets)
	d.state(s)
	d.targets = d.targets[:targets] // what leads on has been reported
	if s.Loop == "" && strings.TrimSpace(s.Action) == "" && s.Await == nil && !s.b.has("call") && !s.b.has("loop") &&
		!s.b.has("wait") && !s.b.has("ask") {
		d.errorf(d.pos(e.key), path, "missing-key", "the branch %s does nothing; give it an action, a loop, a call, "+
			"a wait or an ask", quote(e.name))
	}
	d.checkState(s)
	return &fsm.Branch{Name: e.name, State: s.State}
}

// whyNot says what to do instead of a key that a branch does not have.
func whyNot(key string) string {
	switch {
	case key == "next" || key == "route" || strings.HasPrefix(key, "on_"):
		return ": it ends with its verdict, which the state joins; route that state"
	case key == "capture":
		return ": what it leaves is ${captured.STATE.BRANCH.output}"
	case key == "for_each" || key == "parallel" || key == "set":
		return ": give the branch a loop in which a state has it"
	case key == "worktree":
		return ": give worktree: true to the state, and each branch has a work tree of its own"
	case key == "terminal" || key == "failure" || key == "message":
		return ": the run does not end in it"
	}
	return "; it can have " + enumerate(branchKeys)
}

// notBesideBranches are keys that a state with branches cannot have, and why.
var notBesideBranches = []struct{ key, why string }{
	{"action", "give the action a branch of its own"},
	{"action_type", "it belongs to the action of a branch"},
	{"loop", "give the loop a branch of its own"},
	{"for_each", "there, parallel is a number: how many items are worked on at once"},
	{"wait", "give the wait a branch of its own"},
	{"ask", "give the question a branch of its own"},
	{"call", "give the request a branch of its own"},
	{"evaluate", "each branch has its own; the state joins the verdicts"},
	{"retry", "give it to the branch that is to be tried again"},
	{"throttle", "the branches say how often it acts"},
	{"append_to_messages", "what branches leave is in ${captured.STATE.BRANCH.output}"},
	{"on_interrupted", "a run that is interrupted continues the branches that lack an end when it is resumed"},
	{"idempotent", "give it to the branch that must not be repeated"},
	{"params", "they belong to the tool of a branch"},
	{"with", "it belongs to the loop of a branch"},
	{"retryable_exit_codes", "give retry to the branch that is to be tried again"},
}

// checkBranches reports keys that a state with branches cannot have, and those that only such a state can.
func (d *decoder) checkBranches(s *stateDecl) {
	b := s.b
	if s.open {
		return
	}
	report := func(key, rule, format string, args ...any) {
		d.errorf(b.keyPos(key), join(b.path, key), rule, format, args...)
	}
	if !b.hasBranches() {
		for _, key := range joinKeys {
			if b.has(key) {
				report(key, "missing-key", "%s needs parallel with branches, such as parallel: {lint: "+
					"{action: make lint}}", key)
			}
		}
		return
	}
	for _, not := range notBesideBranches {
		if b.has(not.key) {
			report(not.key, "conflict", "%s has no place beside the branches of parallel: %s", not.key, not.why)
		}
	}
	if s.Terminal {
		report("parallel", "conflict", "the run ends in a terminal state, so no branch begins there")
		return
	}
	if kind := b.text("join"); (kind == fsm.JoinAny || kind == fsm.JoinSettled) &&
		b.text("on_branch_failure") == "stop" {
		report("on_branch_failure", "conflict", "with join: %s a branch that fails does not end the others; leave "+
			"on_branch_failure out, or join all", kind)
	}
	if b.has("merge") && !s.Branches.HasTrees() {
		report("merge", "missing-key", "merge needs worktree: true, which gives each branch a work tree of its own")
	}
	if s.Next == "" && s.Route == nil && s.On["no"] == "" && s.On["error"] == "" {
		report("parallel", "no-transition", "the state does not say where to go when branches fail; add on_no%s",
			d.whyNotOtherwise())
	}
}

// branchRules are those of a state with branches.
func branchRules() []any {
	alone := []any{
		object("not", is("terminal", truths...)),
		object("anyOf", []any{has("next"), has("route"), given("on_no"), given("on_failure"), given("on_error")}),
	}
	for _, not := range notBesideBranches {
		alone = append(alone, hasNot(not.key))
	}
	branches := object("required", []any{"parallel"}, "properties", object("parallel", object("type", "object")))
	rules := []any{
		when(branches, allOf(alone...)),
		when(allOf(branches, anyOf(is("join", fsm.JoinAny), is("join", fsm.JoinSettled))),
			object("not", is("on_branch_failure", "stop"))),
	}
	for _, key := range joinKeys {
		rules = append(rules, when(has(key), branches))
	}
	return rules
}

// branchSchema describes one branch.
func branchSchema() jsonObject {
	return object("type", "object", "propertyNames", object("enum", texts(branchKeys)), "anyOf",
		[]any{given("action"), given("loop"), has("call"), has("wait"), has("ask")})
}
