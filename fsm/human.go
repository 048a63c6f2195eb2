package fsm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// AwaitAsk is the kind of a wait for a person's answer.
const AwaitAsk = "ask"

// AwaitWithdrawn is the verdict of a question that was taken back.
const AwaitWithdrawn = "withdrawn"

// An Ask is a question to a person, whose answer is the verdict.
type Ask struct {
	Question string   // template
	Choices  []string // what can be answered
	Fields   []AskField
	Show     string   // template; a text, or a file whose text is shown
	Who      []string // who is asked, for people
	Confirm  []string // choices that are to be confirmed before they count
	Approval bool     // it is an approval: the first choice means yes, and the second one no

	Remind   time.Duration // between two reminders while it is open; 0 = none are sent
	Escalate Escalation
	Quorum   int // so many equal answers by different people decide; 0 and 1 = the first answer does
}

// An AskField is something that may be said beside the choice.
type AskField struct {
	Name string
	Type string // text, integer, number or boolean
}

// FieldTypes are the types of fields.
var FieldTypes = []string{"text", "integer", "number", "boolean"}

// An OpenQuestion is one that waits for an answer, as it was opened.
type OpenQuestion struct {
	Address string // see questionAddress
	Path    string // the branches and items that it is in, as that of an OpenWait
	Wait    *Wait
	Ask
	Reminders int       // that were recorded
	RemindAt  time.Time // when the next one is due; zero = never
	Votes     []Vote    // answers so far to a question with a quorum; only who reads the records of the run fills it in
}

// QuestionAt returns the recorded address of the question that a user means by an address. That may lack the
// number of the question: no step asks two at once.
func QuestionAt(open []*OpenQuestion, address string) string {
	meant, ok := ParseAddress(address)
	if !ok || meant.Question > 0 {
		return RecordedAddress(address)
	}
	for _, q := range open {
		at, _ := ParseAddress(q.Address)
		if at.Question = 0; at.Equal(meant) {
			return q.Address
		}
	}
	return RecordedAddress(address)
}

// Questions are those that the run waits for answers to, in whatever sub-loops, branches and items.
func (m *Snapshot) Questions() []*OpenQuestion {
	if m == nil {
		return nil
	}
	return m.asks("", "", nil)
}

// asks adds the questions of a loop and of those inside it. address and path lead to the loop.
func (m *Snapshot) asks(address, path string, open []*OpenQuestion) []*OpenQuestion {
	address += "/" + strconv.Itoa(m.Step)
	if w := m.Awaiting; w != nil && w.Kind == AwaitAsk {
		open = append(open, &OpenQuestion{
			Address: questionAddress(address, w), Path: path, Wait: w.wait(address),
			Ask: *w.ask(), Reminders: w.Reminders, RemindAt: w.RemindAt,
		})
	}
	for name, c := range m.Inside() {
		at, inside := within(address, path, name)
		open = c.Memory.asks(at, inside, open)
	}
	return open
}

// questionAddress returns the address of a question: the steps that lead to its state, and its number in the
// run, as /3:2 or /1+prod/1:4. No two questions of a run have the same. Those that a former version asked have
// no number.
func questionAddress(steps string, w *Awaiting) string {
	if w.Number == 0 {
		return steps
	}
	return steps + ":" + strconv.Itoa(w.Number)
}

// within leads into a branch or an item, or into a sub-loop where name is "".
func within(address, path, name string) (at, inside string) {
	if name == "" {
		return address, path
	}
	return address + branchSign + name, strings.TrimPrefix(path+"/"+name, "/")
}

// visitAddress names the visit that the machine is in, as Asked does.
func (e *Executor) visitAddress() string {
	at := ""
	for x := e; x != nil; x = x.parent {
		at = "/" + strconv.Itoa(x.mem.Step) + at
		if x.branch != "" {
			at = branchSign + x.branch + at
		}
	}
	return at
}

// mostShown is how much of what is shown beside a question is kept, in bytes.
const mostShown = 64 << 10

// freeze keeps what is asked: what the run remembers later does not change it.
func (e *Executor) freeze(a *Ask, w *Awaiting) error {
	scope := e.scope(nil)
	show, err := expr.Expand(a.Show, scope)
	if err != nil {
		return err
	}
	if name := strings.TrimSpace(show); name != "" && !strings.Contains(name, "\n") {
		text, err := readText(e.cfg.Files, name)
		if e.breaks(err); e.machine.broken != nil {
			return errHalted
		}
		if err == nil {
			show = text
		}
	}
	form := value.NewMap("choices", anyTexts(a.Choices))
	fields := value.NewMap()
	for _, f := range a.Fields {
		fields.Set(f.Name, f.Type)
	}
	if fields.Len() > 0 {
		form.Set("fields", fields)
	}
	if show != "" {
		form.Set("show", strings.ToValidUTF8(show[:min(len(show), mostShown)], ""))
	}
	if len(a.Who) > 0 {
		form.Set("who", anyTexts(a.Who))
	}
	if len(a.Confirm) > 0 {
		form.Set("confirm", anyTexts(a.Confirm))
	}
	if a.Approval {
		form.Set("approval", true)
	}
	if a.Quorum > 1 {
		form.Set("quorum", int64(a.Quorum))
	}
	a.planReminders(w, form)
	w.Form = string(value.AppendJSON(nil, form))
	return nil
}

func anyTexts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// ask is the question as it was opened.
func (w *Awaiting) ask() *Ask {
	a := &Ask{Question: w.What}
	v, _ := value.ParseJSON([]byte(w.Form))
	form, _ := v.(*value.Map)
	texts := func(form *value.Map, key string) (out []string) {
		list, _ := form.Value(key).([]any)
		for _, v := range list {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	a.Choices, a.Who, a.Confirm = texts(form, "choices"), texts(form, "who"), texts(form, "confirm")
	a.Show, _ = form.Value("show").(string)
	a.Approval, _ = form.Value("approval").(bool)
	quorum, _ := form.Value("quorum").(int64)
	a.Quorum = int(quorum)
	a.readReminders(form, texts)
	fields, _ := form.Value("fields").(*value.Map)
	for _, name := range fields.Keys() {
		typ, _ := fields.Value(name).(string)
		a.Fields = append(a.Fields, AskField{name, typ})
	}
	return a
}

// Confirms reports whether a choice, by its name, is to be confirmed before it counts.
func (a *Ask) Confirms(choice string) bool { return slices.Contains(a.Confirm, choice) }

// Chosen returns the choice that a text names: by its name, or by its number from 1 on, unless a choice is
// named so. Nothing shorter names one. An approval is answered by yes and approve, and by no and reject,
// whichever its choices are.
func (a *Ask) Chosen(text string) (string, error) {
	if slices.Contains(a.Choices, text) {
		return text, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(a.Choices) && strconv.Itoa(n) == text {
		return a.Choices[n-1], nil
	}
	if a.Approval && len(a.Choices) > 1 {
		switch text {
		case "yes", "approve":
			return a.Choices[0], nil
		case "no", "reject":
			return a.Choices[1], nil
		}
	}
	return "", fmt.Errorf("%q is no choice; the choices are %s", value.Truncate(text, 60), a.Numbered())
}

// Numbered returns the choices with their numbers: "1 approve, 2 reject".
func (a *Ask) Numbered() string {
	numbered := make([]string, len(a.Choices))
	for i, c := range a.Choices {
		numbered[i] = strconv.Itoa(i+1) + " " + c
	}
	return strings.Join(numbered, ", ")
}

// Fill checks what was said beside a choice, texts by field, and returns it typed.
func (a *Ask) Fill(said map[string]string) (*value.Map, error) {
	said = maps.Clone(said)
	if text, old := said["text"]; old && a.Approval { // what the field edit was called
		if _, ok := said["edit"]; !ok {
			said["edit"] = text
			delete(said, "text")
		}
	}
	typed, left := value.NewMap(), len(said)
	for _, f := range a.Fields {
		text, given := said[f.Name]
		if !given {
			continue
		}
		left--
		v, err := f.read(text)
		if err != nil {
			return nil, err
		}
		typed.Set(f.Name, v)
	}
	if left == 0 {
		return typed, nil
	}
	var known []string
	for _, f := range a.Fields {
		known = append(known, f.Name)
		delete(said, f.Name)
	}
	for name := range said {
		if len(known) == 0 {
			return nil, fmt.Errorf("the question has no fields, so none can be called %s", name)
		}
		return nil, fmt.Errorf("%q is no field of the question; the fields are %s", name, strings.Join(known, ", "))
	}
	return typed, nil
}

func (f AskField) read(text string) (v any, err error) {
	switch f.Type {
	case "integer":
		v, err = strconv.ParseInt(text, 10, 64)
	case "number":
		var n float64
		if n, err = strconv.ParseFloat(text, 64); err == nil && (n-n) != 0 {
			err = errors.New("not finite")
		}
		v = n
	case "boolean":
		switch strings.ToLower(text) {
		case "true", "yes", "1":
			v = true
		case "false", "no", "0":
			v = false
		default:
			err = errors.New("neither")
		}
	default:
		return text, nil
	}
	if err != nil {
		return nil, fmt.Errorf("field %s must be of type %s, not %q", f.Name, f.Type, value.Truncate(text, 60))
	}
	return v, nil
}

// whoField returns the field of an event that says who is asked; none where that is not said.
func (a *Ask) whoField() []Field {
	if len(a.Who) == 0 {
		return nil
	}
	return []Field{{"who", anyTexts(a.Who)}}
}

// tellQuestion says in the history what is asked.
func (e *Executor) tellQuestion(w *Awaiting) {
	a := w.ask()
	fields := []Field{
		{"state", w.State},
		{"address", questionAddress(e.visitAddress(), w)},
		{"question", w.What},
		{"choices", anyTexts(a.Choices)},
	}
	if len(a.Fields) > 0 {
		list := value.NewMap()
		for _, f := range a.Fields {
			list.Set(f.Name, f.Type)
		}
		fields = append(fields, Field{"fields", list})
	}
	fields = append(fields, a.whoField()...)
	if !w.Deadline.IsZero() {
		fields = append(fields, Field{"until", FormatTime(w.Deadline)})
	}
	e.emit(EventHumanRequested, fields...)
}

// AnswerName is the name under which the answer to a question is in the inbox.
func AnswerName(address string) string { return "answer " + address }

// seeAnswer takes the first answer to the question, or of one with a quorum those that decide. No other
// question of the run has its address.
func (e *Executor) seeAnswer(st *State, w *Awaiting) (sight, error) {
	if e.cfg.Inbox == nil {
		return sight{}, nil
	}
	address := questionAddress(e.visitAddress(), w)
	list, err := e.sent(AnswerName(address), 0)
	switch {
	case e.ending():
		return sight{}, errHalted
	case errors.Is(err, ErrMoved):
		return sight{}, err
	case err != nil:
		return sight{seen: oneLine("the answers cannot be read: " + err.Error())}, nil
	case len(list) == 0:
		return sight{}, nil
	}
	asked := w.ask()
	given := make([]Vote, len(list))
	for i, s := range list {
		given[i] = st.Await.Ask.vote(s)
	}
	t := Count(asked.Quorum, given)
	if len(t.Agreed) == 0 {
		e.tellVotes(w, address, asked.Quorum, given, t)
		return sight{seen: e.mem.Awaiting.Seen, told: true}, nil
	}
	last, by, fields := t.Agreed[len(t.Agreed)-1], t.By(), t.Fields()
	verdict, choice := last.Choice, last.Choice
	if verdict == AwaitWithdrawn {
		choice = ""
	}
	rec := value.NewMap("output", choice, "exit_code", int64(0), "choice", choice, "by", by, "at", FormatTime(last.At))
	for _, k := range fields.Keys() {
		rec.Set(k, fields.Value(k))
	}
	if text, ok := fields.Value("text").(string); ok {
		rec.Set("output", text) // as it was edited
	}
	if text, ok := fields.Value("edit").(string); ok && asked.Approval {
		rec.Set("output", text)
	}
	said := []Field{{"state", st.Name}, {"address", address}, {"response", verdict}, {"by", by}, {"number", int64(last.N)}} //nolint:gosec // there are never so many
	if fields.Len() > 0 {
		said = append(said, Field{"fields", fields})
	}
	seen := "answered"
	if by != "" {
		seen += " by " + by
	}
	out, _ := rec.Value("output").(string)
	take := func() { e.emit(EventHumanResponse, said...) }
	return sight{verdict: verdict, seen: seen, record: rec, result: Result{Stdout: out}, take: take}, nil
}
