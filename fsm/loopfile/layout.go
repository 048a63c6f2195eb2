package loopfile

import (
	"gopkg.in/yaml.v3"

	"loops/fsm/pyregexp"
)

// bodies gives states the lines that stand below them without being indented, and reports that once a state. Without
// it each line would be a state, and each of them wrong.
func (d *decoder) bodies(root *yaml.Node) {
	_, states := find(root, "states")
	if states == nil || states.Kind != yaml.MappingNode {
		return
	}
	all := states.Content
	kept := make([]*yaml.Node, 0, len(all))
	for i := 0; i+1 < len(all); i += 2 {
		key, val := all[i], all[i+1]
		kept = append(kept, key, val)
		if !isNull(val) || i+3 >= len(all) || all[i+3].Kind != yaml.ScalarNode || !inBody(all[i+2], all[i+3]) {
			continue
		}
		body := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: all[i+2].Line, Column: all[i+2].Column}
		for i+3 < len(all) && inBody(all[i+2], all[i+3]) {
			body.Content = append(body.Content, all[i+2], all[i+3])
			i += 2
		}
		kept[len(kept)-1] = body
		d.errorf(d.pos(body), join("states", key.Value), "yaml",
			"the lines below %s must be indented deeper than it; here they are states themselves", quote(key.Value+":"))
	}
	states.Content = kept
}

// inBody reports whether an entry among the states is one of the body of a state.
func inBody(key, val *yaml.Node) bool {
	k := byWhere()[InState][key.Value]
	if key.Kind != yaml.ScalarNode || isNull(val) {
		return false
	}
	if k == nil {
		return val.Kind == yaml.ScalarNode && isVerdictKey(key.Value)
	}
	return val.Kind != yaml.MappingNode || k.Type == TypeBlock || k.Type == TypeMap || k.Name == "route"
}

// lostText reports whether an entry of {...} looks like the rest of a text that a comma ended: it has no value and
// not even a colon.
func (d *decoder) lostText(in *yaml.Node, e entry) bool {
	if in.Style&yaml.FlowStyle == 0 || !isNull(e.val) || e.val.Value != "" || e.key.Line != e.val.Line {
		return false
	}
	return bareEntry().Match(after(d.source(e.key).line(e.key.Line), e.key.Column-1+len([]rune(e.key.Value))))
}

var bareEntry = pyregexp.Lazy(`^\s*[,}]`)

// after returns what follows the first n characters of a line.
func after(line []byte, n int) []byte {
	if len(line) > maxLine {
		return nil
	}
	c := cursor{rest: line}
	for c.col < n && len(c.rest) > 0 {
		c.step()
	}
	return c.rest
}

// gluedKey is a key whose colon has no space after it, which makes a text of it.
var gluedKey = pyregexp.Lazy(`^[A-Za-z_][A-Za-z0-9_-]*:[^\s:/]`)
