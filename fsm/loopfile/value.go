package loopfile

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm/value"
)

// value turns any node into a value of the language. Dates stay as they are written.
func (d *decoder) value(n *yaml.Node, path string) any {
	switch n = deref(n); n.Kind {
	case yaml.MappingNode:
		return d.valueMap(n, path)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for i, c := range n.Content {
			list = append(list, d.value(c, path+"["+strconv.Itoa(i)+"]"))
		}
		return list
	}
	if isBool(n) {
		return boolOf(n)
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!int":
		if v, ok := integer(n.Value); ok {
			return v
		}
	case "!!float":
		// Whole numbers too large for the parser's integers arrive here.
		if v, ok := integer(n.Value); ok {
			return v
		}
		// 08 is no number of YAML 1.1, and these two digits are meant.
		if n.Style&yaml.TaggedStyle == 0 && strings.Trim(n.Value, "+-_0123456789") == "" {
			return n.Value
		}
		if f, ok := float(n.Value); ok {
			return f
		}
	case "!!str", "!!timestamp", "!!merge": // the last is << where it merges nothing
		return n.Value
	}
	d.errorf(d.pos(n), path, "wrong-type", "%s is not a number", quote(n.Value))
	return nil
}

func (d *decoder) valueMap(n *yaml.Node, path string) *value.Map {
	m := value.NewMap()
	for _, e := range d.entries(n, path) {
		m.Set(e.name, d.value(e.val, join(path, e.name)))
	}
	return m
}

// integer reads a whole number: int64, or *big.Int where that is too small.
func integer(s string) (any, bool) {
	s = strings.ReplaceAll(s, "_", "")
	if v, err := strconv.ParseInt(s, 0, 64); err == nil {
		return v, true
	}
	// Thousands of digits are data, not a number, and reading them is slow.
	if len(s) > 4300 {
		return nil, false
	}
	if b, ok := new(big.Int).SetString(s, 0); ok {
		return b, true
	}
	return nil, false
}

func float(s string) (float64, bool) {
	s = strings.ReplaceAll(s, "_", "")
	switch t := strings.ToLower(strings.TrimLeft(s, "+-")); t {
	case ".inf":
		if strings.HasPrefix(s, "-") {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	case ".nan":
		return math.NaN(), true
	}
	f, err := strconv.ParseFloat(s, 64)
	// A number out of range becomes an infinity, as usual.
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// number reads a finite number.
func number(n *yaml.Node) (float64, bool) {
	if n.Kind != yaml.ScalarNode {
		return 0, false
	}
	if tag := n.ShortTag(); tag != "!!int" && tag != "!!float" {
		return 0, false
	}
	if v, ok := integer(n.Value); ok {
		if i, small := v.(int64); small {
			return float64(i), true
		}
	}
	f, ok := float(n.Value)
	return f, ok && !math.IsInf(f, 0) && !math.IsNaN(f)
}
