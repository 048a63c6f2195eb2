package loopfile

import (
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

func mustParse(t *testing.T, text string) *fsm.Loop {
	t.Helper()
	loop, problems := Parse("x.yaml", []byte(text), nil)
	if loop == nil {
		t.Fatal(Render(problems, func(string) []byte { return []byte(text) }, false))
	}
	return loop
}

// TestLoop says what a loop holds after some text was read: top is put above, work into the state work.
func TestLoop(t *testing.T) {
	t.Parallel()
	work := func(get func(*fsm.State) any) func(*fsm.Loop) any {
		return func(l *fsm.Loop) any { return get(l.States["work"]) }
	}
	ctx := func(l *fsm.Loop) any { v, _ := l.Context.Get("v"); return v }
	evaluate := func(get func(*fsm.Evaluate) any) func(*fsm.Loop) any {
		return work(func(s *fsm.State) any { return get(s.Evaluate) })
	}
	tests := []struct {
		name, top, work string
		get             func(*fsm.Loop) any
		want            any
	}{
		{"step cap", "", "", func(l *fsm.Loop) any { return l.MaxSteps }, 50},
		{"step cap set", "max_steps: 7", "", func(l *fsm.Loop) any { return l.MaxSteps }, 7},
		{"whole float", "max_steps: 7.0", "", func(l *fsm.Loop) any { return l.MaxSteps }, 7},
		{"grouped digits", "max_steps: 1_000", "", func(l *fsm.Loop) any { return l.MaxSteps }, 1000},
		{
			"legacy cap", "max_iterations: 9", "", func(l *fsm.Loop) any { return [2]int{l.MaxSteps, l.MaxIterations} },
			[2]int{9, 0},
		},
		{"both caps", "max_iterations: 9\nmax_steps: 3", "", func(l *fsm.Loop) any {
			return [2]int{l.MaxSteps, l.MaxIterations}
		}, [2]int{3, 9}},
		{"null step cap", "max_iterations: 9\nmax_steps: ~", "", func(l *fsm.Loop) any {
			return [2]int{l.MaxSteps, l.MaxIterations}
		}, [2]int{9, 0}},
		{"edge cap", "", "", func(l *fsm.Loop) any { return l.MaxEdgeRevisits }, 100},
		{"backoff", "backoff: 0.25", "", func(l *fsm.Loop) any { return l.Backoff }, 250 * time.Millisecond},
		{"handoff", "", "", func(l *fsm.Loop) any { return l.OnHandoff }, "pause"},
		{"input key", "", "", func(l *fsm.Loop) any { return l.InputKey }, "input"},
		{"null context", "context:", "", func(l *fsm.Loop) any { return l.Context.Len() }, 0},
		{"judge", "", "", func(l *fsm.Loop) any { return l.LLM }, fsm.LLM{Enabled: true, Timeout: 1800 * time.Second}},
		{
			"judge set", "llm: {enabled: off, timeout: 2.5, host: qwen, model: m, effort: low}", "",
			func(l *fsm.Loop) any { return l.LLM },
			fsm.LLM{Host: "qwen", Model: "m", Effort: "low", Timeout: 2500 * time.Millisecond},
		},
		{
			"no stall detector", "circuit: {repeated_failure: ~}", "", func(l *fsm.Loop) any { return l.Stall == nil },
			true,
		},
		{
			"stall detector", "circuit: {repeated_failure: {}}", "", func(l *fsm.Loop) any { return *l.Stall },
			fsm.Stall{Window: 3, OnRepeated: "abort"},
		},
		{
			"host guard", "", "", func(l *fsm.Loop) any { return l.HostGuard },
			fsm.HostGuard{
				Enabled: true, Cooldown: 500 * time.Millisecond, WarnPct: 75, CriticalPct: 85,
				OnPressure: "cool_down", OnBudgetExceeded: "route",
			},
		},
		{
			"prompt size", "", "", func(l *fsm.Loop) any { return l.PromptSizeGuard },
			fsm.PromptSizeGuard{Enabled: true, WarnChars: 50000},
		},
		{"end of a work tree", "worktree: merge", "", func(l *fsm.Loop) any { return l.Worktree }, "merge"},
		{"no end of a work tree", "", "", func(l *fsm.Loop) any { return l.Worktree }, ""},
		{"bad visibility", "visibility: secret", "", func(l *fsm.Loop) any { return l.Visibility }, "public"},
		{
			"flags", "shell_pid_ok: true\nbash_default_ok: no", "", func(l *fsm.Loop) any { return l.SuppressFlags },
			map[string]bool{"shell_pid_ok": true},
		},
		{"order", "", "", func(l *fsm.Loop) any { return l.Order }, []string{"work", "failed", "yes", "fine"}},
		{"position", "", "", func(l *fsm.Loop) any { return l.States["failed"].Pos.String() }, "x.yaml:8:3"},
		{
			"throttle of the loop", "throttle: {hard_max: 20}", "", func(l *fsm.Loop) any { return *l.Throttle },
			fsm.Throttle{Normal: 3, Warn: 8, Hard: 20},
		},

		{"unquoted yes in the context", "context: {v: yes}", "", ctx, true},
		{"quoted yes", "context: {v: 'yes'}", "", ctx, "yes"},
		{"Off", "context: {v: Off}", "", ctx, false},
		{"oFF", "context: {v: oFF}", "", ctx, "oFF"},
		{"int", "context: {v: -3}", "", ctx, int64(-3)},
		{"hexadecimal", "context: {v: 0x1F}", "", ctx, int64(31)},
		{"float", "context: {v: 1.0}", "", ctx, 1.0},
		{"octal", "context: {v: 010}", "", ctx, int64(8)},
		{"digits with a zero in front", "context: {v: [08, 0912]}", "", ctx, []any{"08", "0912"}},
		{"large int", "context: {v: 123456789012345678901234567890}", "", func(l *fsm.Loop) any {
			v, _ := l.Context.Get("v")
			return v.(*big.Int).String()
		}, "123456789012345678901234567890"},
		{"date", "context: {v: 2024-01-02}", "", ctx, "2024-01-02"},
		{"date and time", "context: {v: 2024-01-02 10:00:00}", "", ctx, "2024-01-02 10:00:00"},
		{"null", "context: {v: ~}", "", ctx, nil},
		{"text by tag", "context: {v: !!str 5}", "", ctx, "5"},
		{"list", "context: {v: [1, a, [no]]}", "", ctx, []any{int64(1), "a", []any{false}}},
		{"anchor", "context: {u: &a {x: 1}, v: *a}", "", func(l *fsm.Loop) any {
			x, _ := ctx(l).(*value.Map).Get("x")
			return x
		}, int64(1)},
		{"merge", "context: {u: &a {x: 1, y: 2}, v: {<<: *a, y: 3}}", "", func(l *fsm.Loop) any {
			m := ctx(l).(*value.Map)
			x, _ := m.Get("x")
			y, _ := m.Get("y")
			return []any{x, y}
		}, []any{int64(1), int64(3)}},
		{"key order", "context: {v: {b: 1, a: 2, 3: c}}", "", func(l *fsm.Loop) any {
			return ctx(l).(*value.Map).Keys()
		}, []string{"b", "a", "3"}},

		{
			"alias", "", "on_success: fine", work(func(s *fsm.State) any { return s.On }),
			map[string]string{"yes": "fine"},
		},
		{
			"alias loses", "", "on_success: failed\n    on_yes: fine\n    on_failure: failed",
			work(func(s *fsm.State) any { return s.On }),
			map[string]string{"yes": "fine", "no": "failed"},
		},
		{
			"alias of an empty key", "", "on_yes: ''\n    on_success: fine",
			work(func(s *fsm.State) any { return s.On }),
			map[string]string{"yes": "fine"},
		},
		{
			"custom verdict", "", "on_tie: fine\n    on_timeout: failed", work(func(s *fsm.State) any { return s.On }),
			map[string]string{"tie": "fine", "timeout": "failed"},
		},
		{
			"reserved on_ keys", "", "next: fine\n    on_maintain: work\n    on_throttle_hard: fine",
			work(func(s *fsm.State) any { return len(s.On) }), 0,
		},
		{"unquoted target", "", "next: yes", work(func(s *fsm.State) any { return s.Next }), "yes"},
		{"current", "", "next: $current", work(func(s *fsm.State) any { return s.Next }), "$current"},
		{"template", "", "next: ${context.where}", work(func(s *fsm.State) any { return s.Next }), "${context.where}"},
		{"route", "", "route: {yes: fine, No: failed, _: yes, _error: $current}", work(func(s *fsm.State) any {
			return []any{s.Route.Table.Keys(), s.Route.Default, s.Route.Error}
		}), []any{[]string{"yes", "No"}, "yes", "$current"}},
		{"failure by name", "", "next: fine", func(l *fsm.Loop) any { return l.States["failed"].Failure }, true},
		{
			"no failure by another name", "", "next: fine", func(l *fsm.Loop) any { return l.States["fine"].Failure },
			false,
		},
		{"number as action", "", "action: 42\n    next: fine", work(func(s *fsm.State) any { return s.Action }), "42"},
		{
			"boolean as action", "", "action: true\n    next: fine", work(func(s *fsm.State) any { return s.Action }),
			"true",
		},
		{
			"timeout zero", "", "next: fine\n    timeout: 0", work(func(s *fsm.State) any { return s.Timeout }),
			time.Duration(0),
		},
		{
			"timeout", "", "next: fine\n    timeout: 1.5", work(func(s *fsm.State) any { return s.Timeout }),
			1500 * time.Millisecond,
		},
		{"rate limit", "", "next: fine", work(func(s *fsm.State) any {
			return []any{s.MaxRateLimitRetries, s.RateLimitBackoff, s.RateLimitMaxWait, s.RateLimitLadder}
		}), []any{
			3, 30 * time.Second, 6 * time.Hour,
			[]time.Duration{300 * time.Second, 900 * time.Second, 1800 * time.Second, time.Hour},
		}},
		{"no throttle", "", "next: fine", work(func(s *fsm.State) any { return s.Throttle == nil }), true},
		{
			"throttle", "", "next: fine\n    throttle: {}", work(func(s *fsm.State) any { return *s.Throttle }),
			fsm.Throttle{Normal: 3, Warn: 8, Hard: 12},
		},
		{
			"retryable codes", "", "on_yes: fine\n    on_error: failed\n    retryable_exit_codes: [3, 75]",
			work(func(s *fsm.State) any { return s.RetryableExitCodes }),
			[]int{3, 75},
		},
		{
			"no retryable codes", "", "next: fine", work(func(s *fsm.State) any { return s.RetryableExitCodes == nil }),
			true,
		},
		{
			"params", "", "action: s/t\n    action_type: mcp_tool\n    next: fine\n    params: {b: {c: [1]}}",
			work(func(s *fsm.State) any { return s.Params.Keys() }),
			[]string{"b"},
		},

		{
			"evaluate defaults", "", "on_yes: fine\n    evaluate: {type: exit_code}",
			evaluate(func(e *fsm.Evaluate) any { e.Pos = fsm.Pos{}; return *e }), fsm.DefaultEvaluate("exit_code"),
		},
		{
			"target", "", "on_yes: fine\n    evaluate: {type: output_numeric, operator: lt, target: 5}",
			evaluate(func(e *fsm.Evaluate) any { return []any{e.Operator, e.Target, e.HasTarget} }),
			[]any{"lt", int64(5), true},
		},
		{
			"boolean target", "", "on_yes: fine\n    evaluate: {type: output_json, path: .a, operator: " +
				"eq, target: yes}",
			evaluate(func(e *fsm.Evaluate) any { return e.Target }), true,
		},
		{
			"tolerance", "", "on_yes: fine\n    evaluate: {type: convergence, target: 1.5, tolerance: '${context.t}'}",
			evaluate(func(e *fsm.Evaluate) any { return []any{e.Target, e.Tolerance} }),
			[]any{1.5, "${context.t}"},
		},
		{
			"number as pattern", "", "on_yes: fine\n    evaluate: {type: output_contains, pattern: 404}",
			evaluate(func(e *fsm.Evaluate) any { return e.Pattern }), "404",
		},
		{
			"line", "", "on_yes: fine\n    evaluate: {type: classify, line: -2}",
			evaluate(func(e *fsm.Evaluate) any { return e.Line }), int64(-2),
		},
		{
			"empty source", "", "on_yes: fine\n    evaluate: {type: exit_code, source: ''}",
			evaluate(func(e *fsm.Evaluate) any { return []any{e.Source, e.HasSource, e.HasPrevious} }),
			[]any{"", true, false},
		},
		{
			"pairs at least one", "", "on_yes: fine\n    evaluate: {type: comparator, baseline_path: b, min_pairs: 0}",
			evaluate(func(e *fsm.Evaluate) any { return e.MinPairs }), 1,
		},
		{"range of another type", "", "on_yes: fine\n    evaluate: {type: exit_code, max_stall: 0, " +
			"min_confidence: 7}", evaluate(func(e *fsm.Evaluate) any { return e.MaxStall }), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := tt.work
			if body == "" {
				body = "next: fine"
			}
			top := tt.top
			if top == "" {
				top = "singleton: false"
			}
			text := "name: n\ndescription: d\ninitial: work\n" + top + "\nstates:\n  work:\n    " + body +
				"\n  failed: {terminal: true}\n  yes: {next: fine}\n  fine: {terminal: Yes}\n"
			if got := tt.get(mustParse(t, text)); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s\n%s\ngot %#v, want %#v", tt.top, tt.work, got, tt.want)
			}
		})
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	const text = `name: n
description: d
initial: a
required_inputs: [goal, depth]
input_key: goal
states:
  a:
    action: |
      ${context.ready} ${context.missing.x} ${context.b.c?} ${context.d.e:default=1} $${context.escaped} ${context.quoted:shell}
      ${context.missing} ${captured.x.output?} ${env.HOME}
    next: b
  b:
    action: echo ${context.reday}
    evaluate: {type: llm_structured, prompt: "is ${context.asked} so?", source: "${context.lenient}"}
    on_yes: done
    on_no: done
  done: {terminal: true}
`
	l := mustParse(t, text)
	var got []string
	for _, p := range Preflight(l, value.NewMap("ready", nil, "goal", "", "depth", int64(3))) {
		if p.Severity != fsm.SeverityError {
			t.Errorf("%+v", p)
		}
		got = append(got, p.Pos.String()+": "+p.Path+": "+p.Message)
	}
	want := []string{
		`x.yaml:4:1: required_inputs: the input "goal" is required and not set; give it as INPUT after the name of the loop`,
		`x.yaml:9:24: states.a.action: the state "a" uses ${context.missing.x}, but the context has no "missing"; give it with --context missing=VALUE`,
		`x.yaml:9:106: states.a.action: the state "a" uses ${context.quoted:shell}, but the context has no "quoted"; give it with --context quoted=VALUE`,
		`x.yaml:13:18: states.b.action: the state "b" uses ${context.reday}, but the context has no "reday"; did you mean "ready"?; give it with --context reday=VALUE`,
		`x.yaml:14:50: states.b.evaluate.prompt: the state "b" uses ${context.asked}, but the context has no "asked"; give it with --context asked=VALUE`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p := Preflight(l, value.NewMap("ready", 1, "goal", "g", "depth", 1.5, "missing", "", "quoted", "", "reday",
		false, "asked", "")); len(p) > 0 {
		t.Errorf("with everything given: %+v", p)
	}
}

// What a state gives the context is there for the states after it, but not for its own action.
func TestPreflightOfWhatAStateSets(t *testing.T) {
	t.Parallel()
	const text = `name: n
description: d
initial: a
states:
  a: {action: "echo ${context.own}", set: {own: "1", shared: "2"}, next: b}
  b: {action: "echo ${context.shared} ${context.later} ${context.none}", set: {shared: "3"}, next: c}
  c: {action: "echo ${context.own}", set: {later: "4"}, next: done}
  done: {terminal: true}
`
	var got []string
	for _, p := range Preflight(mustParse(t, text), value.NewMap()) {
		got = append(got, p.Message)
	}
	want := []string{
		`the state "a" uses ${context.own}, but the context has no "own"; give it with --context own=VALUE`,
		`the state "b" uses ${context.none}, but the context has no "none"; give it with --context none=VALUE`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	source := "a\tb: \x1b[2Jx\n" + strings.Repeat("long ", 60) + "!\n"
	problems := []fsm.Problem{
		{Pos: fsm.Pos{File: "f", Line: 2, Col: 301}, Severity: fsm.SeverityWarning, Rule: "late", Message: "far right"},
		{Pos: fsm.Pos{File: "f", Line: 1, Col: 6}, Severity: fsm.SeverityError, Rule: "first", Message: "bell \x07"},
		{
			Pos: fsm.Pos{File: "f", Line: 9, Col: 1}, Severity: fsm.SeverityError, Rule: "beyond",
			Message: "no such line",
		},
		{Severity: fsm.SeverityError, Rule: "nowhere", Message: "no position"},
	}
	got := Render(problems, func(string) []byte { return []byte(source) }, false)
	want := "error: no position [nowhere]\n" +
		"f:1:6: error: bell \ufffd [first]\n    1 | a    b: \ufffd[2Jx\n      |         ^\n" +
		"f:2:301: warning: far right [late]\n    2 | …ong" + strings.Repeat(" long", 11) + " !\n      | " +
		strings.Repeat(" ", 60) + "^\n" +
		"f:9:1: error: no such line [beyond]\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if c := Render(problems[:1], nil, true); !strings.Contains(c, "\x1b[33mwarning:\x1b[0m") {
		t.Errorf("%q", c)
	}
}
