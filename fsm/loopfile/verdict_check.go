package loopfile

import (
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
)

// verdictCheck reads the check of a state; nil means that it is not there.
func (d *decoder) verdictCheck(of *block) *fsm.Check {
	if !of.has("check") {
		return nil
	}
	b := of.sub("check")
	return &fsm.Check{Files: d.patterns(b, "files"), FailFirst: b.bool("must_fail_first")}
}

// checkCheck checks that a check is a script whose verdict is followed, and that the verdict can be found again.
func (d *decoder) checkCheck(s *stateDecl) {
	b := s.b
	if s.Branches != nil && !s.Branches.HasTrees() {
		for _, branch := range s.Branches.List {
			if c := branch.State.Check; c != nil && c.Files != nil {
				d.errorf(branch.State.Pos, join(join(join(s.path, "parallel"), branch.Name), "check"), "conflict",
					"the check of the branch %s cannot have files of its own, because branches share their files; "+
						"give each a work tree (worktree: true), or do the check after them", quote(branch.Name))
			}
		}
	}
	if !b.has("check") || s.open || s.State == nil || s.Check == nil {
		return
	}
	sub := b.sub("check")
	at, path := b.keyPos("check"), join(b.path, "check")
	for _, key := range []string{"parallel", "loop", "wait", "ask", "call", "next", "terminal"} {
		if b.given(key) && (key != "parallel" || b.hasBranches()) {
			d.errorf(at, path, "conflict", "check is about the verdict of a script, and this state has %s", key)
			return
		}
	}
	if s.Action == "" || fsm.KindOf(s.State) != fsm.KindShell {
		d.errorf(at, path, "conflict", "check is about the verdict of a script, and the action of this state is none")
		return
	}
	if s.Each != nil && s.Each.Parallel > 1 && s.Check.Files != nil {
		d.errorf(b.keyPos("parallel"), join(b.path, "parallel"), "conflict",
			"the items of a check share their files, which have to be those with which the run began for one at a "+
				"time; leave parallel out")
	}
	if sub.has("from") && !sub.has("files") {
		d.errorf(sub.keyPos("from"), join(path, "from"), "missing-key",
			"from needs files: those that the check is made of")
	}
	if s.Check.FailFirst && s.Evaluate != nil && !slices.Contains(repeatable, s.Evaluate.Type) {
		d.errorf(sub.keyPos("must_fail_first"), join(path, "must_fail_first"), "conflict",
			"must_fail_first needs a verdict that can be found without a model and without what other visits came "+
				"to: without evaluate, or with one of %s", strings.Join(repeatable, ", "))
	}
}

// repeatable are the evaluators that find the same verdict on the same output.
var repeatable = fsm.RepeatableEvaluators()

// prepatchChecks reads prepatch_check, which little-loops has for tests that pass without the change. What a state says
// comes before what the loop says.
func (d *decoder) prepatchChecks(b *block, l *fsm.Loop, decls []*stateDecl) {
	for _, s := range decls {
		policy := b.text("prepatch_check")
		if s.b.has("prepatch_check") {
			policy = s.b.text("prepatch_check")
		}
		if policy != "fail" || s.Action == "" || fsm.KindOf(s.State) != fsm.KindPrompt {
			continue
		}
		for _, name := range append([]string{s.Next}, sortedTargets(s.On)...) {
			st := l.States[name]
			if st == nil || st.Action == "" || fsm.KindOf(st) != fsm.KindShell || st.Next != "" || st.Terminal ||
				st.Each != nil ||
				st.Evaluate != nil && !slices.Contains(repeatable, st.Evaluate.Type) {
				continue
			}
			if st.Check == nil {
				st.Check = &fsm.Check{}
			}
			st.Check.FailFirst = true
		}
	}
}

func sortedTargets(on map[string]string) (targets []string) {
	for _, to := range on {
		targets = append(targets, to)
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

func checkKeys(c *fsm.Check) *value.Map {
	if c == nil {
		return nil
	}
	w := objectOf{value.NewMap()}
	w.patterns("files", c.Files)
	w.flag("must_fail_first", c.FailFirst, false)
	return w.m
}
