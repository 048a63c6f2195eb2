package loopfile

import (
	"regexp"
	"sync"

	"loops/fsm"
	"loops/fsm/expr"
	"loops/fsm/value"
)

// memoryName is what a memory may be called, as part of the name of a file.
var memoryName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)
})

// memory reads the memory of the top level; nil means that it is not there.
func (d *decoder) memory(of *block) *fsm.LessonBook {
	if !of.has("memory") {
		return nil
	}
	b := of.sub("memory")
	m := &fsm.LessonBook{Name: b.text("name"), Tokens: b.int("tokens")}
	switch name := m.Name; {
	case name == "true" || name == "false":
		d.errorf(of.pos("memory"), join(b.path, "name"), "bad-value",
			"memory is a mapping or a name, found %s; write memory: {} for a memory with the name of the loop, or "+
				"leave the key out", name)
	case name != "" && !memoryName().MatchString(name):
		d.errorf(b.pos("name"), join(b.path, "name"), "bad-value",
			"%s is no name of a memory; expected letters, digits, and _ . - within it", quote(name))
	}
	return m
}

// remember reads what a state leaves for later runs; nil means that nothing is said.
func (d *decoder) remember(of *block) *fsm.Remember {
	if !of.has("remember") {
		return nil
	}
	b := of.sub("remember")
	r := &fsm.Remember{Fact: b.text("fact"), Judge: b.text("judge"), Source: b.text("source"), Pos: of.pos("remember")}
	r.When, _ = b.get("when").(*expr.Program)
	if b.has("failed") {
		failed := b.bool("failed")
		r.Failed = &failed
	}
	return r
}

// checkMemory checks that what states remember has a memory, and that it can be found.
func (d *decoder) checkMemory(l *fsm.Loop, decls []*stateDecl) {
	if l.Lessons != nil && l.Lessons.Name == "" && l.Name != "" && !memoryName().MatchString(l.Name) && !d.partial {
		d.errorf(l.Pos, "memory", "bad-value", "the memory has the name of the loop, and %s cannot be that of its "+
			"file; write memory: NAME", quote(l.Name))
	}
	for _, s := range decls {
		if s.Remember == nil || s.open {
			continue
		}
		b, path := s.b.sub("remember"), join(s.path, "remember")
		at := s.b.keyPos("remember")
		switch {
		case l.Lessons == nil && !d.partial:
			d.errorf(at, path, "missing-key", "remember needs a memory: write memory: {} on the top level of the loop")
		case b.has("fact") == b.has("judge"):
			d.errorf(at, path, "conflict", "remember takes one of fact, a text, and judge, what a model is asked")
		case b.has("source") && !b.has("judge"):
			d.errorf(b.keyPos("source"), join(path, "source"), "missing-key",
				"source is what a judge looks at, and this remember has none; put it into fact")
		case !b.has("judge"):
		case s.Terminal:
			d.errorf(b.keyPos("judge"), join(path, "judge"), "conflict",
				"a terminal state asks no judge; have the state before it remember this, or write fact")
		default:
			for _, key := range []string{"for_each", "parallel", "loop", "wait", "ask"} {
				if s.b.given(key) {
					d.errorf(b.keyPos("judge"), join(path, "judge"), "conflict",
						"a state with %s asks no judge what to remember; have the state that it leads to do that, "+
							"or write fact", key)
					break
				}
			}
		}
	}
}

func memoryKeys(m *fsm.LessonBook) *value.Map {
	if m == nil {
		return nil
	}
	w := objectOf{value.NewMap()}
	w.text("name", m.Name, "")
	w.count("tokens", m.Tokens, fsm.DefaultLessonTokens)
	return w.m
}

func rememberKeys(r *fsm.Remember) *value.Map {
	if r == nil {
		return nil
	}
	w := objectOf{value.NewMap()}
	w.text("fact", r.Fact, "")
	w.text("judge", r.Judge, "")
	w.text("source", r.Source, "")
	if r.When != nil {
		w.text("when", r.When.String(), "")
	}
	if r.Failed != nil {
		w.m.Set("failed", *r.Failed)
	}
	return w.m
}
