package lint

import (
	"errors"

	"loops/fsm/expr"
	"loops/internal/humanize"
)

// jqProgram checks the program of jq in a reference. It reports true if something is wrong with it.
func (c *checker) jqProgram(t text, r expr.Reference) bool {
	_, err := expr.CompileJq(r.Program)
	wrong, bad := errors.AsType[*expr.JqError](err)
	if bad {
		hint := ""
		if n := len(r.Program); wrong.Offset >= n {
			hint = "; the } that ends the reference is the first one, so no program with braces fits here: use " +
				"evaluate: {type: jq, …} or a script"
		}
		c.errorf("bad-expression", spot{r.Offset + r.At + wrong.Offset, t.path}, "%s is no program of jq: %s%s",
			humanize.Quote(r.Program), wrong.Message, hint)
	}
	return bad
}
