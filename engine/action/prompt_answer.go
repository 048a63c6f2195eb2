package action

import (
	"cmp"
	"encoding/json"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/agent"
)

// answer completes the reply of a judge with what it answered.
func (t *talk) answer(a *fsm.Action, o agent.Outcome, res *fsm.Result) {
	found := o.Answer
	if len(found) == 0 {
		var fits func(json.RawMessage) bool
		if t.schema != nil {
			fits = func(c json.RawMessage) bool { return t.schema.Check(c) == nil }
		}
		var err error
		if found, err = agent.FindJSON(o.Text, fits); err != nil {
			refuse(res, err.Error()+": "+preview(o.Text))
			return
		}
	}
	v, err := value.ParseJSON(found)
	if err != nil {
		refuse(res, "the answer is no JSON ("+err.Error()+"): "+preview(string(found)))
		return
	}
	res.Reply.Answer = v
	if a.Strict && t.schema != nil {
		if err := t.schema.Check(found); err != nil {
			refuse(res, "the answer does not match the schema: "+err.Error())
		}
	}
}

// refuse makes a Result one without a usable answer.
func refuse(res *fsm.Result, reason string) {
	res.Reply.Failure, res.Reply.Reason = fsm.FailSchema, reason
	res.ExitCode = cmp.Or(res.ExitCode, 1)
}

// preview is the beginning of a text, in one line.
func preview(text string) string {
	words := strings.Join(strings.Fields(text[:min(len(text), 4096)]), " ")
	runes := []rune(strings.ToValidUTF8(words, value.Replacement))
	if len(runes) == 0 {
		return "it was empty"
	}
	if len(runes) > 300 {
		return string(runes[:300]) + "…"
	}
	return string(runes)
}
