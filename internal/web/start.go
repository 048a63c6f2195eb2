package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"loops/engine"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/simulate"
)

// A startForm is what a run is started with.
type startForm struct {
	Project, Loop, Title string
	Inputs               []input
	Input                string
	NeedsInput           bool // a run without one is refused
	Problem              string
	Refused              string // why the form that was sent started nothing; "" = it was not sent
	Broken               bool
	Command              string
	Walk                 *walk // of a dry run; nil = none was asked for
}

// An input is a field of a form.
type input struct {
	Name, Kind, Value, About string
	Given                    string // in the form that a dry run was asked with
	Required                 bool
	Values                   []string
}

// A walk is what a dry run did.
type walk struct {
	Scenarios []tab
	Steps     []walked
	More      int
	End       string
	Problem   string
}

type walked struct{ State, Action, Verdict, Class string }

// Limits of a dry run in a page.
const (
	mostWalked  = 2000
	shownWalked = 100
)

func (s *Server) startPage(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(p Project, session *Session) error {
		given := fields{}
		for key, values := range r.URL.Query() {
			given[key] = values[0]
		}
		form, l, err := newStartForm(p, session, given)
		if err != nil {
			return err
		}
		if l != nil && given["dry"] != "" {
			form.Walk = rehearse(r, session, l, form.Loop, given)
		}
		s.render(w, r, "start", "Start "+form.Loop, form)
		return nil
	})
}

// newStartForm returns the form that starts the loop of given["loop"], with the values of given in it; the loop
// is nil if it has mistakes.
func newStartForm(p Project, session *Session, given fields) (startForm, *fsm.Loop, error) {
	name := given["loop"]
	loaded, _, err := loadLoop(session, name)
	if err != nil {
		return startForm{}, nil, err
	}
	form := startForm{
		Project: p.Name, Loop: name, Input: given["input"],
		Command: session.Page.CommandWith("run", append([]string{"-b"}, flags("--context", given.pairs())...), name),
	}
	if form.Broken = loaded.Loop == nil; form.Broken {
		form.Problem = "This loop has mistakes and cannot run. See them with: " + session.Page.Command("validate", name)
		return form, nil, nil
	}
	form.Title, form.Inputs = strings.TrimSpace(loaded.Loop.Description), inputs(loaded.Loop, given)
	key := cmp.Or(loaded.Loop.InputKey, "input")
	form.NeedsInput = slices.Contains(loaded.Loop.RequiredInputs, key) && !isSet(loaded.Loop, key)
	return form, loaded.Loop, nil
}

// formAgain shows a form that was refused with the reason, and with what was typed: the form that starts a loop
// as it was sent, of others the fields.
func (s *Server) formAgain(w http.ResponseWriter, r *http.Request, p Project, session *Session, verb string, f fields,
	refused error,
) error {
	why := session.InWords(refused).Error()
	if verb == "start" {
		if form, l, err := newStartForm(p, session, f); err == nil && l != nil {
			form.Refused = why
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(statusOf(refused))
			s.render(w, r, "start", "Start "+form.Loop, form)
			return nil
		}
	}
	var typed [][2]string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if !strings.HasPrefix(name, wasPrefix) && f[name] != "" {
			typed = append(typed, [2]string{strings.TrimPrefix(name, fieldPrefix), f[name]})
		}
	}
	s.refuseForm(w, r, statusOf(refused), why, typed)
	return nil
}

// isSet reports whether the context of a loop gives a key a value that is not empty.
func isSet(l *fsm.Loop, key string) bool {
	return l.Context != nil && inspect.Text(l.Context.Value(key)) != ""
}

// rehearse walks through a loop with made-up results. Nothing is run.
func rehearse(r *http.Request, session *Session, l *fsm.Loop, name string, given fields) *walk {
	scenario := given["scenario"]
	if !slices.Contains(simulate.Scenarios(), scenario) {
		scenario = simulate.Scenarios()[0]
	}
	out := &walk{}
	for _, sc := range simulate.Scenarios() {
		q := r.URL.Query()
		q.Set("scenario", sc)
		out.Scenarios = append(out.Scenarios, tab{Label: sc, Address: "?" + q.Encode(), Here: sc == scenario})
	}
	desk := simulate.Desk{
		Project: session.Project, Getenv: func(string) (string, bool) { return "", false },
		Warn:  func(bool) engine.Warn { return nil },
		Shown: func(err error) error { return err }, Code: func(fsm.Outcome) int { return 0 },
	}
	try := simulate.DeskSimulation{
		Name: name, Context: given.pairs(), Scenario: scenario, Runs: 1, JSON: true,
		Quiet: true,
	}
	if given["input"] != "" {
		input := given["input"]
		try.Input = &input
	}
	if l.MaxSteps > mostWalked {
		try.MaxSteps = mostWalked
	}
	try.Describe()
	o, err := desk.Simulate(r.Context(), &try)
	if err != nil {
		out.Problem = session.InWords(err).Error()
	}
	tried, ok := o.(api.Simulated)
	if !ok {
		return out
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	for i, at := range tried.Path {
		if i == shownWalked {
			out.More = len(tried.Path) - i
			break
		}
		v := text(at.Verdict)
		out.Steps = append(out.Steps,
			walked{at.State, humanize.FirstLine(text(at.Action)), v, step{over: true, verdict: v}.Class()})
	}
	out.End = fmt.Sprintf("It would end in %s: %s, after %s.", tried.End.State, tried.End.TerminatedBy,
		humanize.Count(len(tried.Path), "step"))
	return out
}

// inputs are the fields of a form that starts a loop: its parameters, and those values of its context that are
// no objects.
func inputs(l *fsm.Loop, given fields) []input {
	var all []input
	named := map[string]bool{}
	for _, p := range l.Parameters {
		in := input{
			Name: p.Name, Kind: p.Type, About: p.Description, Required: p.Required,
			Given: given[fieldPrefix+p.Name],
		}
		if p.Default != nil {
			in.Value = inspect.Text(p.Default)
		}
		for _, v := range p.Values {
			in.Values = append(in.Values, inspect.Text(v))
		}
		all, named[p.Name] = append(all, in), true
	}
	if l.Context == nil {
		return withRequired(l, all, named, given)
	}
	for key, v := range l.Context.All() {
		switch v.(type) {
		case *value.Map, []any:
			continue
		}
		if !named[key] {
			named[key] = true
			all = append(all, input{Name: key, Kind: "string", Value: inspect.Text(v), Given: given[fieldPrefix+key]})
		}
	}
	return withRequired(l, all, named, given)
}

// withRequired marks the required inputs among the fields of a form, and adds those that it lacks. The
// positional input has a field of its own.
func withRequired(l *fsm.Loop, all []input, named map[string]bool, given fields) []input {
	for _, key := range l.RequiredInputs {
		if key != cmp.Or(l.InputKey, "input") && !named[key] {
			all = append(all, input{Name: key, Kind: "string", Given: given[fieldPrefix+key]})
		}
	}
	for i := range all {
		all[i].Required = all[i].Required || slices.Contains(l.RequiredInputs, all[i].Name) && all[i].Value == ""
	}
	return all
}
