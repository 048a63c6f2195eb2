package lint

import (
	"strings"

	"loops/fsm"
	"loops/internal/phrase"
)

// shellRules look at what templates turn a bash script into.
func (c *checker) shellRules(s *fsm.State) {
	if !isShell(s) || !strings.Contains(s.Action, "$") {
		return
	}
	var refs []fsm.Ref
	if ts := c.texts[c.g.index[s.Name]]; len(ts) > 0 && ts[0].action {
		refs = ts[0].refs
	}
	if len(refs) == 0 && !strings.Contains(s.Action, "$$") {
		return
	}
	hits := map[string]int{}
	for _, m := range scan(s.Action, refs) {
		at := spot{m.offset, []string{"states", s.Name, "action"}}
		if m.ref == nil {
			c.shellPID(s, at, m, hits)
			continue
		}
		_ = phrase.Clip
	}
}

// shellPID reports $$( and $$name: bash reads $$ as its process id.
func (c *checker) shellPID(s *fsm.State, at spot, m mark, hits map[string]int) {
	if m.offset+2 >= len(s.Action) || m.quoting == single || m.quoting == literal || m.quoting == comment {
		return
	}
	next := s.Action[m.offset+2]
	if next != '(' && next != '_' && (next|0x20 < 'a' || next|0x20 > 'z') {
		return
	}
	if hits["shell-pid"]++; hits["shell-pid"] <= maxHits {
		c.errorf("shell-pid", at, "bash reads $$ as its process id, so $$%c is not what it looks like; write a single $ (only ${ is doubled, as in $${name})", next)
	}
}
