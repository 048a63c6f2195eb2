package inspect_test

import (
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
)

// TestAnswersAreSaid: a question and its answer have the same words whichever tool recorded them.
func TestAnswersAreSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   string
		fields []fsm.Field
		want   string
	}{
		{
			fsm.EventHumanRequested,
			[]fsm.Field{
				{Key: "question", Value: "Ship it?"},
				{Key: "choices", Value: []any{"yes", "no"}},
				{Key: "address", Value: "/1:1"},
			},
			"asked: Ship it? (yes, no), --question 1:1",
		},
		{fsm.EventHumanRequested, []fsm.Field{{Key: "prompt", Value: "Ship it?"}}, "asked: Ship it?"},
		{fsm.EventHumanResponse, []fsm.Field{
			{Key: "response", Value: "no"},
			{Key: "by", Value: "ada"},
			{Key: "fields", Value: value.NewMap("reason", "too early")},
		}, "answered: no, by ada, because too early"},
		{
			fsm.EventHumanResponse,
			[]fsm.Field{{Key: "verdict", Value: "no"}, {Key: "reason", Value: "too early"}},
			"answered: no, because too early",
		},
	} {
		if got := inspect.EventText(fsm.Event{Kind: c.kind, Fields: c.fields}); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.kind, c.fields, got, c.want)
		}
	}
}
