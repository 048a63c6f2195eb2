package loopfile

import (
	"maps"
	"slices"
	"sync"

	"loops/fsm"
	"loops/fsm/glob"
	"loops/fsm/value"
)

// guard reads the guard of the top level or of a state; nil means that it is not there.
func (d *decoder) guard(of *block) *fsm.Guard {
	if !of.has("guard") {
		return nil
	}
	b := of.sub("guard")
	return &fsm.Guard{
		Protect: d.patterns(b, "protect"), Only: d.patterns(b, "only"), MaxFiles: b.int("max_files"),
		MaxLines: b.int("max_lines"), NoDelete: b.bool("no_delete"),
	}
}

// patterns reads a list of patterns of paths.
func (d *decoder) patterns(b *block, key string) (all []glob.Pattern) {
	for i, text := range b.texts(key) {
		p, err := glob.Compile(text)
		if err != nil {
			pos := b.pos(key)
			if list := b.fields[key].node; i < len(list.Content) {
				pos = d.pos(deref(list.Content[i]))
			}
			d.errorf(pos, join(b.path, key), "bad-value",
				"%s: %v; expected a path below the folder of the run, such as src/** or **/*_test.go", key, err)
			continue
		}
		all = append(all, p)
	}
	return all
}

// TestFiles returns the patterns of the files that tamper_guard protects: tests, and what decides which of them
// are run.
func TestFiles() []string {
	return []string{
		"**/{test,tests,spec,__tests__}", "**/test_*", "**/*_test.*", "**/*.{test,spec}.*",
		"**/conftest.py", "**/{pytest,tox}.ini",
	}
}

// testFiles are the same patterns, read.
var testFiles = sync.OnceValue(func() (all []glob.Pattern) {
	for _, text := range TestFiles() {
		if p, err := glob.Compile(text); err == nil {
			all = append(all, p)
		}
	}
	return all
})

// tamperGuards reads tamper_guard, which little-loops has for guards of tests. What a state says comes before what the
// loop says.
func (d *decoder) tamperGuards(b *block, l *fsm.Loop, decls []*stateDecl) {
	ours := b.text("tamper_guard")
	for _, s := range decls {
		policy := ours
		if s.b.has("tamper_guard") {
			policy = s.b.text("tamper_guard")
		}
		if policy != "revert" && policy != "fail" || s.Action == "" || s.Terminal {
			continue
		}
		if s.Guard == nil {
			s.Guard = &fsm.Guard{}
		}
		s.Guard.Protect = append(slices.Clip(s.Guard.Protect), testFiles()...)
		if policy == "fail" && s.OnGuarded == "" {
			s.OnGuarded = failureOf(l, s.On["no"])
		}
	}
}

// failureOf returns where a failure leads: to a state that ends as failed, if there is one.
func failureOf(l *fsm.Loop, to string) string {
	if st := l.States[to]; st != nil && st.Terminal && st.Failure {
		return to
	}
	for _, name := range slices.Sorted(maps.Keys(l.States)) {
		if st := l.States[name]; st.Terminal && st.Failure {
			return name
		}
	}
	return to
}

// checkGuard checks that a guard limits something, and that the state acts.
func (d *decoder) checkGuard(s *stateDecl) {
	b := s.b
	if s.open || s.State == nil {
		return
	}
	acts := slices.ContainsFunc([]string{"action", "loop", "for_each", "parallel"}, b.has)
	for _, key := range []string{"guard", "on_guarded"} {
		if b.has(key) && !acts {
			d.errorf(b.keyPos(key), join(b.path, key), "conflict",
				"%s is about what an action changes, and this state has no action, loop, for_each or parallel", key)
		}
	}
	if s.Branches != nil && !s.Branches.HasTrees() {
		for _, branch := range s.Branches.List {
			if branch.State.Guard != nil {
				d.errorf(branch.State.Pos, join(join(join(s.path, "parallel"), branch.Name), "guard"), "conflict",
					"the branch %s cannot have a guard of its own, because branches change the same files side by "+
						"side; give each a work tree (worktree: true), or give the guard to the state",
					quote(branch.Name))
			}
		}
	}
}

func guardKeys(g *fsm.Guard) *value.Map {
	if g == nil {
		return nil
	}
	w := objectOf{value.NewMap()}
	w.patterns("protect", g.Protect)
	w.patterns("only", g.Only)
	w.count("max_files", g.MaxFiles, 0)
	w.count("max_lines", g.MaxLines, 0)
	w.flag("no_delete", g.NoDelete, false)
	return w.m
}

func (w objectOf) patterns(key string, list []glob.Pattern) {
	texts := make([]any, len(list))
	for i, p := range list {
		texts[i] = p.String()
	}
	w.value(key, texts, list != nil)
}
