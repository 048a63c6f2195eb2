package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// anyState is the name under which a case answers every state that it does not name.
const anyState = "*"

// between stands between the states of a way, as histories show it.
const between = " > "

// An AnswerError is a visit of a state that a case has no answer for, or an answer that does not fit.
type AnswerError struct {
	Pos  fsm.Pos // zero = the answer is missing
	Text string
}

func (e *AnswerError) Error() string { return e.Text }

// caseAnswers answer as a case says, and beside that as a run on record did.
type caseAnswers struct {
	list   []keyedAnswers
	run    *recordedAnswers // nil = there is none
	taken  map[string]int   // how many answers each place took, by key and way
	acting map[string]*loopfile.Answer
}

// keyedAnswers are the answers of states with one name.
type keyedAnswers struct {
	key []string
	*loopfile.StateAnswers
}

func newCaseAnswers(c *loopfile.Case, run *recordedAnswers) *caseAnswers {
	a := &caseAnswers{run: run, taken: map[string]int{}, acting: map[string]*loopfile.Answer{}}
	for i := range c.Answers {
		a.list = append(a.list, keyedAnswers{splitWay(c.Answers[i].State.Text), &c.Answers[i]})
	}
	return a
}

// splitWay returns the states of a way as users write it: "build > compile".
func splitWay(text string) []string {
	names := strings.Split(text, strings.TrimSpace(between))
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// ends reports whether the way to a place ends in these names. An item may be left out, and is then any item; so is one
// that is called item.
func (p *place) ends(names []string) bool {
	at := len(p.parts) - 1
	for i := len(names) - 1; i >= 0; i-- {
		for at >= 0 && p.parts[at].each && at < len(p.parts)-1 && names[i] != p.parts[at].name && names[i] != "item" {
			at--
		}
		if at < 0 {
			return false
		}
		if x := p.parts[at]; names[i] != x.name && !(x.each && names[i] == "item") {
			return false
		}
		at--
	}
	return true
}

// answersOf returns the answers for a place: those with the longest way; nil = there are none.
func (a *caseAnswers) answersOf(p *place) (found *keyedAnswers) {
	best := -1
	for i := range a.list {
		k := &a.list[i]
		size := 2 * len(k.key)
		if slices.Contains(k.key, "item") {
			size--
		}
		switch {
		case k.State.Text == anyState:
			size = 0
		case !p.ends(k.key):
			continue
		}
		if size > best {
			found, best = k, size
		}
	}
	return found
}

// next returns the next answer for a place; nil = the case names it nowhere.
func (a *caseAnswers) next(p *place) (*loopfile.Answer, error) {
	k := a.answersOf(p)
	if k == nil {
		return nil, nil
	}
	way := k.State.Text + "\x00" + p.String()
	n := a.taken[way]
	a.taken[way]++
	if k.Every {
		return &k.List[0], nil
	}
	if n >= len(k.List) {
		return nil, &AnswerError{
			k.State.Pos,
			fmt.Sprintf("%s acts for the %s time, and has %s: add one, or leave the list out where all are the same",
				humanize.Quote(p.String()), ordinal(n+1), humanize.Count(len(k.List), "answer")),
		}
	}
	return &k.List[n], nil
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		suffix = map[int]string{1: "st", 2: "nd", 3: "rd"}[n%10]
	}
	return fmt.Sprintf("%d%s", n, cmp.Or(suffix, "th"))
}

// act implements answers.
func (a *caseAnswers) act(p *place, act fsm.Action) (fsm.Result, error) {
	if k := a.answersOf(p); a.run != nil && (k == nil || k.State.Text == anyState) {
		if e := a.run.visit(p); e != nil {
			return e.result, nil
		}
	}
	answer, err := a.next(p)
	if err != nil {
		return fsm.Result{}, err
	}
	if answer == nil {
		return fsm.Result{},
			&AnswerError{
				fsm.Pos{},
				fmt.Sprintf("the state %s acts, and the case has no answer for it: say under answers what it comes "+
					"to, such as %s",
					humanize.Quote(p.String()), humanize.Quote(p.String()+": yes")),
			}
	}
	last := p.parts[len(p.parts)-1]
	if last.each && answer.Verdict != "" && answer.ExitCode == nil && p.state != nil && p.state.Evaluate != nil &&
		p.state.Evaluate.Type != "exit_code" {
		return fsm.Result{},
			&AnswerError{answer.Pos, fmt.Sprintf("the items of %s are judged by %s: answer with output and exit_code",
				humanize.Quote(p.parts[len(p.parts)-2].name), p.state.Evaluate.Type)}
	}
	if wrong := wrongVerdict(p, answer.Verdict); wrong != "" && !last.each {
		return fsm.Result{}, &AnswerError{answer.Pos, wrong}
	}
	a.acting[p.at] = answer
	return answered(p, act, answer), nil
}

// wrongVerdict says what is wrong with the verdict of an answer, or "".
func wrongVerdict(p *place, verdict string) string {
	if verdict == "" || p.state == nil {
		return ""
	}
	return unknownVerdict(p.state, verdict)
}

// judge implements answers.
func (a *caseAnswers) judge(p *place, cfg *fsm.Evaluate, ev fsm.Evidence) (fsm.Verdict, bool, error) {
	k := a.answersOf(p)
	named := k != nil && k.State.Text != anyState
	if ev.Acted {
		if a.run != nil && !named {
			if v, ok := a.run.verdict(p); ok {
				return v, true, nil
			}
		}
		return a.judged(p, cfg, a.acting[p.at])
	}
	within := cfg.Type == "for_each" || cfg.Type == "parallel" || cfg.Type == "loop"
	if a.run != nil && !named && !within {
		if e := a.run.visit(p); e != nil && e.judged {
			return e.verdict, true, nil
		}
	}
	if within && (!named || k.List[0].Verdict == "") { // what is inside is answered
		return fsm.Verdict{}, false, nil
	}
	answer, err := a.next(p)
	switch {
	case err != nil:
		return fsm.Verdict{}, false, err
	case cfg.Type == "wait" && answer == nil &&
		(p.state.Await.Kind() == fsm.AwaitFor || p.state.Await.Kind() == fsm.AwaitAt):
		return fsm.Verdict{Name: "yes"}, true, nil
	case cfg.Type == "wait" && (answer == nil || answer.Verdict == ""):
		at := fsm.Pos{}
		if answer != nil {
			at = answer.Pos
		}
		return fsm.Verdict{}, false,
			&AnswerError{
				at,
				fmt.Sprintf("the state %s waits, and the case does not say what comes of it: its answer "+
					"needs a verdict", humanize.Quote(p.String())),
			}
	}
	return a.judged(p, cfg, answer)
}

// judged is the verdict that an answer gives; false = the evaluator decides by its output.
func (a *caseAnswers) judged(p *place, cfg *fsm.Evaluate, answer *loopfile.Answer) (fsm.Verdict, bool, error) {
	if answer != nil && answer.Verdict != "" {
		if wrong := wrongVerdict(p, answer.Verdict); wrong != "" {
			return fsm.Verdict{}, false, &AnswerError{answer.Pos, wrong}
		}
		return fsm.Verdict{Name: answer.Verdict, Details: fieldsOf(p, answer)}, true, nil
	}
	failed := answer != nil &&
		(answer.Failure != "" || answer.Timeout != "" || answer.ExitCode != nil && *answer.ExitCode != 0)
	if asked := slices.Contains([]string{"llm_structured", "comparator", "contract"}, cfg.Type); asked && !failed &&
		p.loop != nil && p.loop.LLM.Enabled {
		at := fsm.Pos{}
		if answer != nil {
			at = answer.Pos
		}
		return fsm.Verdict{}, false,
			&AnswerError{at, fmt.Sprintf("a judge decides about the state %s: its answer needs a verdict",
				humanize.Quote(p.String()))}
	}
	return fsm.Verdict{}, false, nil
}

// fieldsOf returns the details of a verdict; those of a question have all its fields.
func fieldsOf(p *place, answer *loopfile.Answer) *value.Map {
	m := new(value.Map)
	if st := p.state; st != nil && st.Await != nil && st.Await.Ask != nil {
		m.Set("output", "")
		for _, f := range st.Await.Ask.Fields {
			m.Set(f.Name, "")
		}
	}
	for _, k := range answer.Details.Keys() {
		m.Set(k, answer.Details.Value(k))
	}
	return m
}

// answered is the result of an action by an answer.
func answered(p *place, a fsm.Action, answer *loopfile.Answer) fsm.Result {
	res := fsm.Result{
		Stdout: answer.Output, Stderr: answer.Stderr, TimeoutKind: answer.Timeout,
		Bytes: int64(len(answer.Output)),
	}
	switch {
	case answer.ExitCode != nil:
		res.ExitCode = *answer.ExitCode
	case answer.Timeout != "":
		res.ExitCode = 124
	case answer.Failure != "":
		res.ExitCode = 1
	case answer.Status >= 400 && answer.Status < 500:
		res.ExitCode = fsm.CallRefused
	case answer.Status != 0 && (answer.Status < 200 || answer.Status > 299):
		res.ExitCode = fsm.CallOther
	case answer.Verdict != "" && p.state != nil:
		res.ExitCode = codeOf(p, answer.Verdict)
	}
	switch a.Kind {
	case fsm.KindHTTP:
		res.Response = &fsm.Response{
			Status: cmp.Or(answer.Status, [3]int{200, 404, 500}[min(max(res.ExitCode, 0), 2)]), Headers: new(value.Map),
		}
	case fsm.KindPrompt:
		r := &fsm.Reply{
			Host: cmp.Or(a.Host, "agent"), Complete: true, Coverage: fsm.CoverageComplete,
			Cost: answer.Cost, Failure: answer.Failure,
		}
		r.Usage.Output = int64(answer.Tokens)
		if answer.Tokens > 0 && r.Cost == nil {
			r.Cost = new(0.0)
		}
		if r.Failure == "" && res.ExitCode != 0 {
			// Any other class would be guessed from the text, and might have the prompt sent again.
			r.Failure = fsm.FailTimeout
		}
		res.Reply = r
	}
	return res
}

// codeOf is the exit code that goes with a verdict. An item is judged by its exit code.
func codeOf(p *place, verdict string) int {
	if p.parts[len(p.parts)-1].each {
		return map[string]int{"yes": 0, "no": 1}[verdict] + map[bool]int{true: 2}[verdict != "yes" && verdict != "no"]
	}
	return codeFor(p.state, verdict)
}
