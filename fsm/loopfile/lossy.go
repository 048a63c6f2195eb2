package loopfile

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm/value"
)

// keysOfTexts are the keys whose values mostly become text: of a template, a variable, an argument or a body.
var keysOfTexts = []string{"for_each", "context", "params", "json"}

// lossy warns of words and numbers that YAML reads as another text than is written: 3.10, NO, 0755.
func (d *decoder) lossy(n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode {
		if read, ok := readOtherwise(n); ok {
			d.warnf(d.pos(n), path, "lossy-scalar", "%s is read as %s; put it in quotes if the text is meant: %q",
				clip(n.Value), clip(read), clip(n.Value))
		}
		return
	}
	for i, child := range n.Content { // that of an alias is looked at where its anchor is
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0:
		case n.Kind == yaml.MappingNode:
			d.lossy(child, join(path, n.Content[i-1].Value))
		default:
			d.lossy(child, path+"["+strconv.Itoa(i)+"]")
		}
	}
}

// readOtherwise returns what YAML makes of a scalar without quotes, where that is another text and the one that
// is written may be meant.
func readOtherwise(n *yaml.Node) (read string, ok bool) {
	if n.Style&^yaml.FlowStyle != 0 { // in quotes, or with a tag
		return "", false
	}
	text := strings.ToLower(strings.TrimLeft(n.Value, "+-"))
	if isBool(n) {
		return value.Text(boolOf(n)), text != "true" && text != "false"
	}
	switch n.ShortTag() {
	case "!!int":
		v, _ := integer(n.Value)
		read, ok = value.Text(v), len(text) > 1 && text[0] == '0'
	case "!!float":
		v, whole := integer(n.Value)
		if !whole && strings.Trim(text, "_0123456789") == "" {
			return "", false // 08 stays as it is
		}
		f, _ := float(n.Value)
		if read, ok = value.Text(f), meansText(text); whole {
			read = value.Text(v)
		}
	}
	return read, ok && read != n.Value
}

// meansText reports whether a number with a point or an exponent may be the name of something: 3.10 of a
// version and 12e5 of a commit. 0.50 and .5 are amounts, and 1.0 is itself.
func meansText(text string) bool {
	before, after, point := strings.Cut(text, ".")
	if !point {
		return !slices.Contains([]string{"inf", "nan"}, text)
	}
	return strings.Trim(before, "0") != "" && strings.Trim(after, "0123456789") == ""
}
