package loopfile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/pyregexp"
)

// humanApproval is the action_type with which little-loops asks: the action is the question.
const humanApproval = "human_approval"

// usualChoices are the choices of a question that names none.
var usualChoices = []string{"approve", "reject"}

// approvalTimeout is how long an approval without timeout waits whose state says where to go without an answer,
// as in little-loops.
const approvalTimeout = 1800 * time.Second

// answerWord is what choices and fields are called.
var answerWord = pyregexp.Lazy(`^[A-Za-z][A-Za-z0-9_-]*$`)

// reservedChoices are verdicts that an answer cannot be; reservedFields are what every answer has.
var (
	reservedChoices = []string{fsm.AwaitTimeout, fsm.AwaitWithdrawn, "error"}
	reservedFields  = []string{"output", "stderr", "exit_code", "choice", "by", "at", "verdict"}
)

// ask reads the ask key of a state, or its action where that is a question; nil means that it asks nothing.
func (d *decoder) ask(s *stateDecl) *fsm.Await {
	b := s.b
	if b.has("ask") {
		return d.asked(b)
	}
	if s.ActionType != humanApproval {
		return nil
	}
	question := s.Action
	s.Action, s.ActionType = "", ""
	if strings.TrimSpace(question) == "" {
		if !s.open {
			d.errorf(b.keyPos("action_type"), join(b.path, "action_type"), "missing-key",
				"action_type: human_approval asks what action says, and this state has no action")
		}
		return nil
	}
	return &fsm.Await{Ask: &fsm.Ask{
		Question: question, Approval: true, Choices: []string{"yes", "no", "edit"},
		Fields: []fsm.AskField{{Name: "reason", Type: "text"}, {Name: "edit", Type: "text"}},
	}}
}

// approval names the verdicts of an approval as the routes of its state do, and gives it the time in which it
// is to be answered. Where no route is for a late answer, or for a no, it has as long as it takes.
func (d *decoder) approval(s *stateDecl) {
	if s.Await == nil || s.Await.Ask == nil || !s.Await.Ask.Approval {
		return
	}
	routes := func(verdict string) bool {
		if s.Route == nil {
			return s.On[verdict] != ""
		}
		_, ok := s.Route.Table.Get(verdict)
		return ok || slices.ContainsFunc(s.Route.Cases, func(c fsm.Case) bool {
			return c.When != nil && strings.Contains(c.When.String(), strconv.Quote(verdict))
		})
	}
	for i, word := range []string{"approve", "reject"} {
		if choices := s.Await.Ask.Choices; routes(word) && !routes(choices[i]) {
			choices[i] = word
		}
	}
	switch {
	case s.b.has("timeout"):
	case routes("timeout"), routes("no"), s.Route != nil && (s.Route.Default != "" || s.Route.Cases != nil):
		s.Timeout = approvalTimeout
	case !s.open && !s.branch:
		d.warnf(s.b.keyPos("action_type"), join(s.b.path, "action_type"), "no-answer",
			"the state does not say where to go without an answer, so it waits for one without end; add on_timeout, "+
				"which is followed after 30 minutes, or after timeout")
	}
}

func (d *decoder) asked(of *block) *fsm.Await {
	n := of.fields["ask"].node
	if n.Kind != yaml.MappingNode {
		if !isNull(n) { // that is reported
			hint := ""
			if n.Kind == yaml.ScalarNode {
				hint = "; write {question: " + quote(n.Value) + "}"
			}
			d.errorf(d.pos(n), join(of.path, "ask"), "wrong-type",
				"ask must be a mapping such as {question: \"Ship it?\", choices: [approve, reject]}, found %s%s",
				describe(n), hint)
		}
		return nil
	}
	b := of.sub("ask")
	a := &fsm.Ask{
		Question: b.text("question"), Choices: usualChoices, Show: b.text("show"), Who: b.texts("who"),
		Quorum: b.int("quorum"),
	}
	if !b.has("question") {
		d.errorf(of.pos("ask"), join(b.path, "question"), "missing-key", "ask lacks question: what the person is asked")
	} else if f := b.fields["question"]; f.val != nil && strings.TrimSpace(a.Question) == "" {
		d.errorf(d.pos(f.node), join(b.path, "question"), "range", "question is empty")
	}
	if b.has("choices") {
		a.Choices = b.texts("choices")
		d.checkChoices(a, b)
	}
	if a.Confirm = b.texts("confirm"); b.has("confirm") {
		d.checkConfirm(a, b)
	}
	a.Fields = d.askFields(b)
	d.reminders(a, b)
	return &fsm.Await{Ask: a}
}

func (d *decoder) checkChoices(a *fsm.Ask, b *block) {
	f, path := b.fields["choices"], join(b.path, "choices")
	if f.val == nil {
		return
	}
	if len(a.Choices) == 0 {
		d.errorf(d.pos(f.node), path, "range", "choices is empty; expected what can be answered, such as "+
			"[approve, reject]")
	}
	for i, c := range a.Choices {
		if i >= len(f.node.Content) {
			return
		}
		at, in := d.pos(deref(f.node.Content[i])), path+"["+strconv.Itoa(i)+"]"
		switch {
		case !answerWord().MatchString(c):
			d.errorf(at, in, "bad-value", "%s is not a choice: a choice is a verdict, one word such as approve; put "+
				"the rest into question", quote(c))
		case slices.Contains(reservedChoices, c):
			d.errorf(at, in, "bad-value", "%s cannot be a choice: a question that is not answered comes to it",
				quote(c))
		case slices.Index(a.Choices, c) < i:
			d.errorf(at, in, "duplicate-key", "the choice %s is repeated", quote(c))
		}
	}
}

// checkConfirm reports choices to be confirmed that are none.
func (d *decoder) checkConfirm(a *fsm.Ask, b *block) {
	f, path := b.fields["confirm"], join(b.path, "confirm")
	for i, c := range a.Confirm {
		if slices.Contains(a.Choices, c) {
			continue
		}
		at := f.node
		if i < len(at.Content) {
			at = deref(at.Content[i])
		}
		d.errorf(d.pos(at), path, "bad-value", "confirm names %s, which is no choice of the question; its "+
			"choices are %s", quote(c), strings.Join(a.Choices, ", "))
	}
}

// askFields reads what may be said beside the choice.
func (d *decoder) askFields(b *block) (fields []fsm.AskField) {
	f, ok := b.fields["fields"]
	if !ok || isNull(f.node) {
		return nil
	}
	path := join(b.path, "fields")
	if f.node.Kind != yaml.MappingNode {
		d.errorf(d.pos(f.node), path, "wrong-type", "fields must be a mapping of names to types, such as {reason: "+
			"text}, found %s", describe(f.node))
		return nil
	}
	for _, e := range d.entries(f.node, path) {
		at := join(path, e.name)
		typ, ok := d.text(e.val, at, clip(e.name))
		switch {
		case !answerWord().MatchString(e.name):
			d.errorf(d.pos(e.key), at, "bad-key", "%s is no name of a field; expected one word such as reason",
				quote(e.name))
		case slices.Contains(reservedFields, e.name):
			d.errorf(d.pos(e.key), at, "bad-key", "a field cannot be called %s: every answer has that", quote(e.name))
		case ok:
			d.allowed(&Key{Name: "fields", In: InAsk, Values: fsm.FieldTypes}, e.val, typ, at)
			fields = append(fields, fsm.AskField{Name: e.name, Type: typ})
		}
	}
	return fields
}

// fieldTypes are the types of what may be said beside a choice.
var fieldTypes = fsm.FieldTypes
