package fsm

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"loops/fsm/expr"
	"loops/fsm/glob"
	"loops/fsm/value"
)

// A Check says that the verdict of a state decides what a run is worth, and what an agent cannot change of it.
type Check struct {
	Files     []glob.Pattern // are those with which the run began while the action runs; nil = all are as they are
	FailFirst bool           // it has to fail before the first prompt
}

// fields are what the event of a verdict has of the check that it is one of.
func (c *Check) fields() []Field {
	if c == nil {
		return nil
	}
	files := []any{}
	for _, p := range c.Files {
		files = append(files, p.String())
	}
	return []Field{{"check", files}}
}

// A CheckRun says with which files an action runs.
type CheckRun struct {
	// of the folder of the action: they are those with which the run began, and after the action as they were before
	Start []glob.Pattern
	Begin string // the tree with which the run began, as [World.Start] named it
	// "" = it runs in its folder; else in a copy of that folder, as a tree of git has it, with a fault in its files
	Fault Fault
	Only  []glob.Pattern // files that a fault may change; nil = all
	Spare []glob.Pattern // files that no fault changes
}

// A Fault is what is done to the files of a copy of a folder to see whether a check can fail.
type Fault string

// The faults, in the order in which they are tried.
const (
	FaultNone    Fault = "none"    // nothing: what passes only where the copy was made from is found out by it
	FaultBroken  Fault = "broken"  // each file has another content
	FaultRemoved Fault = "removed" // there are no files
)

// RepeatableEvaluators returns the evaluators that find the same verdict on the same output and exit code,
// without a model.
func RepeatableEvaluators() []string {
	return []string{"exit_code", "output_contains", "output_numeric", "output_json", "jq", "expression", "classify"}
}

// ErrNoFault is the error of a Runner that found no file to which a fault could be done.
var ErrNoFault = errors.New("there is no file that a fault could be planted in")

// mayPrompt reports whether a state has a prompt sent, or may have: of its sub-loop that is not known.
func mayPrompt(st *State) bool {
	if st.Loop != "" || st.Action != "" && KindOf(st) == KindPrompt {
		return true
	}
	return st.Branches != nil && slices.ContainsFunc(st.Branches.List, func(b *Branch) bool {
		return mayPrompt(b.State)
	})
}

// Checks yields the states and branches with a check, by names such as STATE and STATE.BRANCH.
func (l *Loop) Checks() iter.Seq2[string, *State] {
	return func(yield func(string, *State) bool) {
		for _, name := range l.Order {
			st := l.States[name]
			if st.Check != nil && !yield(name, st) {
				return
			}
			if st.Branches == nil {
				continue
			}
			for _, b := range st.Branches.List {
				if b.State.Check != nil && !yield(name+"."+b.Name, b.State) {
					return
				}
			}
		}
	}
}

// failFirst has the checks that have to fail before the first prompt done, where a state may be that prompt. It reports
// false where the decision ends the run.
func (e *Executor) failFirst(st *State) (decision, bool) {
	if e.mem.FailedFirst || e.inline || e.cfg.Trees == nil || !mayPrompt(st) {
		return decision{}, true
	}
	probed := false
	for name, check := range e.cfg.Loop.Checks() {
		if !check.Check.FailFirst {
			continue
		}
		if check.Each == nil && e.justFailed(name) {
			details, _ := e.mem.LastResult.Value("details").(*value.Map)
			e.emit(EventCheckFirst, Field{"state", check.Name}, Field{"exit_code", details.Value("exit_code")},
				Field{"verdict", "no"}, Field{"fault", ""}, Field{"passes", false})
			continue
		}
		probed = true
		passed, note, err := e.canFail(check, st)
		if passed || err != nil || e.machine.broken != nil {
			return e.withoutPrompt(name, note, err), false
		}
	}
	e.mem.FailedFirst = true
	// since the checks before the state
	if probed && (e.over() && e.loopTimeout() != pass || e.isHeld() && e.held() != pass || e.ending()) {
		return decision{halted: true}, false
	}
	return decision{}, true
}

// justFailed reports whether the first state of the run was that check, which said no, and the prompt comes
// right after it: nothing changed since, so that doing it again would find the same. A resumed run does it
// again: time has passed.
func (e *Executor) justFailed(check string) bool {
	m := e.mem
	verdict, _ := m.LastResult.Value("verdict").(string)
	return !e.resumed && m.Step == 2 && m.Previous == check && verdict == "no"
}

// errCannotFail is why a check proves nothing.
var errCannotFail = errors.New("also passes in a copy of the folder in which all files that actions may change are " +
	"broken, and in one without them. " +
	"Have it look at what the actions are to do, or leave out must_fail_first")

// canFail does a check before the first prompt, of a state. It reports whether the check passes, with what was
// not found out about it. The error is that it cannot be done, or that it cannot fail.
func (e *Executor) canFail(check, prompt *State) (passed bool, note string, err error) {
	if passed, err = e.probe(check, prompt, ""); err != nil || !passed {
		return passed, "", err
	}
	note, err = e.failsSomewhere(check, prompt)
	return err == nil, note, err
}

// failsSomewhere finds out whether a check that passes can fail, with files that are broken and without them.
// It returns what was not found out. The error is that it cannot be done, or that it cannot fail.
func (e *Executor) failsSomewhere(check, prompt *State) (note string, err error) {
	for _, fault := range []Fault{FaultNone, FaultBroken, FaultRemoved} {
		passes, err := e.probe(check, prompt, fault)
		switch {
		case errors.Is(err, ErrNoFault), errors.Is(err, errNoItems):
			return "; whether it can fail is not known, because " + err.Error(), nil
		case err != nil:
			return "", err
		case fault == FaultNone && !passes:
			return "; whether it can fail is not known, because it fails in a clean copy of the folder", nil
		case fault != FaultNone && !passes:
			return "", nil
		}
	}
	return "", errCannotFail
}

// passesFirst decides on a state whose check has to fail before the first prompt, and which passed before any:
// then there is nothing to do, or the check cannot fail. It is asked before the state is left.
func (e *Executor) passesFirst(st *State, d decision) decision {
	m := e.mem
	if d.target == "" || st.Check == nil || !st.Check.FailFirst || m.FailedFirst || e.inline || e.cfg.Trees == nil ||
		e.followed() != "yes" {
		return d
	}
	for _, name := range e.cfg.Loop.Order {
		prompt := e.cfg.Loop.States[name]
		if !mayPrompt(prompt) {
			continue
		}
		m.Decided = &Decided{To: d.target, Judged: m.LastResult != e.lastBefore, Verdict: e.outcome}
		note, err := e.failsSomewhere(st, prompt)
		return e.withoutPrompt(st.Name, note, err)
	}
	return d
}

// withoutPrompt ends a run before its first prompt, as the check of a state says: it passes already, or the
// error is why it is no check.
func (e *Executor) withoutPrompt(check, note string, err error) decision {
	switch {
	case errors.Is(err, errHalted), errors.Is(err, ErrScarce), e.machine.broken != nil:
		return decision{halted: true}
	case errors.Is(err, errCannotFail):
		return decision{fatal: fmt.Sprintf("this gate cannot fail: the check of state %s %v", check, err)}
	case err != nil:
		return decision{
			fatal: fmt.Sprintf("the check of state %s, which has to fail before the first prompt, cannot be done: %v",
				check, err),
		}
	}
	return decision{nothing: fmt.Sprintf("nothing to do: the check of state %s passes already%s", check, note)}
}

// probe does a check once and reports whether its verdict is yes. A paused run begins none.
func (e *Executor) probe(check, prompt *State, fault Fault) (passed bool, err error) {
	if e.held() != pass {
		return false, errHalted
	}
	if check.Each != nil {
		return e.probeItems(check, prompt, fault)
	}
	scope := e.scope(nil)
	res, err := e.probed(check, prompt, fault, scope, "", nil)
	if err != nil {
		return false, err
	}
	cfg := check.Evaluate
	if cfg == nil {
		d := DefaultEvaluate(defaultEvaluator(KindOf(check)))
		cfg = &d
	}
	ev, err := e.evidence(cfg, scope, &res)
	if err == nil {
		ev, err = e.whole(check, cfg, ev, &res)
	}
	if err != nil {
		return false, err
	}
	v, _, err := Judge(cfg, ev)
	if err != nil {
		return false, err
	}
	e.emit(EventCheckFirst, Field{"state", check.Name}, Field{"exit_code", int64(res.ExitCode)},
		Field{"verdict", v.Name}, Field{"fault", string(fault)}, Field{"passes", v.Name == "yes"})
	return v.Name == "yes", nil
}

// errNoItems is why it is not known whether a check can fail.
var errNoItems = errors.New("its list has no items")

// probeItems is probe of a check of each item of a list, up to the first that does not pass.
func (e *Executor) probeItems(check, prompt *State, fault Fault) (passed bool, err error) {
	attempt := e.mem.Attempt
	text, n, err := e.list(check)
	e.mem.Attempt = attempt // a script that makes the list is none of the prompt
	if err != nil {
		return false, err
	}
	list, err := e.roll(check, &Items{List: text, Count: n})
	if err != nil {
		return false, err
	}
	r := &round{e: e, st: check, list: list}
	fields := []Field{{"state", check.Name}}
	verdict, code := "yes", 0
	for i := 0; i < n && verdict == "yes"; i++ {
		if e.held() != pass {
			return false, errHalted
		}
		res, err := e.probed(check, prompt, fault, r.itemScope(i), AttemptMark(i+1, 0), r.itemVars(i))
		if err != nil {
			return false, err
		}
		verdict, code = r.judge(res), res.ExitCode
		if verdict != "yes" {
			fields = append(fields, Field{"item", int64(i + 1)}, Field{"key", shortKey(list.key(i))})
		}
	}
	if n == 0 && fault != "" {
		return false, errNoItems
	}
	e.emit(EventCheckFirst, append(fields, Field{"exit_code", int64(code)}, Field{"verdict", verdict},
		Field{"fault", string(fault)}, Field{"passes", verdict == "yes"})...)
	return verdict == "yes", nil
}

// probed does the script of a check once, before the prompt of a state. Item is the mark of an item of a list, with its
// variables.
func (e *Executor) probed(check, prompt *State, fault Fault, scope *expr.Scope, item string, vars []Var) (res Result,
	err error,
) {
	text, call, err := expandAction(check, scope)
	if err != nil {
		return res, err
	}
	run := &CheckRun{Start: check.Check.Files, Begin: e.root().mem.StartTree, Fault: fault}
	if fault != "" {
		run.Spare = slices.Clone(check.Check.Files)
		for _, g := range append(e.guards(prompt), e.guards(check)...) {
			run.Only, run.Spare = append(run.Only, g.Only...), append(run.Spare, g.Protect...)
		}
	}
	a := Action{
		Kind: KindOf(check), Text: text, Call: call, State: check.Name, Step: e.mem.Step, Attempt: 1,
		Item: "/first" + string(fault) + item, Outer: e.outer, Dir: e.dir, Vars: append(e.vars(), vars...),
		Sandbox: e.sandbox(check), Quiet: true, Check: run,
	}
	a.Timeout, a.Idle = timeoutsOf(e.cfg.Loop, check, a.Kind)
	if !e.record(true) { // the route that led to the prompt, before anything is done after it
		return res, errHalted
	}
	if res, err = e.run(a, nil); e.machine.broken != nil || e.ending() {
		return res, errHalted
	}
	return res, err
}

// checkRun returns with which files the action of a state runs; nil = as they are.
func (e *Executor) checkRun(st *State) (*CheckRun, error) {
	if st.Check == nil || st.Check.Files == nil || e.cfg.Trees == nil {
		return nil, nil
	}
	if e.beside {
		return nil, fmt.Errorf("state %s: %w", st.Name, errLaidBeside)
	}
	return &CheckRun{Start: st.Check.Files, Begin: e.root().mem.StartTree}, nil
}

// errLaidBeside is why the files of a check cannot be those with which the run began.
var errLaidBeside = errors.New("the files of its check are also those of what runs beside it; give each a work tree " +
	"(worktree: true), or do the check after them")
