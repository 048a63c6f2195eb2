package fsm

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"loops/fsm/expr"
	"loops/fsm/value"
)

func TestDiffStall(t *testing.T) {
	t.Parallel()
	cfg := DefaultEvaluate("diff_stall")
	cfg.MaxStall = 2
	ev := Evidence{ExitCode: 1} // a failed action does not keep it from looking
	calls := []struct {
		diff    Result
		verdict string
		details string
	}{
		{Result{Stdout: "a | 1 +"}, "yes", "{'stall_count': 0, 'max_stall': 2, 'diff_changed': True}"},
		{Result{Stdout: "a | 1 +"}, "yes", "{'stall_count': 1, 'max_stall': 2, 'diff_changed': False}"},
		{Result{ExitCode: 127}, "error", "{'error': 'git not found in PATH'}"},
		{Result{ExitCode: 124, TimeoutKind: "wall"}, "error", "{'error': 'git diff timed out'}"},
		{Result{ExitCode: 129, Stderr: " no\n"}, "error", "{'error': 'git diff failed: no'}"},
		{Result{Stdout: "a | 1 +"}, "no", "{'stall_count': 2, 'max_stall': 2, 'diff_changed': False}"},
		{Result{Stdout: "a | 2 +"}, "yes", "{'stall_count': 0, 'max_stall': 2, 'diff_changed': True}"},
	}
	for i, c := range calls {
		ev.Diff = func() (Result, error) { return c.diff, nil }
		v, memory, err := Judge(&cfg, ev)
		ev.Memory = memory
		if err != nil || v.Name != c.verdict || value.Repr(v.Details) != c.details {
			t.Errorf("call %d: %s %s, %v; want %s %s", i, v.Name, value.Repr(v.Details), err, c.verdict, c.details)
		}
	}
	before := ev.Memory
	ev.Diff = func() (Result, error) { return Result{}, context.Canceled }
	if _, memory, err := Judge(&cfg, ev); !errors.Is(err, context.Canceled) || memory != before {
		t.Errorf("a runner that fails: %v, memory %v", err, memory)
	}
	ev.Diff = nil
	if v, _, err := Judge(&cfg, ev); err != nil || v.Name != "error" {
		t.Errorf("no way to run git: %v, %v", v, err)
	}
}

// The fingerprint of existing histories: the default track of an action_stall resolves to nothing.
func TestActionStallHash(t *testing.T) {
	t.Parallel()
	cfg := DefaultEvaluate("action_stall")
	var ev Evidence
	var v Verdict
	for range 3 {
		var err error
		if v, ev.Memory, err = Judge(&cfg, ev); err != nil {
			t.Fatal(err)
		}
	}
	if hash, _ := v.Details.Get("repeated_hash"); v.Name != "no" || hash != "e83f17c98ec15ee1ae4bd2f3861f5887" {
		t.Errorf("third call: %s %s", v.Name, value.Repr(v.Details))
	}
}

func TestJudgeUnknownType(t *testing.T) {
	t.Parallel()
	if _, _, err := Judge(&Evaluate{Type: "guess"}, Evidence{}); err == nil ||
		err.Error() != `unknown evaluator type "guess"` {
		t.Errorf("got %v", err)
	}
}

// Of a tool result that was too long to keep, half is no JSON: the exit code says how the call went.
func TestCutToolResult(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{0: "success", 1: "tool_error", 124: "timeout", 127: "not_found"} {
		ev := Evidence{
			Output: `{"content": "xx[1000 bytes of output are missing here]`, ExitCode: code, Acted: true,
			Cut: true,
		}
		if v, _, err := Judge(&Evaluate{Type: "mcp_result"}, ev); err != nil || v.Name != want {
			t.Errorf("exit code %d: %q, %v; want %q", code, v.Name, err, want)
		}
	}
}

func TestHistoryFile(t *testing.T) {
	t.Parallel()
	dir := dirFiles(t.TempDir())
	if err := dir.WriteFile("run/.score_history", []byte("1\n2\n")); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultEvaluate("score_stall")
	v, _, err := Judge(&cfg, Evidence{Files: dir, Scope: &expr.Scope{Context: value.NewMap("run_dir", "run")}})
	if rounds, _ := v.Details.Get("rounds"); err != nil || rounds != int64(2) {
		t.Errorf("%s, %v", value.Repr(v.Details), err)
	}
	cfg.HistoryFile = "run" // a directory
	if _, _, err := Judge(&cfg, Evidence{Files: dir}); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("a history that cannot be read: %v", err)
	}
}

func TestSignalScannerKeepsLittle(t *testing.T) {
	t.Parallel()
	var s SignalScanner
	s.Write("FATAL_ERROR: ")
	for range 100 {
		s.Write(strings.Repeat("x", 4096))
	}
	s.Write("\nCONTEXT_HAND")
	kind, payload, found := s.Signal()
	if !found || kind != "error" || len(payload) != maxPayload {
		t.Errorf("%s, %d bytes, %v", kind, len(payload), found)
	}
}

func TestStallProgress(t *testing.T) {
	t.Parallel()
	cfg := &Stall{Window: 2, OnRepeated: "abort"}
	rec := func(state string) StallRecord { return StallRecord{State: state, ExitCode: 1, Verdict: "no"} }
	var m Snapshot
	for i, c := range []struct {
		state, print string
		fires        bool
	}{
		{"a", "", false},
		{"a", "p1", true}, // the first fingerprint of a state is no progress
		{"a", "p2", false},
		{"b", "p2", false},
		{"b", "p2", true},
	} {
		if _, fired := m.recordStall(cfg, rec(c.state), c.print); fired != c.fires {
			t.Errorf("record %d: fired = %v", i, fired)
		}
	}
	if _, fired := m.recordStall(nil, rec("a"), ""); fired {
		t.Error("fired without a detector")
	}
}
