package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"loops/engine"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/app"
)

// askUser has the user of the client answer the question of a run, by a form. It returns their answer; nil
// where they gave none.
func askUser(ctx context.Context, s *Session, run string, said *engine.Answer) (given bool, err error) {
	open, err := s.Answer(ctx, run, engine.Answer{})
	if err != nil {
		return false, err
	}
	if len(open.Open) == 0 || len(open.Open) > 1 && run == "" {
		return false, engine.Refuse(engine.Usage, "ask_user needs run: the run whose question is to be answered")
	}
	reply, asked := Said(ctx)
	said.Address = fsm.RecordedAddress(said.Address)
	i := slices.IndexFunc(open.Open, func(p app.Pending) bool {
		return (said.Address == "" || p.Question.Address == said.Address) && (!asked || reply.State == formState(p))
	})
	if i < 0 {
		return false, engine.Refuse(engine.Failed, "the question that the user was to answer is no longer open")
	}
	q, state := open.Open[i].Question, formState(open.Open[i])
	switch {
	case !asked:
		ask := askOf(q)
		ask.State, ask.Else = state, "this client has no forms to ask its user with (elicitation): ask them "+
			"yourself, and call answer with their choice"
		return false, ask
	case !reply.Given:
		return false, nil
	}
	fillAnswer(said, q, reply)
	return true, nil
}

// formState names a question in a form.
func formState(p app.Pending) string { return string(p.Run.ID) + " " + p.Question.Address }

// choiceField is the name of the choice in a form. No field of a question has it.
const choiceField = "choice"

// confirmField is the name of the switch that confirms the choice. No field of a question has it: names of
// fields have no blank.
const confirmField = "confirm choice"

// formOf is the form of a question, as a JSON Schema.
func formOf(q *fsm.OpenQuestion) json.RawMessage {
	properties := api.Pairs[formField]{
		{Key: choiceField, Value: formField{Type: "string", Title: "Your answer", Enum: q.Choices}},
	}
	add := func(name, kind, title string) {
		properties = append(properties, api.Pair[formField]{Key: name, Value: formField{Type: kind, Title: title}})
	}
	if len(q.Confirm) > 0 {
		add(confirmField, "boolean", "I am sure (needed for "+strings.Join(q.Confirm, ", ")+")")
	}
	for _, f := range q.Fields {
		kind := f.Type
		if kind == "text" {
			kind = "string"
		}
		add(f.Name, kind, f.Name)
	}
	return json.RawMessage(value.AppendJSON(nil, askForm{"object", properties, []string{choiceField}}))
}

// An askForm is a JSON Schema of an object.
type askForm struct {
	Type       string               `json:"type"`
	Properties api.Pairs[formField] `json:"properties"`
	Required   []string             `json:"required"`
}

type formField struct {
	Type  string   `json:"type"`
	Title string   `json:"title"`
	Enum  []string `json:"enum,omitempty"`
}

// textOf is a value of a form as answers have it.
func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
