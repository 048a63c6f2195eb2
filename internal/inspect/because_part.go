package inspect

import (
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
)

// failedPart says how a branch or an item failed: its name, its exit code and what its action printed last, or
// the error that kept it from acting; "" = by neither.
func (t *turn) failedPart(e fsm.Event) string {
	name, p := "item "+str(e, "key"),
		turn{acted: e, printed: fsm.Event{Fields: []fsm.Field{{Key: "line", Value: str(e, "output")}}}}
	if e.Kind == fsm.EventBranchEnd {
		name, p = "branch "+str(e, "branch"), turn{}
		if at := str(t.broken, "branch"); at == str(e, "branch") || strings.HasPrefix(at, str(e, "branch")+"/") {
			p.acted = t.broken
		}
	}
	if exit := p.exit(); exit != "" {
		return humanize.PlainLine(name) + ": " + exit
	}
	if problem := str(e, "error"); problem != "" {
		return humanize.PlainLine(name) + ": " +
			humanize.Cut(humanize.PlainLine(humanize.FirstLine(strings.TrimSuffix(problem, "."))), quoteLength)
	}
	return ""
}
