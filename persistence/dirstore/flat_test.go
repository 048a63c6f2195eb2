package dirstore

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/snapshot"
)

var at = time.Date(2026, 11, 21, 8, 37, 17, 206209000, time.UTC)

// example is a run in the middle of everything.
func example() *record {
	r := &record{
		runID: "2026-11-21T083717", status: persistence.Running, updated: at.Add(time.Minute), seq: 42, journal: 9001,
		owner:   persistence.Owner{Host: "h", Boot: "b", PID: 15629, Start: 1},
		options: value.NewMap("max_steps", int64(9)),
		file:    "fix.yaml", sha: "ab12", maxSteps: 9, why: "gone", reconciled: at.Add(time.Hour), instance: "fix-1",
		origin: &persistence.Origin{ID: "fix-20261120T100000", RunID: "2026-11-20T100000", Step: 2, Seq: 17},
	}
	r.Snapshot = fsm.Snapshot{
		Loop: "fix", Phase: fsm.PhaseActed, Current: "judge", Previous: "work", Step: 3, Passes: 1, Attempt: 2,
		Tries:     1,
		StartedAt: at, Elapsed: 629 * time.Millisecond,
		Context:  value.NewMap("input", "é 😀\n", "none", nil, "n", int64(40), "f", 2.0, "list", []any{}),
		Param:    value.NewMap("tries", int64(3)),
		Captured: value.NewMap("tries", value.NewMap("output", "try 6", "exit_code", int64(0), "timeout_kind", nil)),
		Messages: []string{"one", "two"}, PrevResult: value.NewMap("output", "x\n", "exit_code", int64(1)),
		LastResult: value.NewMap("verdict", "no", "details", value.NewMap("exit_code", int64(1))),
		Result: &fsm.Result{
			Stdout: "out", Stderr: "err", ExitCode: -9, Duration: time.Second,
			TimeoutKind: "idle", Bytes: 3, Truncated: true, File: "f", Background: 1, PeakRSS: 7,
			Response: &fsm.Response{Status: 503, Headers: value.NewMap("etag", "x"), RetryAfter: time.Minute},
		},
		Answers: []fsm.Answer{
			{
				Question: "q1",
				Result: fsm.Result{
					ExitCode: 1, Stderr: "busy",
					Reply: &fsm.Reply{Host: "h", Failure: fsm.FailTransient, Reason: "busy"},
				},
			},
			{Question: "q2", Most: 0.5},
		},
		Asking: true, AskingMost: 0.25,
		Retries: map[string]int{"b": 2, "a": 1}, Throttles: map[string]int{"a": 1}, Holds: map[string]int{"a": 1},
		Edges: value.CountsOf(map[string]int{"a->b": 4}), JustRouted: true, StepsCapped: true, PassCapped: true,
		Flushing:    true,
		StallRing:   []fsm.StallRecord{{State: "a", ExitCode: 1, Verdict: "no"}},
		StallCounts: map[string]int{"k": 1}, StallPrints: map[string]string{"a": "p"},
		Evaluators: map[string]fsm.Repeat{"a": {Hash: "h", Count: 2, Seen: true}}, CumulativeMB: 1.5,
		BudgetSpent: true, UnderPressure: true,
		RateLimits: map[string]fsm.RateLimit{
			"a": {Short: 3, Long: 1, Waited: 91500 * time.Millisecond, FirstSeen: at}, "b": {},
		},
		APIErrors: map[string]int{"a": 1}, InfraErrors: map[string]int{"a": 2}, Storm: 2, Spared: "a",
		Session: &fsm.Session{
			ID: "s-1", Host: "claude",
			Counted: fsm.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4},
		},
		Wait: &fsm.Wait{
			Why: "rate_limit", Tier: "long_wait", State: "a", Host: "h", Since: at,
			Until: at.Add(time.Hour),
		},
		Taken: map[string]int{"deployed": 3},
		Event: value.NewMap("name", "deployed", "number", int64(3)),
		Awaiting: &fsm.Awaiting{
			State: "a", Kind: "url", What: "http://h", Status: "200", Form: "{}", Since: at,
			Until: at.Add(time.Hour), Deadline: at.Add(2 * time.Hour), Next: at.Add(time.Minute), Looks: 3,
			Looking: true, Seen: "status 503",
		},
		Raised: &fsm.Raised{
			N: 4, Attempt: 2,
			By: fsm.Raise{Steps: 1, Passes: 2, CostUSD: 0.5, Tokens: 3, Prompts: 4, Time: 5 * time.Minute},
		},
		Items: &fsm.Items{
			State: "a", Step: 3, List: `["x", "y"]`, Count: 2, Since: 1, Through: 9,
			Ends: map[string]string{"3/1": "yb"}, Starts: map[string]int{"3/2": 3},
		},
		Ending:       &fsm.Outcome{TerminatedBy: "error", FinalState: "judge", Steps: 3, Error: "e"},
		Continuation: "go on", PendingRequest: "stop", PendingPayload: "p",
		Outcome: &fsm.Outcome{
			TerminatedBy: "error", FinalState: "judge", Steps: 3, Failure: true, Error: "e", Message: "m",
			Signal: "SIGINT", Continuation: "c", Limited: true, Refused: true, Duration: time.Second,
			Receipt: &fsm.Receipt{
				Run: "r", Loop: "l", Completed: "2026-01-02T03:04:05Z", Tree: "t", Kept: true, Prompts: 1,
				Tokens: 1 << 60, CostUSD: 0.1, Unpriced: 1, Guard: "g", Sandbox: "s", Key: "k", Signature: "v",
				Checks: []fsm.CheckResult{{
					State: "s", Path: "a > s", Step: "1/2", Loop: "i", Marked: true,
					Files: []string{"f"}, Command: "c\n", ExitCode: 1, Output: "o", Evaluator: "e", Verdict: "no",
					Judges: []string{"j"},
				}},
			},
		},
	}
	return r
}

// nested is the example in a sub-loop of a sub-loop, which has more content than the one around it.
func nested() *record {
	inner := example().Snapshot
	inner.Loop, inner.Outcome = "inner", nil
	middle := fsm.Snapshot{
		Loop: "middle", Phase: fsm.PhaseActing, Current: "call", Step: 2, Attempt: 1, StartedAt: at,
		Child: &fsm.Child{
			Memory: &inner, Name: "deep/inner", File: "deep/inner.yaml", SHA256: "cd34", Timeout: 90 * time.Second,
			Branch: "try", Worktree: "/w/.worktrees/1-subloop-try",
			Log: []string{`{"event": "loop_start"}`, `{"event": "route"}`},
		},
	}
	return &record{status: persistence.Running, runID: "2026-11-21T083717", updated: at, Snapshot: fsm.Snapshot{
		Loop: "outer", Phase: fsm.PhaseActing, Current: "sub", Step: 1, Attempt: 1, StartedAt: at,
		Child: &fsm.Child{Memory: &middle, Name: "middle"},
	}}
}

func encode(r *record) []byte {
	e := snapshot.NewWriter(nil)
	appendFlat(e, r, &r.Snapshot, false)
	return appendCheck(snapshot.AppendIndented(nil, e.Buf))
}

func TestFlatGolden(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*record{
		"full.state.json":   example(),
		"nested.state.json": nested(),
		"small.state.json": {
			status: persistence.Completed, runID: "2026-11-21T083717",
			Snapshot: fsm.Snapshot{Loop: "a", Current: "done", StartedAt: at},
		},
	} {
		text := encode(r)
		testenv.Golden(t, filepath.Join("testdata", name), string(text))
		if ours, ok := checked(text); !ours || !ok {
			t.Errorf("%s: the checksum does not hold", name)
		}
		flat, err := snapshot.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if again := encodeFlat(flat); string(again) != string(text) {
			t.Errorf("%s: rewritten from the parsed object it is\n%s", name, again)
		}
		back, err := takeFlat(flat)
		if err != nil {
			t.Fatal(err)
		}
		if again := encode(back); string(again) != string(text) {
			t.Errorf("%s: read and written again it is\n%s", name, again)
		}
	}
}

func TestTakeFlatRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"loop_name": "a", "current_state": "b", "iteration": 1, "started_at": "2026-11-21T08:37:17+00:00", "status": "running"`
	for _, c := range []struct{ add, want string }{
		{``, ""},
		{
			`, "captured": null, "context": null, "retry_counts": null, "messages": null, "pid": null, "prev_result": null`,
			"",
		},
		{`, "rate_limit_retries": {"s2": 2}, "unknown": [1]`, ""},
		{`, "updated_at": ""`, ""},
		{`, "accumulated_ms": 1.5`, ""},
		{`, "iteration": "3"`, `iteration: expected a whole number, found "3"`},
		{`, "iteration": 1.5`, `iteration: expected a whole number, found 1.5`},
		{`, "iteration": 99999999999999999999`, `iteration: expected a whole number, found 99999999999999999999`},
		{`, "status": 7`, `status: expected text, found 7`},
		{`, "status": null`, `there is no "status" in it`},
		{`, "captured": []`, `captured: expected an object, found []`},
		{`, "retry_counts": {"a": "x"}`, `retry_counts: a: expected a whole number, found "x"`},
		{`, "messages": [1]`, `messages: item 1: expected text, found 1`},
		{
			`, "started_at": "yesterday"`,
			`started_at: "yesterday" is not a time such as 2026-11-21T08:37:17.206209+00:00`,
		},
		{`, "accumulated_ms": NaN`, `accumulated_ms: expected milliseconds, found "NaN"`},
		{`, "accumulated_ms": -1`, `accumulated_ms: expected milliseconds, found -1`},
		{`, "seq": -1`, `seq: expected a whole number, found -1`},
		{
			`, "stall_window": [["a"]]`,
			`stall_window: item 1: expected a list of a state, an exit code and a verdict, found ["a"]`,
		},
		{`, "outcome": {"iterations": true}`, `outcome: iterations: expected a whole number, found true`},
		{`, "just_routed": 1`, `just_routed: expected true or false, found 1`},
		{`, "active_sub_loop": "x"`, ""},
		{`, "active_sub_loop": 7, "sub_loop": null`, ""},
		{`, "sub_loop": {"name": "x", "unknown": 1}`, ""},
		{
			`, "sub_loop": {"name": "x", "memory": {"loop_name": "a", "current_state": "b", "iteration": 0, "started_at": ""}}`,
			"",
		},
		{`, "sub_loop": "x"`, `sub_loop: expected an object, found "x"`},
		{`, "sub_loop": {"memory": []}`, `sub_loop: memory: expected an object, found []`},
		{
			`, "sub_loop": {"memory": {"loop_name": "a", "current_state": "b", "started_at": ""}}`,
			`sub_loop: memory: there is no "iteration" in it`,
		},
		{
			`, "sub_loop": {"memory": {"loop_name": "a", "current_state": "b", "iteration": 0, "started_at": "", "messages": 1}}`,
			`sub_loop: memory: messages: expected a list, found 1`,
		},
		{
			`, "sub_loop": {"log": [1], "memory": {"loop_name": "a", "current_state": "b", "iteration": 0, "started_at": ""}}`,
			`sub_loop: log: item 1: expected text, found 1`,
		},
		{`, "cumulative_mb": "1"`, `cumulative_mb: expected a number, found "1"`},
	} {
		flat, err := snapshot.Parse([]byte(good + c.add + "}"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := takeFlat(flat); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.add, got, c.want)
		}
	}
}

// Sub-loops are read as deep as the machine nests them, and no deeper.
func TestTakeFlatDepth(t *testing.T) {
	t.Parallel()
	const level = `{"loop_name": "a", "current_state": "b", "iteration": 1, "started_at": "", "status": "running", "sub_loop": {"memory": `
	for _, n := range []int{fsm.MaxDepth, fsm.MaxDepth + 1, 400} {
		flat, err := snapshot.Parse(
			[]byte(strings.Repeat(level, n) + strings.TrimSuffix(level, `, "sub_loop": {"memory": `) + "}" +
				strings.Repeat("}}", n)))
		if err != nil {
			t.Fatal(err)
		}
		got, want := "", ""
		r, err := takeFlat(flat)
		if err != nil {
			got = err.Error()
		}
		if n > fsm.MaxDepth {
			want = strings.Repeat("sub_loop: memory: ", fsm.MaxDepth) + "sub_loop: sub-loops are nested deeper than 32"
		}
		depth := 0
		for s := &r.Snapshot; s.Child != nil; s = s.Child.Memory {
			depth++
		}
		if got != want || depth != fsm.MaxDepth {
			t.Errorf("%d levels: %d are read: %q, want %q", n, depth, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ loop, id string }{
		{"fix", "fix-20261121T083717"},
		{"a-b", "a-b-20261121T083717"},
		{"sub/n", "sub%2Fn-20261121T083717"},
		{"50%", "50%25-20261121T083717"},
		{".x", "%2Ex-20261121T083717"},
		{"x.y", "x.y-20261121T083717"},
		{"a\x00b", "a%00b-20261121T083717"},
		{"%2F", "%252F-20261121T083717"},
		{"x-20261121T083717", "x-20261121T083717-20261121T083717"},
	} {
		id := persistence.MakeID(c.loop, at)
		if string(id) != c.id {
			t.Errorf("%q: %s, want %s", c.loop, id, c.id)
		}
		if loop, when, ok := persistence.SplitID(id); !ok || loop != c.loop || !when.Equal(at.Truncate(time.Second)) {
			t.Errorf("%s: %q, %v, %v", id, loop, when, ok)
		}
		name := folderName(persistence.MakeRunID(at), c.loop)
		if run, loop, ok := splitFolder(name); !ok || loop != c.loop || run != "2026-11-21T083717" {
			t.Errorf("%s: %q, %q, %v", name, run, loop, ok)
		}
	}
	for _, s := range []string{
		"fix", "fix-2026112T083717", "fix-20261121T08371x", "fix-20261341T083717",
		"-20261121T083717", "fix-20261121-083717", "",
	} {
		if _, _, ok := persistence.SplitID(persistence.ID(s)); ok {
			t.Errorf("%q was taken for a stamped name", s)
		}
	}
	for _, s := range []string{
		"fix", "2026-11-21T083717", "2026-11-21T083717-", "2026-11-21 083717-x",
		"2026-11-2T1083717-x", ".2026-11-21T083717-x.tmp",
	} {
		if _, _, ok := splitFolder(s); ok {
			t.Errorf("%q was taken for an archive folder", s)
		}
	}
}

// TestCaptureIsTheBeginningOfTheOutput holds that a large output that a state captures, which is the one of
// prev_result without its last line end, is stored once.
func TestCaptureIsTheBeginningOfTheOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := &blobs{d: &Store{}, dir: dir}
	e := snapshot.NewWriter(b)
	output := strings.Repeat("x", snapshot.LargeFrom+1) + "\n\n"
	captured := strings.TrimRight(output, "\n")
	e.Memory(&fsm.Snapshot{
		PrevResult: value.NewMap("output", output, "exit_code", 0),
		Captured:   value.NewMap("big", value.NewMap("output", captured, "exit_code", 0)),
	})
	names, err := disk.Names(dir)
	if err != nil || len(names) != 1 || e.Err != nil {
		t.Fatalf("%v, %v, %v", names, err, e.Err)
	}
	text := fmt.Sprintf(`{"$blob": %q, "bytes": %%d}`, names[0])
	for _, n := range []int{len(output), len(captured)} {
		if want := fmt.Sprintf(text, n); !strings.Contains(string(e.Buf), want) {
			t.Errorf("no %s in %.500s", want, e.Buf)
		}
		ref := value.NewMap("$blob", names[0], "bytes", int64(n))
		if got, err := b.fill(ref); err != nil || got != output[:n] {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for _, n := range []int64{int64(len(output)) + 1, -1} {
		if got, err := b.fill(value.NewMap("$blob", names[0], "bytes", n)); err == nil && n > 0 {
			t.Errorf("%d bytes of a text that has %d: %.20v", n, len(output), got)
		}
	}
}

func TestBlobsAreStoredOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := snapshot.NewWriter(&blobs{d: &Store{}, dir: dir})
	big := strings.Repeat("x", snapshot.LargeFrom+1)
	for range 3 {
		e.Value(value.NewMap("a", big, "b", []any{strings.Clone(big)}, "c", big[1:]))
	}
	names, err := disk.Names(dir)
	if err != nil || len(names) != 1 || e.Err != nil {
		t.Fatalf("%v, %v, %v", names, err, e.Err)
	}
	if want := fmt.Sprintf(`{"$blob": %q, "bytes": %d}`, names[0], len(big)); !strings.Contains(string(e.Buf), want) {
		t.Errorf("%.300s", e.Buf)
	}
}
