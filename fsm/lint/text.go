package lint

import (
	"slices"
	"strconv"
	"strings"

	"loops/fsm"
	"loops/fsm/template"
	"loops/fsm/value"
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
	source  bool           // evaluate.source
	target  bool           // names a state
	name    bool           // names a loop or a branch: a template there was written with its value in mind
	formula bool           // an expression, whose names stand by themselves
	refs    []template.Ref // without those that are escaped
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
	add := func(t text, in string, path ...string) {
		if !isTemplate(in) {
			return
		}
		if t.refs = references(in); len(t.refs) > 0 {
			t.path = append([]string{"states", s.Name}, path...)
			out = append(out, t)
		}
	}
	if s.Call == nil {
		add(text{use: before, action: true}, s.Action, "action")
	} else {
		s.Call.EachText(func(in string, path ...string) {
			add(text{use: before, action: true}, in, append([]string{"call"}, path...)...)
		})
	}
	if s.Branches != nil {
		for _, b := range s.Branches.List {
			for _, t := range texts(b.State) {
				if t.use != before {
					continue // it sees what the branch itself left
				}
				t.path = append([]string{"states", s.Name, "parallel", b.Name}, t.path[2:]...)
				out = append(out, t)
			}
		}
	}
	add(text{use: before, name: true}, s.Loop, "loop")
	add(text{use: before, name: true}, s.Worktree, "worktree")
	if x := s.Each; x != nil {
		add(text{use: before, action: true}, x.Command, "for_each", "command")
		add(text{use: before}, x.Text, "for_each")
		add(text{use: before}, x.Key, "key")
		for i, item := range x.List {
			if in, ok := item.(string); ok {
				add(text{use: before}, in, "for_each", strconv.Itoa(i))
			}
		}
	}
	if a := s.Await; a != nil {
		add(text{use: before, action: true}, a.Until, "wait", "until")
		for _, key := range []struct{ name, in string }{{"at", a.At}, {"file", a.File}, {"url", a.URL}, {"run", a.Run}, {"event", a.Event}} {
			add(text{use: before}, key.in, "wait", key.name)
		}
		if a.Ask != nil {
			add(text{use: before}, a.Ask.Question, "ask", "question")
			add(text{use: before}, a.Ask.Show, "ask", "show")
		}
	}
	deep := func(v *value.Map, key string) {
		if v.Len() > 0 {
			inside(v, []string{key}, func(in string, path []string) { add(text{use: before}, in, path...) })
		}
	}
	deep(s.Params, "params")
	deep(s.With, "with")
	if s.Fragment != nil {
		deep(s.Fragment.Bindings, "fragment_bindings")
	}
	add(text{use: after}, s.Append, "append_to_messages")
	add(text{use: before}, s.Message, "message")
	if ev := s.Evaluate; ev != nil && s.Next == "" && s.Loop == "" {
		if ev.HasSource {
			add(text{use: tolerant, source: true}, ev.Source, "evaluate", "source")
		}
		if t, ok := ev.Target.(string); ok && (ev.Type == "output_numeric" || ev.Type == "convergence") {
			add(text{use: after}, t, "evaluate", "target")
		}
		switch ev.Type {
		case "convergence":
			add(text{use: tolerant}, ev.Previous, "evaluate", "previous")
			if t, ok := ev.Tolerance.(string); ok {
				add(text{use: after}, t, "evaluate", "tolerance")
			}
		case "llm_structured":
			add(text{use: tolerant}, ev.Prompt, "evaluate", "prompt")
		case "score_stall", "open_question_stall":
			add(text{use: after}, ev.HistoryFile, "evaluate", "history_file")
		}
	}
	to := text{use: after, target: true}
	add(to, s.Next, "next")
	for _, verdict := range verdicts(s) {
		add(to, s.On[verdict], "on_"+verdict)
	}
	if s.Route != nil {
		for _, verdict := range s.Route.Table.Keys() {
			add(to, tableTarget(s.Route, verdict), "route", verdict)
		}
		for i, row := range s.Route.Cases {
			add(to, row.To, "route", strconv.Itoa(i), "to")
		}
		if s.Route.Cases == nil { // there it is on_error
			add(to, s.Route.Default, "route", "_")
			add(to, s.Route.Error, "route", "_error")
		}
	}
	return out
}

// inside finds the strings in a value. Those of lists have the place of the list.
func inside(v any, path []string, found func(s string, path []string)) {
	switch v := v.(type) {
	case string:
		found(v, path)
	case []any:
		for i, e := range v {
			inside(e, append(path[:len(path):len(path)], strconv.Itoa(i)), found)
		}
	case *value.Map:
		for _, k := range v.Keys() {
			e, _ := v.Get(k)
			inside(e, append(path[:len(path):len(path)], k), found)
		}
	}
}

// references finds the templates of a text; escaped ones ($${...}) are text and left out.
func references(text string) []template.Ref {
	if !isTemplate(text) {
		return nil
	}
	// Blanked, not skipped: looking for the end of each escape would take quadratic time in a hostile text.
	refs := template.References(strings.ReplaceAll(text, "$${", "   "))
	for i := range refs {
		r := &refs[i]
		r.Text = text[r.Offset : r.Offset+len(r.Text)] // a default may hold an escape
	}
	return refs
}

// guarded reports whether a reference has a value even where its path leads nowhere.
func guarded(r template.Ref) bool { return r.Suffix == "default" || r.Suffix == "nullable" }

// isTorn reports whether the } of a reference is that of something else: no name has blanks and quotation marks in it.
func isTorn(r template.Ref) bool {
	if r.Program != "" {
		return false // see jqProgram
	}
	before, _, _ := strings.Cut(r.Text, ":default=")
	return !strings.Contains(before, ":-") && properties[r.Namespace] == nil && slices.Contains(namespaces, r.Namespace) &&
		pathStart().MatchString(r.Path) && strings.ContainsAny(before[2:], "\n\"'`$&|<>;{")
}

// badFilter reports whether something that is not a filter follows the path, which is reported elsewhere.
func badFilter(r template.Ref) bool { return strings.Contains(r.Path, ":") }

// isShell reports whether the action of a state is a bash script.
func isShell(s *fsm.State) bool {
	return s.Action != "" && s.Loop == "" && fsm.KindOf(s) == fsm.KindShell
}

// isPrompt reports whether the action of a state is text for an agent.
func isPrompt(s *fsm.State) bool {
	return s.Action != "" && s.Loop == "" && fsm.KindOf(s) == fsm.KindPrompt
}
