package loopfile

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// checkBashDefaults reports ${x:-y}: here ${...} is a template, and it has no :- form. It warns of ${NAME}, which no
// template can be: such a reference has a namespace.
func (d *decoder) checkBashDefaults(s *stateDecl) {
	f, ok := s.b.fields["action"]
	if !ok {
		return
	}
	hits := 0
	for _, r := range references(f.node.Value) {
		inner := r.Text[2 : len(r.Text)-1]
		bash := strings.Index(inner, ":-")
		if name, _, _ := strings.Cut(strings.TrimSuffix(inner, "?"), ":"); bash < 0 && !strings.Contains(inner, ".") && name != "messages" {
			if hits++; hits > maxHits {
				return
			}
			d.warnf(d.within(f.node, r.Offset), join(s.path, "action"), "no-namespace",
				"${%s} is taken for a template, and none is called so, which the run will fail on; write $${%s} for bash, or ${env.%s}, ${context.%s}", clip(inner), clip(inner), clip(name), clip(name))
			continue
		}
		if def := strings.Index(inner, ":default="); bash < 0 || def >= 0 && def < bash {
			continue
		}
		if hits++; hits > maxHits {
			return
		}
		d.errorf(d.within(f.node, r.Offset), join(s.path, "action"), "bash-default",
			"${%s} is taken for a template, which has no :- form; write $${%s} for bash, or ${%s:default=%s} for a template", clip(inner), clip(inner), clip(inner[:bash]), clip(inner[bash+2:]))
	}
}

// checkShellPID reports $$( and $$name in shell actions: bash reads $$ as its process id.
func (d *decoder) checkShellPID(s *stateDecl) {
	f, ok := s.b.fields["action"]
	if !ok || s.ActionType != "shell" && s.ActionType != "" || strings.HasPrefix(strings.TrimSpace(s.Action), "/") {
		return
	}
	text, hits := f.node.Value, 0
	for i := 0; i+2 < len(text) && hits < maxHits; i++ {
		if text[i] != '$' || text[i+1] != '$' {
			continue
		}
		if c := text[i+2]; c == '(' || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			d.errorf(d.within(f.node, i), join(s.path, "action"), "shell-pid",
				"bash reads $$ as its process id, so $$%c is not what it looks like; write a single $ (only ${ is doubled, as in $${name})", c)
			i += 2
			hits++
		} else if c == '{' {
			i += 2
		}
	}
}

// within returns the place of a byte of a scalar's value in the file; where that cannot be told, the place of
// the scalar.
func (d *decoder) within(n *yaml.Node, offset int) fsm.Pos {
	pos := d.pos(n)
	before := n.Value[:offset]
	row := strings.Count(before, "\n")
	start := strings.LastIndexByte(before, '\n') + 1
	lineEnd := len(n.Value)
	if i := strings.IndexByte(n.Value[offset:], '\n'); i >= 0 {
		lineEnd = offset + i
	}
	content := n.Value[start:lineEnd]
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		raw := d.line(n.Line + 1 + row)
		if len(raw) > maxLine || !bytes.HasSuffix(raw, []byte(content)) {
			return pos
		}
		pos.Line = n.Line + 1 + row
		pos.Col = utf8.RuneCount(raw) - utf8.RuneCountInString(content) + utf8.RuneCountInString(n.Value[start:offset]) + 1
	case row == 0 && lineEnd == len(n.Value) && len(d.line(n.Line)) <= maxLine:
		// One line: it stands there as it is unless it was quoted with escapes.
		raw := d.line(n.Line)
		for i := 1; i < n.Column && len(raw) > 0; i++ {
			_, size := utf8.DecodeRune(raw)
			raw = raw[size:]
		}
		if i := bytes.Index(raw, []byte(n.Value)); i >= 0 && i <= 1 {
			pos.Col += utf8.RuneCount(raw[:i]) + utf8.RuneCountInString(n.Value[:offset])
		}
	}
	return pos
}
