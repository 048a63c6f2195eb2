package loopfile

import (
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// Types are the action types that the settings of a project add to those of the language, by their names.
type Types map[string]fsm.Extension

// names returns the names in their order.
func (t Types) names() []string { return slices.Sorted(maps.Keys(t)) }

// unknownType reports an action type that neither the language nor the settings have.
func (d *decoder) unknownType(key *Key, n *yaml.Node, s, path string) {
	known := *key
	known.Values = append(slices.Clone(key.Values), d.types.names()...)
	meant, add := meantValue(s, &known), ""
	if meant == "" {
		add = "; to add one, give it to a program or to an agent host in .loops/config.yaml, such as " +
			"action_types: {" + clip(s) + ": ./bin/" + clip(s) + "}"
	}
	d.errorf(d.pos(n), path, "bad-value", "%s is not a value of action_type%s (values: %s)%s", quote(s), meant,
		enumerate(known.Values), add)
}

// extension returns what the settings make of the action type of a state; nil = it is one of the language.
func (d *decoder) extension(s *stateDecl) *fsm.Extension {
	x, ok := d.types[s.ActionType]
	if !ok || s.Loop != "" {
		return nil
	}
	if x.Host != "" && s.Host != "" && s.Host != x.Host {
		d.errorf(s.b.pos("host"), join(s.path, "host"), "conflict",
			"the action type %s is a prompt for the host %s, and host names another; remove one of the two",
			quote(s.ActionType), quote(x.Host))
	}
	return &x
}
