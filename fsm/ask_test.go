package fsm

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"loops/fsm/value"
)

// What comes of asking becomes an answer, a verdict error with the details of its kind, or an exception.
func TestJudgement(t *testing.T) {
	t.Parallel()
	answer := value.NewMap("verdict", "yes")
	for name, tc := range map[string]struct {
		res  Result
		want string
	}{
		"an answer": {Result{Reply: &Reply{Host: "h", Answer: answer}}, "{'verdict': 'yes'}"},
		"in time, then cut": {
			Result{ExitCode: 124, TimeoutKind: "wall", Reply: &Reply{Host: "h", Answer: answer}},
			"{'error': 'the judge (h) did not answer in time', 'timeout': True}",
		},
		"timeout of the host": {
			Result{ExitCode: 1, Reply: &Reply{Host: "h", Failure: FailTimeout}},
			"{'error': 'the judge (h) did not answer in time', 'timeout': True, 'failure': 'timeout'}",
		},
		"no host": {
			Result{ExitCode: 1, Reply: &Reply{Failure: FailMissing, Reason: "no agent host was found"}},
			"{'error': 'the judge cannot be asked: no agent host was found', 'missing_dependency': True, 'failure': " +
				"'host_missing'}",
		},
		"no reply": {
			Result{ExitCode: 1, Stderr: "boom\n"},
			"{'error': 'the judge failed: boom', 'api_error': True}",
		},
		"nothing at all": {
			Result{ExitCode: 9},
			"{'error': 'the judge failed: exit code 9', 'api_error': True}",
		},
		"answered and failed": {
			Result{ExitCode: 4, Reply: &Reply{Host: "h", Answer: answer}},
			"{'error': 'the judge (h) failed: exit code 4', 'api_error': True}",
		},
		"busy": {
			Result{ExitCode: 1, Reply: &Reply{Host: "h", Failure: FailRateLimited, Reason: "429"}},
			"{'error': 'the judge (h) failed: 429', 'api_error': True, 'failure': 'rate_limited'}",
		},
		"printed nothing": {
			Result{ExitCode: 1, Reply: &Reply{Host: "h", Failure: FailTruncated, Raw: " \n", Reason: "cut"}},
			"{'error': 'the judge (h) printed nothing: cut', 'empty_output': True, 'failure': 'truncated'}",
		},
		"printed nothing, code": {
			Result{ExitCode: 3, Reply: &Reply{Host: "h", Failure: FailTruncated, Reason: "cut"}},
			"{'error': 'the judge (h) failed: cut', 'api_error': True, 'failure': 'truncated'}",
		},
		"prose": {
			Result{
				ExitCode: 1,
				Reply:    &Reply{Host: "h", Failure: FailSchema, Raw: strings.Repeat("é", 301), Reason: "no JSON"},
			},
			"{'error': 'the judge (h) answered what is no verdict: no JSON', 'raw_preview': '" +
				strings.Repeat("é", 300) + "', 'failure': 'schema'}",
		},
		"a verdict, bare": {
			Result{ExitCode: 1, Reply: &Reply{Failure: FailSchema, Raw: `{"verdict": "no"}`}},
			"{'verdict': 'no'}",
		},
		"the same after noise": {
			Result{ExitCode: 1, Reply: &Reply{Failure: FailTruncated, Raw: "warning\n{\"verdict\": \"no\"}\n \n"}},
			"{'verdict': 'no'}",
		},
		"a verdict not allowed": {
			Result{
				ExitCode: 1,
				Reply: &Reply{
					Host: "h", Failure: FailSchema, Answer: answer, Reason: "score is missing",
					Raw: `{"verdict": "yes"}`,
				},
			},
			`{'error': 'the judge (h) gave no answer that can be used: score is missing', 'raw_preview': '{"verdict": "yes"}', 'failure': 'schema'}`,
		},
		"an envelope, no answer": {
			Result{
				ExitCode: 1,
				Reply:    &Reply{Host: "h", Failure: FailSchema, Raw: `{"result": ""}`, Reason: "it was empty"},
			},
			`{'error': 'the judge (h) gave no answer that can be used: it was empty', 'raw_preview': '{"result": ""}', 'failure': 'schema'}`,
		},
		"too many tries": {
			Result{
				ExitCode: 1,
				Reply: &Reply{
					Host: "h", Failure: FailSchema,
					Raw: `{"subtype": "error_max_structured_output_retries"}`, Reason: "gave up",
				},
			},
			"{'error': 'the judge (h) failed: gave up', 'api_error': True, 'failure': 'schema'}",
		},
		"silent success": {
			Result{Reply: &Reply{Host: "h", Raw: "{}"}},
			"{'error': 'the judge (h) gave an empty answer', 'raw_preview': '{}'}",
		},
		"a list": {
			Result{Reply: &Reply{Host: "h", Answer: []any{int64(1)}}},
			"exception: the judge (h) answered with [1], and not with an object",
		},
		"a list, bare": {
			Result{ExitCode: 1, Reply: &Reply{Failure: FailSchema, Raw: "[1]"}},
			"exception: the judge printed [1], and not an object",
		},
	} {
		payload, failed, err := judgement(&tc.res)
		got := value.Repr(payload)
		odd := &oddAnswer{}
		switch {
		case errors.As(err, &odd):
			got = "exception: " + odd.text
		case failed != nil:
			got = value.Repr(failed.Details)
			if failed.Name != "error" {
				t.Errorf("%s: verdict %s", name, failed.Name)
			}
		}
		if got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tc.want)
		}
	}
}

// An answer becomes a verdict in the order that docs/decisions.md gives.
func TestStructuredVerdict(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, answer string
		set          func(*structured)
		want         string // verdict, and what of the details is not as the answer says
	}{
		{"yes", `{"verdict": "yes", "confidence": 0.9, "evidence": "b  c"}`, nil, "yes sure found"},
		{"nothing", `{}`, nil, "error sure"},
		{"null verdict", `{"verdict": null}`, nil, "error sure"},
		{"at the limit", `{"verdict": "yes", "confidence": 0.5, "evidence": "a"}`, nil, "yes sure found"},
		{"unsure changes nothing", `{"verdict": "yes", "confidence": 0.1, "evidence": "a"}`, nil, "yes unsure found"},
		{
			"unsure, told", `{"verdict": "no", "confidence": 0.1, "evidence": "a"}`, uncertain,
			"no_uncertain unsure found",
		},
		{
			"unsure abstention", `{"verdict": "cannot_judge", "confidence": 0.1, "evidence": ""}`, uncertain,
			"cannot_judge_uncertain unsure",
		},
		{"confidence as text", `{"verdict": "no", "confidence": " 0.75 ", "evidence": "a"}`, nil, "no sure found"},
		{"confidence as truth", `{"verdict": "no", "confidence": false, "evidence": "a"}`, nil, "no unsure found"},
		{
			"confidence null", `{"verdict": "no", "confidence": null}`, nil,
			"exception: the judge's confidence is None, which is not a number",
		},
		{
			"confidence list", `{"verdict": "no", "confidence": []}`, nil,
			"exception: the judge's confidence is [], which is not a number",
		},
		{"unknown verdict", `{"verdict": "YES", "confidence": 1, "evidence": "a"}`, nil, "error invalid"},
		{"no evidence", `{"verdict": "blocked"}`, nil, "no sure coerced"},
		{
			"blank evidence, unsure", `{"verdict": "yes", "confidence": 0, "evidence": " \n"}`, uncertain,
			"no_uncertain unsure coerced",
		},
		{"evidence null", `{"verdict": "partial", "evidence": null}`, nil, "no sure coerced"},
		{"error needs none", `{"verdict": "error"}`, nil, "error sure"},
		{"made up", `{"verdict": "yes", "evidence": "z"}`, nil, "yes sure made-up"},
		{"made up, enforced", `{"verdict": "yes", "evidence": "z"}`, verbatim, "cannot_judge sure made-up was:yes"},
		{
			"made up abstention", `{"verdict": "cannot_judge", "evidence": "z"}`, verbatim,
			"cannot_judge sure made-up was:cannot_judge",
		},
		{"quoted", `{"verdict": "yes", "evidence": "“a\nb”"}`, verbatim, "yes sure found"},
		{"marks that are there", `{"verdict": "yes", "evidence": "'c'"}`, verbatim, "yes sure found"},
		{"only marks", `{"verdict": "yes", "evidence": "\"\""}`, verbatim, "cannot_judge sure made-up was:yes"},
		{"own schema", `{"verdict": "ship it"}`, own, "ship it sure"},
		{
			"own schema, enforced", `{"verdict": "ship it"}`, func(s *structured) { own(s); verbatim(s) },
			"cannot_judge sure was:ship it",
		},
		{"own schema, number", `{"verdict": 3, "evidence": "a"}`, own, "3 sure found"},
	} {
		cfg := DefaultEvaluate("llm_structured")
		s := structured{cfg: &cfg, output: "a b\n c 'c'\n"}
		if tc.set != nil {
			tc.set(&s)
		}
		payload, err := value.ParseJSON([]byte(tc.answer))
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.verdict(payload.(*value.Map))
		got := v.Name
		if err != nil {
			got = "exception: " + err.Error()
		} else {
			d := v.Details
			for _, word := range []struct {
				key  string
				is   any
				word string
			}{
				{"invalid_verdict", true, "invalid"},
				{"confident", true, "sure"},
				{"confident", false, "unsure"},
				{"evidence_coerced", true, "coerced"},
				{"evidence_found", true, "found"},
				{"evidence_found", false, "made-up"},
			} {
				if v, ok := d.Get(word.key); ok && v == word.is {
					got += " " + word.word
				}
			}
			if was, ok := d.Get("verdict_without_evidence"); ok {
				got += " was:" + value.Text(was)
			}
			if raw, ok := d.Get("raw"); ok && raw != payload {
				t.Errorf("%s: raw is %s", tc.name, value.Repr(raw))
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func uncertain(s *structured) { s.cfg.Uncertain = true }
func verbatim(s *structured)  { s.cfg.Verbatim = true }
func own(s *structured)       { s.own = true }

// noRecords forgets.
type noRecords struct{ checkpoints int }

func (r *noRecords) Record(_ context.Context, b *Batch) error {
	if b.Checkpoint {
		r.checkpoints++
	}
	return nil
}

// answers is a Runner that keeps what it was asked.
type answers struct {
	asked []Action
	saved func() int
	at    []int
}

func (r *answers) Run(_ context.Context, a Action, _ func(string)) (Result, error) {
	r.asked, r.at = append(r.asked, a), append(r.at, r.saved())
	cost := 0.5
	return Result{Stdout: "{}", Duration: time.Second, Reply: &Reply{
		Host: "qwen", Model: "m1", Session: "s", Complete: true,
		Answer: value.NewMap("verdict", "yes", "evidence", "out"), Raw: "raw",
		Usage: Usage{1, 2, 3, 4}, Coverage: CoverageComplete, Cost: &cost,
	}}, nil
}

// A question says who is asked, is durable before it is asked, and has a marker of its own.
func TestAsking(t *testing.T) {
	t.Parallel()
	rec := &noRecords{}
	run := &answers{saved: func() int { return rec.checkpoints }}
	cfg := DefaultEvaluate("llm_structured")
	cfg.Votes, cfg.Quorum, cfg.Timeout = 3, 3, 7*time.Second
	st := &State{Name: "s", Model: "of state", Evaluate: &cfg}
	e := Start(Config{
		Loop: &Loop{
			Name: "l", States: map[string]*State{"s": st},
			LLM: LLM{Enabled: true, Host: "claude", Model: "of loop", Effort: "low", Timeout: time.Second},
		},
		Dir: "/d",
		World: World{
			Runner: run,
		},
		Journal: Journal{
			Recorder: rec,
		},
	}, value.NewMap(), time.Now())
	e.outer, e.dir = "/4/1", "/w"
	e.mem.Current, e.mem.Phase, e.mem.Step, e.mem.Attempt = "s", PhaseActed, 3, 2
	res := &Result{Stdout: "out"}
	e.mem.Result = res
	evaluate := func(st *State, res *Result) (v Verdict, err error) {
		if broken := drive(t.Context(), load(e, func() { v, _, err = e.evaluate(st, res) }), &e.cfg); broken != nil {
			t.Error(broken)
		}
		return v, err
	}
	v, err := evaluate(st, res)
	if err != nil || v.Name != "yes" || len(run.asked) != 3 {
		t.Fatalf("%+v, %v, %d questions", v, err, len(run.asked))
	}
	for i, a := range run.asked {
		if i > 0 && run.at[i] != run.at[i-1]+1 {
			t.Errorf("question %d was asked after %d checkpoints, the one before after %d", i, run.at[i], run.at[i-1])
		}
		if a.Attempt != 3+i || !strings.HasSuffix(a.Text, "<action_output>\nout\n</action_output>\n") {
			t.Errorf("question %d: attempt %d, %q", i, a.Attempt, a.Text)
		}
		a.Text = ""
		want := Action{
			Kind: KindJudge, State: "s", Step: 3, Attempt: 3 + i, Outer: "/4/1", Dir: "/w", Timeout: 7 * time.Second,
			Quiet: true,
			Host:  "claude", Model: "of state", Effort: "low", Schema: verdictSchema,
		}
		if !reflect.DeepEqual(a, want) {
			t.Errorf("question %d: %+v, want %+v", i, a, want)
		}
	}
	if m := e.mem; len(m.Answers) != 3 || m.Asking || m.Answers[2].Result.Stdout != "" || m.Spent.Prompts != 3 ||
		m.Spent.CostUSD != 1.5 {
		t.Errorf("remembered: %d answers, asking %v, spent %+v", len(m.Answers), m.Asking, m.Spent)
	}
	judges, _ := e.batch.Events[len(e.batch.Events)-1].Get("judges").([]any)
	want := "{'evaluator': 'llm_structured', 'duration_ms': 1000, 'host': 'qwen', 'model': 'm1', 'session_id': 's', " +
		"'input_tokens': 1, 'output_tokens': 2, " +
		"'cache_read_tokens': 3, 'cache_creation_tokens': 4, 'coverage': 'complete', 'cost_usd': 0.5, 'verdict': 'yes'}"
	if len(judges) != 3 || value.Repr(judges[2]) != want {
		t.Errorf("the event tells of %s", value.Repr(judges))
	}

	// The same again is not asked again; something else is.
	if _, err := evaluate(st, res); err != nil || len(run.asked) != 3 {
		t.Errorf("after a crash: %d questions, %v", len(run.asked), err)
	}
	if _, err := evaluate(st, &Result{Stdout: "other out"}); err != nil || len(run.asked) != 6 ||
		len(e.mem.Answers) != 3 {
		t.Errorf("another output: %d questions, %v, %d answers", len(run.asked), err, len(e.mem.Answers))
	}

	// What names no model leaves it to the host, an evaluate block wins, and the default judge has the loop's timeout.
	cfg.Model, cfg.Host, cfg.Effort, cfg.Votes, cfg.Schema = "of block", "codex", "high", 1,
		value.NewMap("type", "object")
	if _, err := evaluate(st, res); err != nil {
		t.Fatal(err)
	}
	a := run.asked[len(run.asked)-1]
	if a.Model != "of block" || a.Host != "codex" || a.Effort != "high" || !a.Strict ||
		a.Schema != `{"type": "object"}` {
		t.Errorf("of a block: %+v", a)
	}
	plain := &State{Name: "s", Action: "a", ActionType: "prompt", Host: "of state"}
	e.cfg.Loop.LLM.Model = ""
	if _, err := evaluate(plain, res); err != nil {
		t.Fatal(err)
	}
	if a = run.asked[len(run.asked)-1]; a.Model != "" || a.Host != "of state" || a.Timeout != time.Second || a.Strict {
		t.Errorf("by default: %+v", a)
	}
}

// Which of two texts is A is not always the same, and always the same for the same round of the same step.
func TestCoin(t *testing.T) {
	t.Parallel()
	seen := map[bool]int{}
	for step := range 100 {
		q := &asker{e: &Executor{startAt: "2026-11-21T08:37:17.206209+00:00", mem: &Snapshot{Step: step}}}
		first := q.coin(0)
		seen[first]++
		if q.coin(0) != first {
			t.Fatal("it changes")
		}
	}
	if seen[true] < 25 || seen[false] < 25 {
		t.Errorf("%v", seen)
	}
}

// The texts of the questions.
func TestQuestionTexts(t *testing.T) {
	t.Parallel()
	if text := modelText("Is it?\n", false, true, "x\n"); !strings.HasPrefix(text,
		"Is it?\n\n"+evidenceRules+"\n\n"+outputIsData+"\n\nThe output is longer") ||
		!strings.HasSuffix(text, "\n\n<action_output>\nx\n</action_output>\n") {
		t.Error(text)
	}
	if text := modelText("", true, false, "x"); text != askSuccess+"\n\n"+outputIsData+
		"\n\n<action_output>\nx\n</action_output>\n" {
		t.Error(text)
	}
	if text := compareText("Which?", "1", "2"); !strings.HasPrefix(text, "Which?\n\n") ||
		!strings.HasSuffix(text, "<output_a>\n1\n</output_a>\n\n<output_b>\n2\n</output_b>\n") {
		t.Error(text)
	}
	text := contractText(Pair{
		Producer: "p", Consumer: "c", ProducerText: "1", ConsumerText: "2",
		Contract: "the names",
	})
	if !strings.Contains(text, "agree on:\n\nthe names\n\n") ||
		!strings.HasSuffix(text, "The producer is p, the consumer c.\n\n<producer>\n1\n</producer>\n\n<consumer>\n"+
			"2\n</consumer>\n") {
		t.Error(text)
	}
	for _, schema := range []string{verdictSchema, compareSchema, contractSchema} {
		if v, err := value.ParseJSON([]byte(schema)); err != nil {
			t.Error(err)
		} else if m := v.(*value.Map); fmt.Sprint(len(m.Value("required").([]any))) !=
			fmt.Sprint(m.Value("properties").(*value.Map).Len()) {
			t.Errorf("some hosts want every property required: %s", schema)
		}
	}
}
