package project_test

import (
	"fmt"
	"strings"
	"testing"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
)

func TestRebase(t *testing.T) {
	t.Parallel()
	m := &fsm.Snapshot{
		Context: value.NewMap("run_dir", "/p/runs/a/", "n", int64(1), "deep",
			[]any{value.NewMap("x", "see runs/a/out.txt, runs/ab, /p/runs/a.")}),
		Captured: value.NewMap("c", value.NewMap("output", "/p/runs/a-1 and /p/runs/a")),
		Messages: []string{"none", "runs/a"},
	}
	before := m.Captured
	if n := project.RebasePaths(m, []project.MovedFolder{{"/p/runs/a", "/p/runs/b"}, {"runs/a", "runs/b"}}); n != 4 {
		t.Errorf("%d texts changed", n)
	}
	want := `{"run_dir": "/p/runs/b/", "n": 1, "deep": [{"x": "see runs/b/out.txt, runs/ab, /p/runs/b."}]} {"c": {"output": "/p/runs/a-1 and /p/runs/b"}} [none runs/b]`
	if got := fmt.Sprint(string(value.AppendJSON(nil, m.Context)), " ", string(value.AppendJSON(nil, m.Captured)),
		" ", m.Messages); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if s := string(value.AppendJSON(nil, before)); !strings.Contains(s, "/p/runs/a\"") {
		t.Errorf("what it was made of changed: %s", s)
	}
}

// What a run remembers in other places than its context: a result that waits to be judged, answers of judges,
// and all of that in the sub-loops that it is in.
func TestRebaseAll(t *testing.T) {
	t.Parallel()
	memory := func() *fsm.Snapshot {
		return &fsm.Snapshot{
			Context: value.NewMap("run_dir", "/old/.loops/runs/a/"), Param: value.NewMap("f", "/old/f"),
			Captured:   value.NewMap("c", value.NewMap("file", "/old/c")),
			PrevResult: value.NewMap("output", "/old/p"),
			LastResult: value.NewMap("details", value.NewMap("x", "/old/l")), Messages: []string{"/old/m"},
			Result:       &fsm.Result{Stdout: "/old/1", Stderr: "/old/2", File: "/old/3"},
			Answers:      []fsm.Answer{{Question: "q", Result: fsm.Result{Stdout: "/old/4"}}},
			Continuation: "see /old/h", PendingPayload: "/old/5",
		}
	}
	m, inner, innermost := memory(), memory(), memory()
	inner.Child = &fsm.Child{Memory: innermost, File: "/old/.loops/y.yaml", Worktree: "/old/.worktrees/y"}
	m.Child = &fsm.Child{Memory: inner, File: "/old/.loops/x.yaml", Log: []string{`{"path": "/old/log"}`}}
	project.RebasePaths(m, []project.MovedFolder{{From: "/old", To: "/new/old"}})
	depth := 0
	for at := m; at != nil; depth++ {
		text := fmt.Sprintf("%s %s %s %s %s %v %+v %+v %s %s", value.AppendJSON(nil, at.Context),
			value.AppendJSON(nil, at.Param), value.AppendJSON(nil, at.Captured),
			value.AppendJSON(nil, at.PrevResult), value.AppendJSON(nil, at.LastResult), at.Messages, *at.Result,
			at.Answers, at.Continuation, at.PendingPayload)
		if old, now := strings.Count(text, "/old/"), strings.Count(text, "/new/old/"); old != 12 || now != 12 {
			t.Errorf("depth %d: %d of %d paths are new: %s", depth, now, old, text)
		}
		if at.Child == nil {
			break
		}
		if text := at.Child.File + at.Child.Worktree + strings.Join(at.Child.Log, ""); strings.Count(text,
			"/new/old/") != 2 {
			t.Errorf("depth %d: %s", depth, text)
		}
		at = at.Child.Memory
	}
	if depth != 2 || innermost.Messages[0] != "/old/m" {
		t.Errorf("depth %d; what it was made of changed: %s", depth, innermost.Messages)
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	folders := []project.MovedFolder{
		{From: "/p", To: "/q"},
		{From: "/p/runs/a", To: "/p/runs/b"},
		{From: "runs/a", To: "runs/b"},
		{From: "/", To: "/x"},
	}
	for _, c := range []struct{ text, want string }{
		{"/p", "/q"},
		{"/p/x and /p.", "/q/x and /q."},
		{"/p/runs/a/o", "/p/runs/b/o"},
		{"/p/runs/ab/o", "/q/runs/ab/o"},
		{"./runs/a/o, runs/a", "./runs/b/o, runs/b"},
		{"file:///p/x", "file:///q/x"},
		{"a=/p:/p/y;(/p)", "a=/q:/q/y;(/q)"},
		{"/p.bak /pp /p-1 /pé /p..", "/p.bak /pp /p-1 /pé /p.."},
		{"/home/p ~/p ../p ${X}/p x/p //p /h/p/x", "/home/p ~/p ../p ${X}/p x/p //p /h/p/x"},
		{"", ""},
	} {
		if got := project.MovedPath(c.text, folders); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
