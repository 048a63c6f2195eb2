package fsm

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// EachText calls found with every text of a state in which templates are replaced, and where it is below the
// state: the texts of its action first.
func (s *State) EachText(found func(text string, path ...string)) {
	inside := func(v *value.Map, key string) {
		if v.Len() > 0 {
			EachText(v, []string{key}, found)
		}
	}
	if s.Call == nil {
		found(s.Action, "action")
	} else {
		s.Call.EachText(func(text string, path ...string) { found(text, slices.Insert(path, 0, "call")...) })
	}
	if s.Branches != nil {
		for _, b := range s.Branches.List {
			b.State.EachText(func(text string, path ...string) {
				found(text, slices.Insert(path, 0, "parallel", b.Name)...)
			})
		}
	}
	found(s.Loop, "loop")
	found(s.Worktree, "worktree")
	if x := s.Each; x != nil {
		found(x.Command, "for_each", "command")
		found(x.Glob, "for_each")
		found(x.Text, "for_each")
		found(x.Key, "key")
		EachText(x.List, []string{"for_each"}, found)
	}
	if a := s.Await; a != nil {
		found(a.Until, "wait", "until")
		found(a.At, "wait", "at")
		found(a.File, "wait", "file")
		found(a.URL, "wait", "url")
		found(a.Run, "wait", "run")
		found(a.Event, "wait", "event")
		if a.Ask != nil {
			found(a.Ask.Question, "ask", "question")
			found(a.Ask.Show, "ask", "show")
		}
	}
	inside(s.Params, "params")
	inside(s.With, "with")
	if s.Fragment != nil {
		inside(s.Fragment.Bindings, "fragment_bindings")
	}
	found(s.Append, "append_to_messages")
	found(s.Message, "message")
	if r := s.Remember; r != nil {
		found(r.Fact, "remember", "fact")
		found(r.Judge, "remember", "judge")
		found(r.Source, "remember", "source")
	}
	s.eachEvaluated(found)
	s.eachTarget(found)
}

// eachEvaluated calls found with the texts of an evaluate block that its type reads.
func (s *State) eachEvaluated(found func(text string, path ...string)) {
	ev := s.Evaluate
	if ev == nil || s.Next != "" || s.Loop != "" {
		return
	}
	text := func(v any, key string) {
		if t, ok := v.(string); ok {
			found(t, "evaluate", key)
		}
	}
	if ev.HasSource {
		text(ev.Source, "source")
	}
	if ev.Type == "output_numeric" || ev.Type == "convergence" {
		text(ev.Target, "target")
	}
	switch ev.Type {
	case "convergence":
		text(ev.Previous, "previous")
		text(ev.Tolerance, "tolerance")
	case "llm_structured":
		text(ev.Prompt, "prompt")
	case "score_stall", "open_question_stall":
		text(ev.HistoryFile, "history_file")
	}
}

// eachTarget calls found with the texts that name the next state.
func (s *State) eachTarget(found func(text string, path ...string)) {
	found(s.Next, "next")
	for _, verdict := range slices.Sorted(maps.Keys(s.On)) {
		found(s.On[verdict], "on_"+verdict)
	}
	if s.Route == nil {
		return
	}
	for _, verdict := range s.Route.Table.Keys() {
		to, _ := s.Route.Table.Value(verdict).(string)
		found(to, "route", verdict)
	}
	for i, row := range s.Route.Cases {
		found(row.To, "route", strconv.Itoa(i), "to")
	}
	if s.Route.Cases == nil { // there it is on_error
		found(s.Route.Default, "route", "_")
		found(s.Route.Error, "route", "_error")
	}
}

// EachExpression calls found with every expression of a state, and where it is below the state.
func (s *State) EachExpression(found func(p *expr.Program, path ...string)) {
	add := func(p *expr.Program, path ...string) {
		if p != nil {
			found(p, path...)
		}
	}
	for _, a := range s.Set {
		add(a.Value, "set", a.Key)
	}
	if s.Route != nil {
		for i, row := range s.Route.Cases {
			add(row.When, "route", strconv.Itoa(i), "when")
		}
	}
	if s.Remember != nil {
		add(s.Remember.When, "remember", "when")
	}
	if s.Evaluate != nil {
		add(s.Evaluate.Expression, "evaluate", "expression")
	}
}

// A keptFiles has the captures whose file a loop refers to, so that all of their output goes to a file however
// short it is: names, or names behind those of the states and branches that they are inside of.
type keptFiles map[string]bool

// anyFile stands for all captures: the loop refers to one by a name that is not fixed.
const anyFile = "*"

func (k keptFiles) has(capture string) bool { return k[capture] || capture != "" && k[anyFile] }

// inside returns the rest of those names that begin with front.
func (k keptFiles) inside(front string) keptFiles {
	var in keptFiles
	for name := range k {
		if rest, ok := strings.CutPrefix(name, front); ok && front != "." && rest != "" || name == anyFile {
			if in == nil {
				in = keptFiles{}
			}
			in[rest] = true
		}
	}
	return in
}

// keptFilesOf finds the references of a loop to files of captures, besides those that the loops around it refer to.
func keptFilesOf(l *Loop, around keptFiles) keptFiles {
	kept := keptFiles{}
	maps.Copy(kept, around)
	text := func(text string, _ ...string) {
		if !strings.Contains(text, "captured.") {
			return
		}
		for _, r := range expr.References(text) {
			name, isFile := strings.CutSuffix(r.Path, ".file")
			if r.Namespace == "captured" && !r.Escaped && (isFile || r.Program != "") {
				kept[name] = true
			}
		}
	}
	for _, st := range l.States {
		st.EachText(text)
		st.eachExpressionInside(func(p *expr.Program, _ ...string) {
			for _, r := range p.Refs() {
				name, isFile := strings.CutSuffix(strings.Join(r.Path, "."), ".file")
				switch {
				case r.Namespace != "captured" || !isFile && (r.Guarded || len(r.Path) > 1):
				case name == "":
					kept[anyFile] = true
				default:
					kept[name] = true
				}
			}
		})
	}
	if l.Stall != nil {
		for _, paths := range [][]string{l.Stall.ProgressPaths, l.Stall.ExcludePaths} {
			for _, path := range paths {
				text(path)
			}
		}
	}
	return kept
}

// eachExpressionInside is EachExpression of a state and of its branches.
func (s *State) eachExpressionInside(found func(p *expr.Program, path ...string)) {
	s.EachExpression(found)
	if s.Branches != nil {
		for _, b := range s.Branches.List {
			b.State.EachExpression(found)
		}
	}
}
