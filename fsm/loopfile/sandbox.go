package loopfile

import (
	"gopkg.in/yaml.v3"

	"loops/fsm/confine"
	"loops/fsm/value"
)

// sandbox reads the sandbox of the top level or of a state; nil means that it is not there.
func (d *decoder) sandbox(of *block) *confine.Policy {
	if !of.has("sandbox") {
		return nil
	}
	b := of.sub("sandbox")
	p := &confine.Policy{
		Preset: b.text("preset"), Write: b.texts("write"), Read: b.texts("read"), Deny: b.texts("deny"),
		Env:  b.texts("env"),
		CPUs: b.number("cpus"), PIDs: b.int("pids"), Tmp: b.text("tmp"),
	}
	if f, ok := b.fields["network"]; ok {
		p.Network = d.network(f.node, join(b.path, "network"))
	}
	if text := b.text("memory"); text != "" {
		size, err := confine.ParseSize(text)
		if err != nil {
			d.errorf(b.pos("memory"), join(b.path, "memory"), "bad-value", "memory: %v", err)
		}
		p.Memory = size
	}
	for _, key := range []string{"write", "read", "deny", "env"} {
		for i, text := range b.texts(key) {
			if text == "" {
				d.errorf(d.pos(deref(b.fields[key].node.Content[i])), join(b.path, key), "bad-value",
					"an entry of %s is empty", key)
			}
		}
	}
	return p
}

// network reads a word or a list of HOST:PORT.
func (d *decoder) network(n *yaml.Node, path string) []string {
	list, ok := []string{n.Value}, true
	if n.Kind != yaml.ScalarNode {
		list, ok = d.texts(n, path, byWhere()[InSandbox]["network"]).([]string)
	}
	if !ok {
		return nil
	}
	if err := confine.CheckNetwork(list); err != nil {
		d.errorf(d.pos(n), path, "bad-value", "network: %v", err)
		return nil
	}
	return list
}

func sandboxModel(p *confine.Policy) *value.Map {
	if p == nil {
		return nil
	}
	w := objectOf{value.NewMap()}
	w.text("preset", p.Preset, "")
	for _, l := range []struct {
		key  string
		list []string
	}{{"write", p.Write}, {"read", p.Read}, {"deny", p.Deny}, {"network", p.Network}, {"env", p.Env}} {
		w.value(l.key, valueList(l.list), l.list != nil)
	}
	w.value("memory", p.Memory, p.Memory > 0)
	w.value("cpus", p.CPUs, p.CPUs > 0)
	w.count("pids", p.PIDs, 0)
	w.text("tmp", p.Tmp, "")
	return w.m
}
