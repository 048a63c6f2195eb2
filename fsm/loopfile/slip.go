package loopfile

import (
	"slices"

	"gopkg.in/yaml.v3"

	"loops/internal/humanize"
)

// essential are the keys of a state without which it does something else than its author wrote, by how many letters may
// be added, dropped or swapped for an unknown key to be a slip for them.
var essential = []struct {
	name    string
	letters int
}{
	{"action", 1},
	{"action_type", 1},
	{"loop", 1},
	{"evaluate", 2},
	{"route", 1},
	{"next", 1},
	{"terminal", 2},
	{"timeout", 2},
}

// slips reports the unknown keys of a state with which it would do something else, silently. A key in
// other has no effect, and nothing else depends on it.
func (s *stateDecl) slips() {
	b := s.b
	b.other = slices.DeleteFunc(b.other, func(e entry) bool {
		meant := s.slipFor(e.name)
		if meant == "" || b.d.lostText(b.at, e) {
			return false
		}
		b.d.errorf(b.d.pos(e.key), join(b.path, e.name), "unknown-key",
			"%s is not a key of a state; did you mean %s?", quote(e.name), quote(meant))
		return true
	})
	if len(b.other) == 0 || !s.routesNothing() {
		return
	}
	e := b.other[0]
	if b.d.lostText(b.at, e) {
		return
	}
	b.other = b.other[1:]
	b.d.errorf(b.d.pos(e.key), join(b.path, e.name), "unknown-key",
		"%s is not a key of a state, and nothing else here gives the verdict that its routes wait for, so it would "+
			"always be yes%s", quote(e.name), elsewhere(e.name, InState))
}

// slipFor returns the essential key that an unknown one is a slip for, or "".
func (s *stateDecl) slipFor(name string) string {
	for _, k := range essential {
		if !s.b.has(k.name) && humanize.Slips(name, k.name, k.letters) {
			return k.name
		}
	}
	return ""
}

// routesNothing reports whether a state has routes for verdicts and nothing that gives one.
func (s *stateDecl) routesNothing() bool {
	b := s.b
	for _, key := range []string{"action", "evaluate", "loop", "learning", "next", "fragment", "call"} {
		if b.has(key) {
			return false
		}
	}
	if s.open || s.mayEnd() {
		return false
	}
	if f, ok := b.fields["route"]; ok {
		return f.node.Kind == yaml.MappingNode && len(f.node.Content) > 0
	}
	for to := range s.On {
		if s.On[to] != "" {
			return true
		}
	}
	return false
}
