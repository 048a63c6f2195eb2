package loopfile

import (
	"errors"
	"strings"

	"loops/fsm/expr"
)

// filter reads the program of an evaluator of type jq, nil if there is none.
func (d *decoder) filter(b *block, typ string) *expr.Jq {
	f, ok := b.fields["filter"]
	text, isText := f.val.(string)
	if !ok || !isText || typ != "jq" {
		return nil
	}
	path := join(b.path, "filter")
	if strings.TrimSpace(text) == "" {
		d.errorf(d.pos(f.node), path, "bad-expression",
			"filter is empty; expected a program of jq, such as .items | length > 0")
		return nil
	}
	p, err := expr.CompileJq(text)
	if err == nil {
		return p
	}
	wrong, _ := errors.AsType[*expr.JqError](err)
	hint := ""
	if strings.Contains(text, "${") {
		hint = "; no ${...} is replaced in a filter: compare with source, or in the next state"
	}
	d.errorf(d.within(f.node, wrong.Offset), path, "bad-expression", "filter is no program of jq: %s%s",
		wrong.Message, hint)
	return nil
}
