package lint

import (
	"strings"

	"loops/fsm"
	"loops/fsm/expr"
)

// shellRules look at what templates turn a bash script into.
func (c *checker) shellRules(p *pastes, s *fsm.State) {
	if !isShell(s) || !strings.Contains(s.Action, "$") {
		return
	}
	var refs []expr.Reference
	if ts := c.texts[c.g.index[s.Name]]; len(ts) > 0 && ts[0].action {
		refs = ts[0].refs
	}
	if len(refs) == 0 && !strings.Contains(s.Action, "$$") {
		return
	}
	hits := 0
	for _, m := range scan(s.Action, refs) {
		if m.ref != nil {
			c.pasted(p, s, m)
		} else if c.isPID(s.Action, m) {
			if hits++; hits <= maxHits {
				c.errorf("shell-pid", spot{m.offset, []string{"states", s.Name, "action"}},
					"bash reads $$ as its process id, so $$%c is not what it looks like; write a single $ (only ${ "+
						"is doubled, as in $${name})", s.Action[m.offset+2])
			}
		}
	}
}

// isPID reports whether bash reads the two dollar signs as its process id, and something follows as if it were a name
// or a command.
func (c *checker) isPID(script string, m mark) bool {
	if m.offset+2 >= len(script) || m.quoting == single || m.quoting == literal || m.quoting == comment {
		return false
	}
	next := script[m.offset+2]
	return next == '(' || next == '_' || 'a' <= next|0x20 && next|0x20 <= 'z'
}
