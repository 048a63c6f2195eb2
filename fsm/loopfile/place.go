package loopfile

import (
	"strconv"
	"sync"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// places answers [fsm.Loop.Place] for a merged document. It is safe for concurrent use.
type places struct {
	origins
	root *yaml.Node

	mu    sync.Mutex
	index map[*yaml.Node]map[string]int // of the keys of long mappings; guarded by mu
}

// Other names of keys of the top level and of states: older ones, and those that keys of a fragment's user get.
var alias = map[string]string{
	"on_yes": "on_success", "on_no": "on_failure", "max_steps": "max_iterations", "fragment": "fragment_name",
	"with": "fragment_bindings",
}

func (p *places) place(offset int, path ...string) fsm.Pos {
	n := p.root
	var key, val *yaml.Node // of the last name that was found
	for i, name := range path {
		var k, v *yaml.Node
		switch n.Kind {
		case yaml.MappingNode:
			k, v = p.find(n, name)
			if k == nil && (i == 0 || i == 2) && alias[name] != "" {
				k, v = p.find(n, alias[name])
			}
		case yaml.SequenceNode:
			if j, err := strconv.Atoi(name); err == nil && j >= 0 && j < len(n.Content) {
				k, v = n.Content[j], n.Content[j]
			}
		}
		if k == nil {
			offset = fsm.KeyPlace
			break
		}
		key, val, n = k, v, deref(v)
	}
	switch {
	case key == nil:
		return p.pos(p.root)
	case offset == fsm.KeyPlace:
		return p.pos(key)
	case val.Kind == yaml.ScalarNode && offset <= len(val.Value):
		return p.within(val, offset)
	}
	return p.pos(val)
}

// find is the function of the same name for mappings that are looked into over and over.
func (p *places) find(m *yaml.Node, name string) (key, val *yaml.Node) {
	const many = 64
	if len(m.Content) < many {
		return find(m, name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	keys, ok := p.index[m]
	if !ok {
		keys = make(map[string]int, len(m.Content)/2)
		for i := len(m.Content) - 2; i >= 0; i -= 2 {
			keys[deref(m.Content[i]).Value] = i
		}
		if p.index == nil {
			p.index = map[*yaml.Node]map[string]int{}
		}
		p.index[m] = keys
	}
	if i, ok := keys[name]; ok && name != "<<" {
		return m.Content[i], deref(m.Content[i+1])
	}
	if _, ok := keys["<<"]; ok {
		return find(m, name)
	}
	return nil, nil
}

// find returns the value of a key, aliases followed, as it is in a mapping or is merged into it by <<; nil if
// there is none.
func find(m *yaml.Node, name string) (key, val *yaml.Node) {
	merges := false
	for i := 0; i+1 < len(m.Content); i += 2 {
		k := m.Content[i]
		if k.Kind == yaml.AliasNode {
			k = deref(k)
		}
		if k.Kind == yaml.ScalarNode && k.Value == name && !isMerge(k) {
			return k, deref(m.Content[i+1])
		}
		merges = merges || isMerge(k)
	}
	if !merges {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if !isMerge(deref(m.Content[i])) {
			continue
		}
		for _, s := range merged(deref(m.Content[i+1])) {
			if s.Kind != yaml.MappingNode {
				continue
			}
			if key, val = find(s, name); key != nil {
				return key, val
			}
		}
	}
	return nil, nil
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.ShortTag() == "!!merge"
}

// merged returns what the value of a merge key names: one mapping, or a list of them.
func merged(val *yaml.Node) []*yaml.Node {
	if val.Kind != yaml.SequenceNode {
		return []*yaml.Node{val}
	}
	out := make([]*yaml.Node, len(val.Content))
	for i, c := range val.Content {
		out[i] = deref(c)
	}
	return out
}
