package inspect

import (
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
)

// Which rule led from a visit to the next state, by the definition.
func TestRule(t *testing.T) {
	t.Parallel()
	table := &fsm.Route{Table: value.NewMap("yes", "y", "no", "n"), Default: "d", Error: "e"}
	ended := func(by string, failure bool) *fsm.Event {
		return &fsm.Event{
			Kind: "loop_complete",
			Fields: []fsm.Field{
				{Key: "final_state", Value: "z"},
				{Key: "terminated_by", Value: by},
				{Key: "failure_terminal", Value: failure},
			},
		}
	}
	for _, c := range []struct {
		name    string
		st      fsm.State
		code    int
		verdict string // "" = not judged
		to      string
		ended   *fsm.Event
		want    string
	}{
		{"on_yes", fsm.State{On: map[string]string{"yes": "y"}}, 0, "yes", "y", nil, "on_yes"},
		{
			"no on_no",
			fsm.State{On: map[string]string{"error": "e"}},
			1, "no", "e", nil,
			"on_error, because there is no on_no",
		},
		{"custom verdict", fsm.State{On: map[string]string{"maybe": "m"}}, 0, "maybe", "m", nil, "on_maybe"},
		{"current", fsm.State{On: map[string]string{"no": fsm.Current}}, 1, "no", "s", nil, "on_no"},
		{
			"template",
			fsm.State{On: map[string]string{"no": "${context.next}"}},
			1, "no", "q", nil,
			"on_no, and ${context.next} came to that",
		},
		{"next", fsm.State{Next: "n"}, 0, "", "n", nil, "next"},
		{
			"next that failed",
			fsm.State{Next: "n", On: map[string]string{"error": "e"}},
			1, "", "e", nil,
			"on_error, because its action failed",
		},
		{
			"not retryable",
			fsm.State{
				Next: "n", On: map[string]string{"error": "e"}, RetryableExitCodes: []int{1},
				OnRetryExhausted: "r",
			},
			2, "", "r", nil,
			"on_retry_exhausted, because exit code 2 is not in retryable_exit_codes",
		},
		{"table", fsm.State{Route: table}, 1, "no", "n", nil, "route.no"},
		{"table error", fsm.State{Route: table}, 2, "error", "e", nil, "route._error"},
		{"table default", fsm.State{Route: table}, 0, "odd", "d", nil, "route._, because route has no odd"},
		{
			"nothing judged",
			fsm.State{On: map[string]string{"yes": "y"}},
			0, "", "y", nil,
			"on_yes, because there was nothing to judge",
		},
		{
			"abstained",
			fsm.State{On: map[string]string{"yes": "y"}},
			0, "cannot_judge", "s", nil,
			"the judge abstained, so it is asked again",
		},
		{
			"abstained too often",
			fsm.State{On: map[string]string{"error": "e"}},
			0, "cannot_judge", "e", nil,
			"on_error, because the judge abstained too often",
		},
		{
			"edited since",
			fsm.State{On: map[string]string{"yes": "other"}},
			0, "yes", "y", nil,
			"the definition that was found says otherwise, so it is not the one that the run used",
		},
		{
			"sub-loop",
			fsm.State{Loop: "child", On: map[string]string{"yes": "y", "no": "n"}},
			0, "", "y",
			ended(fsm.EndTerminal, false), "on_yes, because its sub-loop ended in z [terminal]",
		},
		{
			"sub-loop failed",
			fsm.State{Loop: "child", On: map[string]string{"yes": "y", "no": "n"}},
			0, "", "n",
			ended(fsm.EndTerminal, true), "on_no, because its sub-loop ended in z [terminal]",
		},
		{
			"sub-loop timeout",
			fsm.State{Loop: "child", Route: table},
			0, "", "d", ended(fsm.EndTimeout, false),
			"route._, because its sub-loop ended in z [timeout]",
		},
		{
			"sub-loop next",
			fsm.State{Loop: "child", Next: "n", On: map[string]string{"error": "e"}},
			0, "", "e",
			ended(fsm.EndError, false), "on_error, because its sub-loop ended in z [error]",
		},
	} {
		c.st.Name = "s"
		v := visit("s", c.code, c.verdict, c.to)
		v.Ended = c.ended
		if c.verdict == "" {
			v.Events = append(v.Events[:1], v.Events[2])
		}
		if c.ended != nil {
			v.Events = v.Events[1:]
		}
		l := &fsm.Loop{States: map[string]*fsm.State{"s": &c.st}}
		said := Explain(v, l)
		got := said[len(said)-1].Text
		_, got, _ = strings.Cut(strings.TrimSuffix(got, "."), ": ")
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A prompt whose host fails leads on by other rules than its verdict: that is no other definition.
func TestRuleOfAPromptThatFailed(t *testing.T) {
	t.Parallel()
	failed := fsm.Event{
		Kind: fsm.EventActionComplete, Seq: 3,
		Fields: []fsm.Field{{Key: "exit_code", Value: int64(1)}, {Key: "is_prompt", Value: true}},
	}
	no := fsm.Event{
		Kind: fsm.EventEvaluate, Seq: 4,
		Fields: []fsm.Field{
			{Key: "type", Value: "exit_code"},
			{Key: "verdict", Value: "no"},
			{Key: "exit_code", Value: int64(1)},
		},
	}
	wait := fsm.Event{Kind: fsm.EventNote, Seq: 5, Fields: []fsm.Field{{Key: "wait", Value: fsm.WaitRateLimit}}}
	noTree := fsm.Event{Kind: fsm.EventWorktreeError, Seq: 3}
	on := map[string]string{"yes": "y", "no": "n", "error": "e"}
	for _, c := range []struct {
		name, to, want string
		st             fsm.State
		events         []fsm.Event
	}{
		{"failed for good", "e", "on_error, because its prompt failed", fsm.State{On: on}, []fsm.Event{failed, no}},
		{
			"rate-limited", "s", "to try its prompt again when the host may be asked",
			fsm.State{On: on},
			[]fsm.Event{failed, no, wait},
		},
		{
			"no work tree", "e", "on_error, because there was no work tree for its sub-loop",
			fsm.State{Loop: "child", On: on},
			[]fsm.Event{noTree},
		},
	} {
		v := Alone(c.events...)
		v.State = "s"
		v.add(fsm.Event{
			Kind: fsm.EventRoute, Seq: 9,
			Fields: []fsm.Field{{Key: "from", Value: "s"}, {Key: "to", Value: c.to}},
		}, true)
		said := Way(v, &fsm.Loop{States: map[string]*fsm.State{"s": &c.st}})
		if len(said) != 1 || !strings.HasSuffix(said[0].Text, ": "+c.want+".") {
			t.Errorf("%s: %v, want %s", c.name, said, c.want)
		}
	}
}

// Thresholds that are in no event come from the definition.
func TestThresholds(t *testing.T) {
	t.Parallel()
	cfg := fsm.DefaultEvaluate("llm_structured")
	l := &fsm.Loop{States: map[string]*fsm.State{"s": {Name: "s", Evaluate: &cfg, MaxRetries: 2}}, MaxSteps: 7}
	v := &Visit{State: "s", Events: []fsm.Event{
		{Kind: "evaluate", Fields: []fsm.Field{
			{Key: "type", Value: "llm_structured"},
			{Key: "verdict", Value: "no"},
			{Key: "confidence", Value: 0.4},
		}},
		{Kind: "retry_exhausted", Fields: []fsm.Field{
			{Key: "state", Value: "s"},
			{Key: "retries", Value: int64(3)},
			{Key: "next", Value: "t"},
		}},
	}}
	var text []string
	for _, s := range Explain(v, l) {
		text = append(text, s.Text)
	}
	text = append(text,
		Ending(fsm.Event{
			Fields: []fsm.Field{{Key: "final_state", Value: "s"}, {Key: "terminated_by", Value: fsm.EndMaxSteps}},
		}, l).Text)
	want := "llm_structured said no: the judge's confidence is 0.4, min_confidence is 0.5.\n" +
		"s was about to be entered again after 3 times in a row (max_retries is 2): on_retry_exhausted led to t.\n" +
		"It ended in s because the cap on steps was reached (max_steps is 7)."
	if got := strings.Join(text, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
