package fsm

import (
	"fmt"
	"slices"
	"strings"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// A Verdict is the answer of an evaluator about a result. Routes choose the next state by its name.
type Verdict struct {
	Name    string
	Details *value.Map // shown in the evaluate event and as ${result.details.*}
}

// Evidence is what an evaluator may look at.
type Evidence struct {
	Output   string // standard output of the action or the expanded source; "" without either
	ExitCode int    // 0 without an action
	Acted    bool   // the state has an action, and it ran
	Cut      bool   // Output is not the full text
	Scope    *expr.Scope
	Files    Files
	At       string // address of the visit, as recorded; for [World.Verdict] only
	Memory   Repeat // what Judge returned for this state last time
	// Diff prints a fingerprint of the scope of a diff_stall; nil where that is not possible.
	Diff func() (Result, error)
}

// exitTimeout is the exit code of an action that timed out.
const exitTimeout = 124

// An evaluator answers for one type. It changes memory only if it has one.
type evaluator struct {
	judge func(cfg *Evaluate, ev Evidence, memory *Repeat) (Verdict, error)
	// anyExit evaluators look at actions that failed; for the others that alone is an error.
	anyExit bool
}

var evaluators = map[string]evaluator{
	"exit_code":           {judge: judgeExitCode, anyExit: true},
	"expression":          {judge: judgeExpression},
	"jq":                  {judge: judgeJQ},
	"output_numeric":      {judge: judgeNumeric},
	"output_json":         {judge: judgeJSON},
	"output_contains":     {judge: judgeContains},
	"convergence":         {judge: judgeConvergence},
	"classify":            {judge: judgeClassify},
	"diff_stall":          {judge: judgeDiffStall, anyExit: true},
	"action_stall":        {judge: judgeActionStall, anyExit: true},
	"score_stall":         {judge: judgeScoreStall, anyExit: true},
	"open_question_stall": {judge: judgeOpenQuestionStall, anyExit: true},
	"mcp_result":          {judge: judgeMCP, anyExit: true},
	"harbor_scorer":       {judge: judgeHarbor, anyExit: true},
	EvaluateLearning:      {judge: judgeLearning},
	"comparator":          {judge: judgeComparator},
	"contract":            {judge: judgeContract, anyExit: true},
	"llm_structured":      {judge: judgeModel, anyExit: true},
}

// Judge answers an evaluate block from the evidence. It also returns what the evaluator remembers until the
// next visit of the state, which is ev.Memory for evaluators that remember nothing.
//
// An error is an exception in the sense of the language: there is no verdict, the state goes to on_error. It is
// a [*Question] where a model has to be asked.
func Judge(cfg *Evaluate, ev Evidence) (v Verdict, memory Repeat, err error) {
	memory = ev.Memory
	e, ok := evaluators[cfg.Type]
	if !ok {
		return Verdict{}, memory, fmt.Errorf("unknown evaluator type %q", cfg.Type)
	}
	if ev.Scope == nil {
		ev.Scope = &expr.Scope{}
	}
	if ev.ExitCode == exitTimeout && cfg.Type != "mcp_result" {
		return errorVerdict("exit_code", int64(ev.ExitCode), "error", "action timed out"), memory, nil
	}
	if ev.ExitCode != 0 && !e.anyExit {
		return exitedBadly(ev.ExitCode), memory, nil
	}
	v, err = e.judge(cfg, ev, &memory)
	if err != nil {
		return Verdict{}, ev.Memory, err
	}
	return v, memory, nil
}

func verdict(name string, details ...any) Verdict { return Verdict{name, value.NewMap(details...)} }

// exitedBadly is the verdict where an action that failed is not looked at.
func exitedBadly(code int) Verdict {
	return errorVerdict("exit_code", int64(code), "error", fmt.Sprintf("action exited with code %d", code))
}

func errorVerdict(details ...any) Verdict { return verdict("error", details...) }

// yesNo is the verdict of a plain question.
func yesNo(yes bool, details ...any) Verdict {
	if yes {
		return verdict("yes", details...)
	}
	return verdict("no", details...)
}

func judgeExitCode(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	name := "error"
	switch yes, no := cfg.ExitCodes(); {
	case slices.Contains(yes, ev.ExitCode):
		name = "yes"
	case slices.Contains(no, ev.ExitCode):
		name = "no"
	}
	return verdict(name, "exit_code", int64(ev.ExitCode)), nil
}

// ExitCodes returns the exit codes that an exit_code evaluator takes for yes and for no; every other is an
// error. What is set for one wins over what the other is when nothing is set.
func (c *Evaluate) ExitCodes() (yes, no []int) {
	if c.Yes == nil && c.No == nil {
		return plainYes, plainNo
	}
	yes, no = c.Yes, c.No
	without := func(code int, taken []int) []int {
		if slices.Contains(taken, code) {
			return nil
		}
		return []int{code}
	}
	if yes == nil {
		yes = without(0, no)
	}
	if no == nil {
		no = without(1, yes)
	}
	return yes, no
}

// What exit codes mean where nothing is set.
var plainYes, plainNo = []int{0}, []int{1}

// EvaluateLearning is the type of a learning state whose targets are known only when it is entered. No file can
// name it.
const EvaluateLearning = "learning"

// judgeLearning has nothing to object where a list with commas has no items. Of what is on it nothing is proven here.
func judgeLearning(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	targets := int64(0)
	for item := range strings.SplitSeq(ev.Output, ",") {
		if strings.TrimSpace(item) != "" {
			targets++
		}
	}
	if targets == 0 {
		return verdict("yes", "targets", targets), nil
	}
	return verdict(cfg.Unproven, "targets", targets), nil
}

// judgeMCP reads the envelope that a tool call prints.
func judgeMCP(_ *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	code := int64(ev.ExitCode)
	switch code {
	case 127:
		return verdict("not_found", "exit_code", code, "error", "mcp server or tool not found"), nil
	case exitTimeout:
		return verdict("timeout", "exit_code", code, "error", "mcp tool timed out"), nil
	}
	envelope := &value.Map{}
	// Of an envelope that was cut, only the exit code is used.
	if text := value.TrimSpace(ev.Output); text != "" && !ev.Cut {
		v, err := value.ParseJSON([]byte(text))
		if err != nil {
			return verdict("tool_error", "exit_code", code, "error", "Invalid JSON from mcp-call: "+
				value.Truncate(text, 200)), nil
		}
		m, ok := v.(*value.Map)
		if !ok {
			return Verdict{}, fmt.Errorf("mcp_result expects a JSON object from the tool, got: %s",
				value.Truncate(text, 200))
		}
		envelope = m
	}
	failed := code != 0
	if v, ok := envelope.Get("isError"); ok {
		failed = value.Truthy(v)
	}
	name := "success"
	if failed {
		name = "tool_error"
	}
	return verdict(name, "exit_code", code, "envelope", envelope), nil
}

func judgeHarbor(_ *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	code := int64(ev.ExitCode)
	if code != 0 {
		return verdict("no", "exit_code", code), nil
	}
	score, ok := value.ParseFloat(value.TrimSpace(ev.Output))
	if !ok {
		return errorVerdict("exit_code", code, "error", "Cannot parse score: "+value.Truncate(ev.Output, 100)), nil
	}
	return verdict("yes", "score", score, "exit_code", code), nil
}
