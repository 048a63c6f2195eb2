package fsm

import (
	"loops/fsm/expr"
	"loops/fsm/value"
)

// judgeJQ says yes where the last value that the program yields for the JSON output is neither false nor null,
// as jq -e does.
func judgeJQ(cfg *Evaluate, ev Evidence, _ *Repeat) (Verdict, error) {
	doc, err := expr.ReadJSON(ev.Output)
	if err != nil {
		return errorVerdict("error", "Invalid JSON: "+err.Error()), nil
	}
	all, err := cfg.Filter.Eval(doc)
	if err != nil {
		return errorVerdict("filter", cfg.Filter.String(), "error", err.Error()), nil
	}
	var last any
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	return yesNo(last != nil && last != false, "filter", cfg.Filter.String(), "value",
		value.Truncate(expr.JqText(last), 200)), nil
}
