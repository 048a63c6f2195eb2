package loopfile

import (
	"bytes"
	"slices"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// plainTags are the tags that a value may have; any other would need a program that knows it.
var plainTags = map[yaml.Kind][]string{
	yaml.ScalarNode:   {"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge"},
	yaml.MappingNode:  {"!!map"},
	yaml.SequenceNode: {"!!seq"},
}

// tags reports what the parser takes for a tag and an author meant as text, such as the ! of a shell test, which
// would be dropped without a warning. The values are kept without their tags.
func (d *decoder) tags(root *yaml.Node) {
	if !bytes.ContainsRune(d.main.data, '!') {
		return
	}
	c := &cursor{src: d.main}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.AliasNode {
			return
		}
		if tag, col := c.tag(n); tag != "" {
			if tag == "!" || !slices.Contains(plainTags[n.Kind], n.ShortTag()) {
				d.errorf(fsm.Pos{File: d.main.name, Line: n.Line, Col: col}, "", "yaml-tag",
					"YAML takes the ! at the beginning of a value for a tag (%s), and no such tag is known; put a "+
						"text in quotes or use |", clip(tag))
				n.Tag, n.Style = "", n.Style&^yaml.TaggedStyle
			}
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	walk(root)
}

// tag returns the tag that a node is written with and its column, or "". The nodes must come in the order in which
// they stand in the file.
func (c *cursor) tag(n *yaml.Node) (string, int) {
	if n.Line != c.line || n.Column-1 < c.col {
		c.line, c.col, c.rest = n.Line, 0, c.src.line(n.Line)
	}
	for c.col < n.Column-1 && len(c.rest) > 0 {
		c.step()
	}
	at := *c
	if len(at.rest) > 0 && at.rest[0] == '&' {
		for len(at.rest) > 0 && at.rest[0] != ' ' && at.rest[0] != '\t' {
			at.step()
		}
		for len(at.rest) > 0 && (at.rest[0] == ' ' || at.rest[0] == '\t') {
			at.step()
		}
	}
	if len(at.rest) == 0 || at.rest[0] != '!' {
		return "", 0
	}
	tag := at.rest
	if i := bytes.IndexAny(tag, " \t"); i >= 0 {
		tag = tag[:i]
	}
	return string(tag), at.col + 1
}
