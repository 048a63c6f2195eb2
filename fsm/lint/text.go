package lint

import (
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/expr"
)

// A use says when a text is expanded, and what happens if it cannot be.
type use int

const (
	before   use = iota // the action of the state; a reference without a value fails the state
	after               // the action; the same
	tolerant            // after the action; without a value the text is ignored or taken as it is written
)

// A text is one text of a state that may hold templates.
type text struct {
	path    []string // in the definition
	use     use
	action  bool
	source  bool             // evaluate.source
	target  bool             // names a state
	name    bool             // names a loop or a branch: a template there was written with its value in mind
	formula bool             // an expression, whose names stand by themselves
	refs    []expr.Reference // without those that are escaped
}

func allTexts(states []*fsm.State) [][]text {
	out := make([][]text, len(states))
	for i, s := range states {
		out[i] = texts(s)
	}
	return out
}

// texts returns the texts of a state in which templates are expanded.
func texts(s *fsm.State) []text {
	var out []text
	s.EachText(func(in string, path ...string) {
		if !isTemplate(in) {
			return
		}
		if t := usedAt(path); len(t.path) > 0 {
			if t.refs = references(in); len(t.refs) > 0 {
				t.path = append([]string{"states", s.Name}, path...)
				out = append(out, t)
			}
		}
	})
	return out
}

// usedAt returns how a text of a state is used, by its place below the state; one without a path is of no interest.
func usedAt(path []string) text {
	t := text{path: path}
	switch first := path[0]; {
	case first == "action", first == "call", len(path) > 1 &&
		(first == "wait" && path[1] == "until" || first == "for_each" && path[1] == "command"):
		t.action = true
	case first == "loop", first == "worktree":
		t.name = true
	case first == "parallel":
		if t = usedAt(path[2:]); t.use != before {
			return text{} // it sees what the branch itself left
		}
		t.path = path
	case first == "append_to_messages":
		t.use = after
	case first == "remember":
		t.use, t.target = tolerant, true // it sees the verdict, as a target does
	case first == "evaluate":
		t.source = path[1] == "source"
		if t.use = after; t.source || path[1] == "previous" || path[1] == "prompt" {
			t.use = tolerant
		}
	case first == "next", first == "route", strings.HasPrefix(first, "on_"):
		t.use, t.target = after, true
	}
	return t
}

// references finds the templates of a text; escaped ones ($${...}) are text and left out.
func references(text string) []expr.Reference {
	if !isTemplate(text) {
		return nil
	}
	// Blanked, not skipped: looking for the end of each escape would take quadratic time in a hostile text.
	refs := expr.References(strings.ReplaceAll(text, "$${", "   "))
	for i := range refs {
		r := &refs[i]
		r.Text = text[r.Offset : r.Offset+len(r.Text)] // a default may hold an escape
	}
	return refs
}

// guarded reports whether a reference has a value even where its path leads nowhere.
func guarded(r expr.Reference) bool { return r.Suffix == "default" || r.Suffix == "nullable" }

// isTorn reports whether the } of a reference is that of something else: no name has blanks and quotation marks in it.
func isTorn(r expr.Reference) bool {
	if r.Program != "" {
		return false // see jqProgram
	}
	before, _, _ := strings.Cut(r.Text, ":default=")
	return !strings.Contains(before, ":-") && properties[r.Namespace] == nil &&
		slices.Contains(namespaces, r.Namespace) &&
		pathStart().MatchString(r.Path) && strings.ContainsAny(before[2:], "\n\"'`$&|<>;{")
}

// badFilter reports whether something that is not a filter follows the path, which is reported elsewhere.
func badFilter(r expr.Reference) bool { return strings.Contains(r.Path, ":") }

// isShell reports whether the action of a state is a bash script.
func isShell(s *fsm.State) bool {
	return s.Action != "" && s.Loop == "" && fsm.KindOf(s) == fsm.KindShell
}

// isPrompt reports whether the action of a state is text for an agent.
func isPrompt(s *fsm.State) bool {
	return s.Action != "" && s.Loop == "" && fsm.KindOf(s) == fsm.KindPrompt
}
