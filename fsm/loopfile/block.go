package loopfile

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/value"
)

// A block is one mapping read by the key table. Reading a key that is absent, null or of the wrong type gives
// its default; the wrong type has been reported by then.
type block struct {
	d      *decoder
	in     Where
	at     *yaml.Node
	path   string
	fields map[string]field
	order  []entry // of the keys, as they stand in the file
	other  []entry // keys the table does not have
}

type field struct {
	key  *yaml.Node
	node *yaml.Node
	val  any // decoded; nil if its type was wrong
}

// block reads a mapping. Keys that are not in the table are left in other.
func (d *decoder) block(n *yaml.Node, in Where, path string) *block {
	b := &block{d: d, in: in, at: n, path: path, fields: map[string]field{}}
	if n.Kind != yaml.MappingNode {
		d.errorf(d.pos(n), path, "wrong-type", "%s must be a mapping, found %s%s", in.phrase(), describe(n),
			notMapping(n, in))
		return b
	}
	b.order = d.entries(n, path)
	for _, e := range b.order {
		key := byWhere()[in][e.name]
		if key == nil {
			b.other = append(b.other, e)
			continue
		}
		b.read(key, e)
	}
	return b
}

func (b *block) read(key *Key, e entry) {
	d, path := b.d, join(b.path, key.Name)
	if isNull(e.val) {
		if key.NotNull {
			hint := ", or leave the key out"
			if key.Required {
				hint = ""
			}
			what := "a mapping"
			if key.Name == "for_each" {
				what = "a list"
			}
			d.errorf(d.pos(e.key), path, "null", "%s has no value; expected %s%s", key.Name, what, hint)
			b.fields[key.Name] = field{key: e.key, node: e.val}
		}
		return
	}
	// What these say is not looked at, except for their ranges, which cost nothing to check.
	if key.Status == StatusUnsupported {
		d.notSupported(key, e.key)
	}
	b.fields[key.Name] = field{e.key, e.val, d.typed(key, e.val, path)}
}

// typed decodes a value that is not null by its entry in the table, or reports why not and returns nil.
func (d *decoder) typed(key *Key, n *yaml.Node, path string) any {
	switch key.Type {
	case TypeText, TypeTarget:
		s, ok := d.text(n, path, key.Name)
		if !ok {
			return nil
		}
		if key.Values != nil {
			d.allowed(key, n, s, path)
		}
		return s
	case TypeExpression:
		if p := d.expression(n, path, key.Name); p != nil {
			return p
		}
		return nil
	case TypeBool:
		if !isBool(n) {
			d.errorf(d.pos(n), path, "wrong-type", "%s must be true or false, found %s", key.Name, describe(n))
			return nil
		}
		return boolOf(n)
	case TypeInt:
		if v, ok := d.int(n, path, key.Name); ok && d.inRange(key, n, float64(v), path) {
			return v
		}
		return nil
	case TypeNumber, TypeSeconds:
		v, ok := number(n)
		if !ok && key.Type == TypeSeconds {
			v, ok = inUnits(n)
		}
		if !ok {
			hint := ""
			if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && n.Style != 0 {
				hint = "; a number has no quotation marks"
			}
			what := "a number"
			if key.Type == TypeSeconds {
				what = "a number of seconds, or a time such as 90s, 5m, 2h or 1d"
			}
			if key.Type == TypeSeconds && n.Kind == yaml.ScalarNode {
				hint += inSeconds(n.Value)
			}
			d.errorf(d.pos(n), path, "wrong-type", "%s must be %s, found %s%s", key.Name, what, describe(n), hint)
			return nil
		}
		if !d.inRange(key, n, v, path) {
			return nil
		}
		if key.Type == TypeNumber {
			return v
		}
		if v > maxSeconds {
			d.errorf(d.pos(n), path, "range", "%s is %s seconds, which is more than 285 years", key.Name, clip(n.Value))
			return nil
		}
		return seconds(v)
	case TypeMap, TypeList, TypeValue:
		if slices.Contains(keysOfTexts, key.Name) {
			d.lossy(n, path)
		}
	}
	switch key.Type {
	case TypeTexts:
		return d.texts(n, path, key)
	case TypeInts:
		return d.ints(n, path, key)
	case TypeMap:
		if n.Kind != yaml.MappingNode {
			d.errorf(d.pos(n), path, "wrong-type", "%s must be a mapping, found %s", key.Name, describe(n))
			return nil
		}
		return d.valueMap(n, path)
	case TypeList:
		if n.Kind != yaml.SequenceNode {
			d.errorf(d.pos(n), path, "wrong-type", "%s must be a list, found %s", key.Name, describe(n))
			return nil
		}
		return d.value(n, path)
	case TypeValue:
		return d.value(n, path)
	}
	return nil
}

func (d *decoder) text(n *yaml.Node, path, name string) (string, bool) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		hint := ""
		if name == "action" && n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle != 0 {
			hint = "; put a text that begins with a bracket in quotes"
		}
		d.errorf(d.pos(n), path, "wrong-type", "%s must be a text, found %s%s", name, describe(n), hint)
		return "", false
	}
	return n.Value, true
}

func (d *decoder) int(n *yaml.Node, path, name string) (int, bool) {
	v, ok := number(n)
	if !ok || v != float64(int64(v)) || v > 1<<53 || v < -1<<53 {
		hint := ""
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && n.Style != 0 {
			hint = "; a number has no quotation marks"
		}
		d.errorf(d.pos(n), path, "wrong-type", "%s must be a whole number, found %s%s", name, describe(n), hint)
		return 0, false
	}
	return int(v), true
}

func (d *decoder) texts(n *yaml.Node, path string, key *Key) any {
	if n.Kind != yaml.SequenceNode {
		hint := ""
		if n.Kind == yaml.ScalarNode {
			hint = "; write [" + clip(n.Value) + "]"
		}
		d.errorf(d.pos(n), path, "wrong-type", "%s must be a list of texts, found %s%s", key.Name, describe(n), hint)
		return nil
	}
	out := make([]string, 0, len(n.Content))
	for i, c := range n.Content {
		if s, ok := d.text(deref(c), path+"["+strconv.Itoa(i)+"]", "an entry of "+key.Name); ok {
			out = append(out, s)
		}
	}
	return out
}

func (d *decoder) ints(n *yaml.Node, path string, key *Key) any {
	if n.Kind != yaml.SequenceNode {
		d.errorf(d.pos(n), path, "wrong-type", "%s must be a list of whole numbers, found %s", key.Name, describe(n))
		return nil
	}
	out := make([]int, 0, len(n.Content))
	for i, c := range n.Content {
		c, at := deref(c), path+"["+strconv.Itoa(i)+"]"
		if v, ok := d.int(c, at, "an entry of "+key.Name); ok &&
			d.limits(key, "an entry of "+key.Name, c, float64(v), at) {
			out = append(out, v)
		}
	}
	return out
}

// inRange checks the limits of a key, unless it belongs to evaluators of other types; those are checked later.
func (d *decoder) inRange(key *Key, n *yaml.Node, v float64, path string) bool {
	return key.For != nil || d.limits(key, key.Name, n, v, path)
}

func (d *decoder) limits(key *Key, name string, n *yaml.Node, v float64, path string) bool {
	want := ""
	switch {
	case key.Min != nil && v < *key.Min && key.Max == nil:
		want = fmt.Sprintf("at least %v", *key.Min)
	case key.Min != nil && v < *key.Min, key.Max != nil && v > *key.Max:
		want = fmt.Sprintf("between %v and %v", *key.Min, *key.Max)
	case key.Above != nil && v <= *key.Above:
		want = fmt.Sprintf("greater than %v", *key.Above)
	default:
		return true
	}
	d.errorf(d.pos(n), path, "range", "%s must be %s, found %s", name, want, clip(n.Value))
	return false
}

func (d *decoder) allowed(key *Key, n *yaml.Node, s, path string) {
	for _, v := range key.Values {
		if s == v {
			return
		}
	}
	if key.In == InState && key.Name == "action_type" {
		if _, ok := d.types[s]; !ok {
			d.unknownType(key, n, s, path)
		}
		return
	}
	meant := meantValue(s, key)
	report := d.errorf
	if key.Advisory {
		report = d.warnf
	}
	report(d.pos(n), path, "bad-value", "%s is not a value of %s%s (values: %s)", quote(s), key.full(), meant,
		enumerate(key.Values))
}

// maxSeconds is what a time.Duration holds, rounded down.
const maxSeconds = 9e9

func seconds(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }

// has reports whether a key is there and not null, even with a wrong type.
func (b *block) has(name string) bool {
	_, ok := b.fields[name]
	return ok
}

// given reports whether a key is there and not the empty text.
func (b *block) given(name string) bool {
	f, ok := b.fields[name]
	return ok && f.val != ""
}

// pos is the position of the value of a key, or of the block if there is none.
func (b *block) pos(name string) fsm.Pos {
	if f, ok := b.fields[name]; ok {
		return b.d.pos(f.node)
	}
	return b.d.pos(b.at)
}

// keyPos is where a key is, or the block if it is not there.
func (b *block) keyPos(name string) fsm.Pos {
	if f, ok := b.fields[name]; ok {
		return b.d.pos(f.key)
	}
	return b.d.pos(b.at)
}

// get returns the value of a key, or its default.
func (b *block) get(name string) any {
	if f, ok := b.fields[name]; ok && f.val != nil {
		return f.val
	}
	key := byWhere()[b.in][name]
	if n, ok := key.Default.(int); ok {
		switch key.Type {
		case TypeSeconds:
			return seconds(float64(n))
		case TypeNumber:
			return float64(n)
		}
	}
	return key.Default
}

func (b *block) text(name string) string            { v, _ := b.get(name).(string); return v }
func (b *block) bool(name string) bool              { v, _ := b.get(name).(bool); return v }
func (b *block) int(name string) int                { v, _ := b.get(name).(int); return v }
func (b *block) number(name string) float64         { v, _ := b.get(name).(float64); return v }
func (b *block) duration(name string) time.Duration { v, _ := b.get(name).(time.Duration); return v }
func (b *block) texts(name string) []string         { v, _ := b.get(name).([]string); return v }
func (b *block) ints(name string) []int             { v, _ := b.get(name).([]int); return v }
func (b *block) mapping(name string) *value.Map     { v, _ := b.get(name).(*value.Map); return v }

// sub reads a mapping inside this one, which is empty if the key is not there.
func (b *block) sub(name string) *block {
	key := byWhere()[b.in][name]
	f, ok := b.fields[name]
	if !ok || isNull(f.node) {
		return &block{d: b.d, in: key.Block, at: b.at, path: join(b.path, name)}
	}
	n := f.node
	if key.Short != "" && n.Kind == yaml.ScalarNode {
		at := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key.Short, Line: n.Line, Column: n.Column}
		n = &yaml.Node{
			Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{&at, n}, Line: n.Line,
			Column: n.Column,
		}
	}
	s := b.d.block(n, key.Block, join(b.path, name))
	s.unknown()
	return s
}

// unknown warns about the keys that the table does not have. In a sandbox and in a guard they are errors.
func (b *block) unknown() {
	for _, e := range b.other {
		if b.d.lostText(b.at, e) {
			b.d.errorf(b.d.pos(e.key), join(b.path, e.name), "unknown-key",
				"%s has no value and is not a key of %s; the comma before it ended a text: put that text in quotes",
				quote(e.name), b.in.phrase())
			continue
		}
		// it would limit or keep nothing
		if slices.Contains([]Where{InSandbox, InGuard, InCheck, InVelocity, InQuota, InMemory, InRemember}, b.in) ||
			slices.Contains(inSuite, b.in) {
			b.d.errorf(b.d.pos(e.key), join(b.path, e.name), "unknown-key", "%s is not a key of %s%s", quote(e.name),
				b.in.phrase(), elsewhere(e.name, b.in))
			continue
		}
		b.d.warnf(b.d.pos(e.key), join(b.path, e.name), "unknown-key", "%s is not a key of %s and has no effect%s",
			quote(e.name), b.in.phrase(), elsewhere(e.name, b.in))
	}
}

// elsewhere says where an unknown key belongs, or what may have been meant.
func elsewhere(name string, in Where) string {
	places := []Where{InLoop, InState, InEvaluate}
	if slices.Contains(inSuite, in) {
		places = inSuite
	} else if slices.Contains([]Where{InWait, InAsk, InCall, InRetry, InEvaluate}, in) {
		places[0], places[1] = InState, InLoop
	}
	for _, other := range places {
		if k := byWhere()[other][name]; other != in && k != nil && k.Type != TypeSpecial {
			return "; it is a key of " + other.phrase()
		}
	}
	if in == InState && meant[name] != "" {
		return "; " + meant[name]
	}
	return didYouMean(name, names(in))
}

// target notes that the value of a key names a state, and returns it. An empty text counts as absent.
func (b *block) target(name string) string {
	s := b.text(name)
	if f, ok := b.fields[name]; ok && s != "" {
		b.d.targets = append(b.d.targets, target{b.in != InState, s, b.d.pos(f.node), join(b.path, name)})
	}
	return s
}

// need reports a required key that is missing.
func (b *block) need(pos fsm.Pos, name, what string) {
	if !b.has(name) {
		b.d.errorf(pos, join(b.path, name), "missing-key", "%s lacks %s", what, name)
	}
}
