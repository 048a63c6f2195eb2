package fsm

import (
	"fmt"
	"slices"

	"loops/fsm/expr"
)

// whole returns the evidence with all of an output that is cut, where the evaluator looks at more than its end.
func (e *Executor) whole(st *State, cfg *Evaluate, ev Evidence, res *Result) (Evidence, error) {
	switch {
	case !ev.Cut, ev.ExitCode != 0 && !evaluators[cfg.Type].anyExit, !slices.Contains(readers, cfg.Type):
	case res.File == "" && cfg.Type == "mcp_result": // its exit code says enough
	case res.File == "":
		return ev, fmt.Errorf("the output of state %s is cut, and %s needs all of it: there is no folder "+
			"to keep it in", st.Name, cfg.Type)
	default:
		text, err := e.readText(res.File)
		if err != nil {
			return ev, fmt.Errorf("the output of state %s is cut, and %s needs all of it: %w", st.Name, cfg.Type, err)
		}
		ev.Output, ev.Cut = text, false
	}
	return ev, nil
}

// readers are the evaluators that read an output as data. A model is told that it sees a part.
var readers = []string{
	"output_numeric", "output_json", "output_contains", "convergence", "classify", "jq",
	"harbor_scorer", "mcp_result", "comparator", EvaluateLearning,
}

// readText reads the file of an output as text.
func (e *Executor) readText(file string) (string, error) {
	text, err := readText(e.cfg.Files, file)
	e.breaks(err)
	return text, err
}

// asData returns a scope whose references stand for data: all of an output, or an error.
func asData(s *expr.Scope) *expr.Scope {
	data := *s
	data.AsData = true
	return &data
}
