package inspect

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/fsm"
)

func steps(w *StepKinds, letters string) *StepList {
	s := NewStepList(w)
	for _, v := range pathOfSteps(letters) {
		s.Add(v)
	}
	return s
}

// pathOfSteps makes visits of letters: upper case for yes, lower case for no.
func pathOfSteps(letters string) []*Visit {
	var r Reader
	var visits []*Visit
	for i, c := range letters {
		code, verdict, state := int64(0), "yes", strings.ToLower(string(c))
		if c >= 'a' {
			code, verdict = 1, "no"
		}
		field := func(k string, v any) fsm.Field { return fsm.Field{Key: k, Value: v} }
		var last *Visit
		for _, e := range []fsm.Event{
			{Kind: fsm.EventStateEnter, Fields: []fsm.Field{field("state", state), field("iteration", int64(i+1))}},
			{Kind: fsm.EventActionComplete, Fields: []fsm.Field{field("exit_code", code)}},
			{
				Kind:   fsm.EventEvaluate,
				Fields: []fsm.Field{field("type", "exit_code"), field("verdict", verdict), field("exit_code", code)},
			},
			{Kind: fsm.EventRoute, Fields: []fsm.Field{field("from", state), field("to", "x")}},
		} {
			last = r.Add(e)
		}
		visits = append(visits, last)
	}
	return visits
}

// A step says the same as the visit it was made of, also where visits come as they end: inner ones first.
func TestSteps(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, name := range files {
		visits, _ := read(t, name)
		s := NewStepList(&StepKinds{})
		for _, v := range slices.Backward(visits) {
			s.Add(v)
		}
		if s.Len() != len(visits) {
			t.Fatalf("%s: %d steps of %d visits", name, s.Len(), len(visits))
		}
		for i, v := range visits {
			want := AlignedStep{
				Number:   v.Number(),
				StepKind: StepKind{Path: v.Path(), Verdict: v.Verdict(), To: v.To()}, Took: v.Took(),
			}
			want.Exit, want.Exited = v.Exit()
			want.First, want.Last = v.Span()
			if got := s.At(i); got != want {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
			if n := s.Behind(want.First - 1); n != i {
				t.Errorf("%s: behind event %d is step %d, want %d", name, want.First-1, n, i)
			}
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""},
		{"ABC", "ABC", "== == =="},
		{"ABC", "AbC", "== != =="},
		{"ABC", "AC", "== -. =="},
		{"AC", "ABC", "== .- =="},
		{"ABCD", "AXYD", "== -. -. .- .- =="},
		{"ABCABBA", "CBABAC", "-. -. == .- == == -. == .-"},
		{"", "AB", ".- .-"},
		{"ABab", "ABAB", "== == != !="},
	} {
		var w StepKinds
		a, b := steps(&w, c.a), steps(&w, c.b)
		var words []string
		i, j := int32(0), int32(0)
		for _, p := range CompareSteps(a, b, 0, 0) {
			word := "!="
			if p.Same {
				word = "=="
			}
			if p.A == NoStep {
				word = ".-"
			} else if p.A != i {
				t.Fatalf("%s %s: a visit is out of order", c.a, c.b)
			} else {
				i++
			}
			if p.B == NoStep {
				word = "-."
			} else if p.B != j {
				t.Fatalf("%s %s: a visit is out of order", c.a, c.b)
			} else {
				j++
			}
			words = append(words, word)
		}
		if got := strings.Join(words, " "); got != c.want || int(i) != a.Len() || int(j) != b.Len() {
			t.Errorf("%s and %s: %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

// Paths that have nothing in common are not aligned for ever.
func TestCompareLong(t *testing.T) {
	t.Parallel()
	var w StepKinds
	a, b := steps(&w, strings.Repeat("ab", 5000)), steps(&w, strings.Repeat("cd", 5000))
	if n := len(CompareSteps(a, b, 0, 0)); n != 20000 {
		t.Errorf("%d pairs", n)
	}
}
