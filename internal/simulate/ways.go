package simulate

import (
	"slices"
	"strings"

	"loops/fsm"
)

// EvaluatorOf returns the type of what gives the verdict of a state; "" = nothing does.
func EvaluatorOf(st *fsm.State) string {
	switch {
	case st.Loop != "" || st.Terminal || st.Next != "":
		return ""
	case st.Await != nil:
		return "wait"
	case st.Branches != nil:
		return "parallel"
	case st.Each != nil:
		return "for_each"
	case st.Evaluate != nil:
		return st.Evaluate.Type
	case st.Action == "":
		return ""
	case fsm.Prompts(st):
		return "llm_structured"
	case st.ActionType == "mcp_tool":
		return "mcp_result"
	case st.ActionType == "contract":
		return ""
	}
	return "exit_code"
}

// AsksJudge reports whether a visit to the state can ask a model for its verdict.
func AsksJudge(st *fsm.State) bool {
	switch EvaluatorOf(st) {
	case "llm_structured", "comparator", "contract":
		return true
	}
	return false
}

// open reports whether the verdicts of a state are not known before.
func open(st *fsm.State) bool {
	return EvaluatorOf(st) == "classify" || st.Evaluate != nil && st.Evaluate.Schema != nil
}

// declared returns the verdicts that a state has transitions for, the usual ones first, then in the order of the file
// where it has one.
func declared(st *fsm.State) []string {
	if st.Next != "" {
		if st.On["error"] != "" {
			return []string{"yes", "error"}
		}
		return []string{"yes"}
	}
	var names []string
	if st.Route != nil {
		names = slices.Clone(st.Route.Table.Keys())
		if st.Route.Error != "" && !slices.Contains(names, "error") {
			names = append(names, "error")
		}
		return names
	}
	for name, to := range st.On {
		if to != "" {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if x, y := rank(a), rank(b); x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
	return names
}

func rank(verdict string) int {
	usual := []string{"yes", "no", "error"}
	if i := slices.Index(usual, verdict); i >= 0 {
		return i
	}
	return len(usual)
}

// takes reports whether a state has a way for a verdict.
func takes(st *fsm.State, verdict string) bool {
	return slices.Contains(declared(st), verdict) || st.Route != nil && st.Route.Default != ""
}

// words are what the evaluators call a result that is good and one that is not, where that is not yes and no.
var words = map[string][2]string{
	"mcp_result":  {"success", "tool_error"},
	"convergence": {"target", "stall"},
}

// verdictFor makes up the verdict of a state whose result is good (0), not good (1) or an error.
func verdictFor(st *fsm.State, code int) string {
	good, bad := "yes", "no"
	if w, ok := words[EvaluatorOf(st)]; ok {
		good, bad = w[0], w[1]
	}
	if st.Await != nil && st.Await.Ask != nil {
		choices := st.Await.Ask.Choices
		return choices[min(code, len(choices)-1)]
	}
	switch code {
	case 0:
	case 1:
		if st.Await != nil {
			return awaitedInVain(st)
		}
		return bad
	default:
		if EvaluatorOf(st) == "mcp_result" {
			return bad
		}
		return "error"
	}
	if ways := declared(st); open(st) && !slices.Contains(ways, good) {
		for _, name := range ways { // the first word a classifier knows
			if name != "error" && name != bad {
				return name
			}
		}
	}
	return good
}

// awaitedInVain is what a wait comes to where it can come to anything but yes.
func awaitedInVain(st *fsm.State) string {
	switch {
	case st.Timeout > 0:
		return fsm.AwaitTimeout
	case st.Await.Run != "" && st.Await.Status != fsm.RunEnded:
		return fsm.AwaitOtherwise
	}
	return fsm.AwaitCame
}

// codeFor is the exit code of an action whose state comes to a verdict.
func codeFor(st *fsm.State, verdict string) int {
	typ := EvaluatorOf(st)
	switch verdict {
	case "error":
		return 2
	case "no":
		if typ == "exit_code" || typ == "harbor_scorer" || typ == "" {
			return 1
		}
	case "tool_error":
		return 1
	case "not_found":
		if typ == "mcp_result" {
			return 127
		}
	}
	return 0
}

// choices are the verdicts that a random walk chooses from: one for each way out of the state.
func choices(st *fsm.State) []string {
	names := declared(st)
	if st.Next == "" && st.Route != nil && st.Route.Default != "" {
		usual := []string{"yes", "no", "error", "other"}
		if open(st) {
			usual = []string{"other"}
		}
		for _, name := range usual {
			if !slices.Contains(names, name) {
				names = append(names, name)
				break
			}
		}
	}
	if len(names) == 0 {
		return []string{"yes"}
	}
	return names
}
