package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"loops/engine"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/auth"
	"loops/internal/humanize"
)

// fields are what a form or an object of JSON says.
type fields map[string]string

// fieldPrefix is what is before the name of a context value, and of a field of an answer, in a form.
const fieldPrefix = "field."

// pairs returns the values whose names have the prefix, as KEY=VALUE: of a page that said what they were those
// that were changed, else those that were not left empty.
func (f fields) pairs() []string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		key, ok := strings.CutPrefix(name, fieldPrefix)
		if was, said := f[wasPrefix+key]; ok && (said && f[name] != was || !said && f[name] != "") {
			pairs = append(pairs, key+"="+f[name])
		}
	}
	return pairs
}

// flags returns the values as a flag that may be given several times.
func flags(flag string, pairs []string) []string {
	var words []string
	for _, pair := range pairs {
		words = append(words, flag+"="+pair)
	}
	return words
}

// readFields reads the body of a write. Pages send forms, programs JSON. What a program sends must be as the
// document of the API says.
func readFields(r *http.Request) (fields, error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	o, _ := r.Context().Value(operationKey{}).(*operation)
	f := fields{}
	switch kind {
	case "application/json":
		var given map[string]any
		d := json.NewDecoder(r.Body)
		d.UseNumber()
		if err := d.Decode(&given); err != nil {
			return nil, unreadable(err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil, engine.Refuse(engine.Usage,
				"the body of the request cannot be read: something follows the object")
		}
		if err := o.wrongBody(given); err != nil {
			return nil, err
		}
		for name, v := range given {
			if v != false { // a switch that is off is one that is not there
				f.set(name, v)
			}
		}
	case "application/x-www-form-urlencoded":
		if err := r.ParseForm(); err != nil {
			return nil, unreadable(err)
		}
		for name, values := range r.PostForm {
			f[name] = strings.ReplaceAll(values[0], "\r\n", "\n") // browsers send both
		}
		if o != nil {
			if err := f.asObject(o); err != nil {
				return nil, err
			}
		}
	default:
		return nil, engine.Refuse(engine.Usage, "a write has a body of application/json or of a form, not %s",
			humanize.Quote(kind))
	}
	return f, nil
}

// wrongBody refuses a body that is not as the document says. o may be nil.
func (o *operation) wrongBody(given map[string]any) error {
	if o == nil || o.body == "" {
		return nil
	}
	if err := api.CheckRequest(o.body, given); err != nil {
		return engine.Refuse(engine.Usage, "%s", err)
	}
	return nil
}

// asObject refuses a form that is not as the document says the object of JSON is. A switch that is off is taken out.
func (f fields) asObject(o *operation) error {
	given := map[string]any{}
	for name, v := range f {
		switch {
		case strings.HasPrefix(name, fieldPrefix):
			given[strings.TrimSuffix(fieldPrefix, ".")] = map[string]any{}
		case api.IsSwitch(o.body, name) && (v == "true" || v == "false"):
			given[name] = v == "true"
			if v == "false" {
				delete(f, name)
			}
		default:
			given[name] = v
		}
	}
	return o.wrongBody(given)
}

// set takes a value of JSON. Those of an object become fields, and what is no text is written as JSON.
func (f fields) set(name string, v any) {
	switch v := v.(type) {
	case nil:
	case string:
		f[name] = v
	case map[string]any:
		for key, val := range v {
			f.set(fieldPrefix+key, val)
		}
	default:
		b, _ := json.Marshal(v) //nolint:errchkjson // it was read from JSON
		f[name] = string(b)
	}
}

func unreadable(err error) error {
	return &engine.Refusal{
		Kind: engine.Usage, Text: engine.Text{Format: "the body of the request cannot be read"},
		Err: err,
	}
}

// A done is the result of a write: an object for a program, and the run that a page shows then.
type done struct {
	object any
	run    string
}

// An act does what is asked for.
type act func(r *http.Request, p Project, s *Session, f fields, user string) (done, error)

// acts are what can be done, by the last word of the address.
func acts() map[string]act {
	return map[string]act{
		"start": start, "resume": resume, "retry": retry, "fork": fork, "stop": stop, "pause": pause,
		"unpause": unpause, "extend": extend, "answer": answer, "signal": signal,
		"retry-now": retryNow, "remove": remove, "unblock": unblock,
	}
}

// writes returns the addresses of what is done to a run, below a pattern.
func (s *Server) writes(below string) []route {
	var all []route
	for _, verb := range slices.Sorted(maps.Keys(acts())) {
		if verb != "start" {
			all = append(all, allow(auth.Operator, below+verb, s.write(verb)))
		}
	}
	return all
}

// write answers a write, of which each leaves a line for an audit.
func (s *Server) write(verb string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.with(w, r, func(p Project, session *Session) error {
			f, err := readFields(r)
			var d done
			if err == nil {
				d, err = acts()[verb](r, p, session, f, userOf(r).Name)
			}
			s.audit(r, p, verb, d.run, f, err)
			if err != nil && f != nil && !ofAPI(r) {
				return s.formAgain(w, r, p, session, verb, f, err)
			}
			if err != nil {
				return err
			}
			if ofAPI(r) {
				writeJSON(w, http.StatusOK, d.object)
			} else {
				to := s.BasePath + "/"
				if d.run != "" {
					to = s.runAddress(p.Name, d.run)
				}
				http.Redirect(w, r, to, http.StatusSeeOther)
			}
			return nil
		})
	}
}

func (s *Server) runAddress(project, run string) string {
	return s.BasePath + "/p/" + url.PathEscape(project) + "/runs/" + url.PathEscape(run)
}

func begun(run string, err error) (done, error) {
	return done{api.Begun{Instance: run}, run}, err
}

func start(r *http.Request, p Project, s *Session, f fields, _ string) (done, error) {
	if f["loop"] == "" {
		return done{}, engine.Refuse(engine.Usage, "loop: the name of a loop is missing")
	}
	if err := s.Project.CheckInside(f["loop"]); err != nil {
		return done{}, err
	}
	request := &engine.StartRequest{Loop: f["loop"], Context: f.pairs()}
	words := append([]string{"run"}, append(flags("--context", f.pairs()), "--", f["loop"])...)
	if input := f["input"]; input != "" {
		request.Input, words = &input, append(words, input)
	}
	return begun(p.Begin(r.Context(), engine.Request{Start: request}, words))
}

func resume(r *http.Request, p Project, _ *Session, f fields, _ string) (done, error) {
	run := r.PathValue("run")
	request := &engine.ResumeRequest{
		Run: run, Context: f.pairs(), Rerun: f["rerun"] != "", Force: f["force"] != "" || f["definition"] == "file",
		RetryFailed: f["retry_failed"] != "", From: f["from"],
	}
	if f["definition"] == engine.RecordedDefinition {
		request.Definition = engine.RecordedDefinition
	}
	if f["limits"] != "" {
		if err := request.Extend.Set(f["limits"]); err != nil {
			return done{}, engine.Refuse(engine.Usage, "limits: %v", err)
		}
	}
	return begun(p.Begin(r.Context(), engine.Request{Resume: request}, []string{"resume", run}))
}

func fork(r *http.Request, p Project, _ *Session, f fields, _ string) (done, error) {
	at := cmp.Or(f["at"], "last")
	return newRun(r, p, f, engine.ForkRequest{At: at}, "fork", "--at="+at)
}

func retry(r *http.Request, p Project, _ *Session, f fields, _ string) (done, error) {
	return newRun(r, p, f, engine.ForkRequest{Retry: true}, "retry")
}

// newRun begins a run with what another one remembered; words are the command that does the same.
func newRun(r *http.Request, p Project, f fields, request engine.ForkRequest, words ...string) (done, error) {
	request.Run = r.PathValue("run")
	set := f.pairs()
	if f["set"] != "" {
		set = append(set, strings.Split(f["set"], "\n")...)
	}
	set = slices.DeleteFunc(set, func(s string) bool { return strings.TrimSpace(s) == "" })
	request.Set, request.Rerun, request.RetryFailed = set, f["rerun"] != "", f["retry_failed"] != ""
	if f["definition"] == engine.RecordedDefinition {
		request.Definition = engine.RecordedDefinition
	}
	return begun(p.Begin(r.Context(), engine.Request{Fork: &request},
		append(append(words, request.Run), flags("--set", set)...)))
}

func stop(r *http.Request, _ Project, s *Session, f fields, _ string) (done, error) {
	run := r.PathValue("run")
	told, err := s.Stop(r.Context(), run, app.Stopping{Grace: engine.StopGrace, AfterItem: f["after_item"] == "true"},
		nil, nil)
	if err != nil {
		return done{}, err
	}
	return done{api.WereStopped{Stopped: told.StopObjects()}, run}, nil
}

func pause(r *http.Request, _ Project, s *Session, _ fields, _ string) (done, error) {
	run := r.PathValue("run")
	told, err := s.Pause(r.Context(), run, nil)
	if err != nil {
		return done{}, err
	}
	return done{api.WerePaused{Paused: told.PauseObjects()}, run}, nil
}

func unpause(r *http.Request, _ Project, s *Session, _ fields, _ string) (done, error) {
	run := r.PathValue("run")
	told, err := s.Unpause(r.Context(), run, nil)
	if err != nil {
		return done{}, err
	}
	return done{api.WereUnpaused{Unpaused: told.UnpauseObjects()}, run}, nil
}

func retryNow(r *http.Request, _ Project, s *Session, _ fields, _ string) (done, error) {
	run := r.PathValue("run")
	woken := []string{}
	if err := s.Wake(r.Context(), run, func(e engine.Effect) { woken = append(woken, string(e.Before.ID)) }); err !=
		nil {
		return done{}, err
	}
	return done{api.WereWoken{Woken: woken}, run}, nil
}

// unblock continues all runs that wait for what this one waits for, because a person did what was needed.
func unblock(r *http.Request, p Project, s *Session, _ fields, _ string) (done, error) {
	run := r.PathValue("run")
	unblocked, err := s.UnblockRun(r.Context(), run, func(ctx context.Context, request engine.Request) error {
		_, err := p.Begin(ctx, request, []string{"resume", request.Resume.Run, "--park"})
		return err
	})
	if err != nil {
		return done{}, err
	}
	return done{app.UnblockedObject(unblocked), run}, nil
}

// remove removes the record of a run permanently. That it can be resumed is no obstacle: the page asked before.
func remove(r *http.Request, _ Project, s *Session, f fields, _ string) (done, error) {
	run := r.PathValue("run")
	if f["confirm"] != run {
		return done{}, engine.Refuse(engine.Usage, "confirm: expected the id of the run, because its record cannot "+
			"be brought back")
	}
	e, err := s.Engine()
	if err != nil {
		return done{}, err
	}
	defer e.Close()
	gone, err := e.Remove(r.Context(), engine.RemoveRequest{Runs: []string{run}, Force: true})
	if err != nil {
		return done{}, err
	}
	return done{object: api.WereRemoved{Removed: len(gone)}}, nil
}

func extend(r *http.Request, _ Project, s *Session, f fields, _ string) (done, error) {
	var by engine.Extend
	if err := by.Set(f["limits"]); err != nil {
		return done{}, engine.Refuse(engine.Usage, "limits: %v", err)
	}
	run := r.PathValue("run")
	told, err := s.Extend(r.Context(), run, by, nil)
	if err != nil {
		return done{}, err
	}
	return done{api.WereExtended{Extended: told.ExtendObjects(s.Page)}, run}, nil
}

func answer(r *http.Request, _ Project, s *Session, f fields, user string) (done, error) {
	run := r.PathValue("run")
	said := engine.Answer{
		Choice: cmp.Or(f["choice"], f["confirm"]), Confirmed: f["confirm"] != "",
		Address: f["question"], Fields: map[string]string{}, From: user, Known: s.Known,
	}
	if said.Choice == "" {
		return done{}, engine.Refuse(engine.Usage, "choice: it is missing")
	}
	if c := f["confirm"]; c != "" && c != said.Choice {
		return done{}, engine.Refuse(engine.Usage, "confirm: expected the choice again, found %s", humanize.Quote(c))
	}
	for name, v := range f {
		if key, ok := strings.CutPrefix(name, fieldPrefix); ok && v != "" {
			said.Fields[key] = v
		}
	}
	given, err := s.Answer(r.Context(), run, said)
	if err != nil {
		return done{}, err
	}
	return done{given.Object(), run}, nil
}

func signal(r *http.Request, _ Project, s *Session, f fields, user string) (done, error) {
	run := r.PathValue("run")
	event := fsm.Signal{Name: f["event"], From: user}
	if text := strings.TrimSpace(f["data"]); text != "" {
		data, err := value.ParseJSON([]byte(text))
		if err != nil {
			return done{}, engine.Refuse(engine.Usage, "data: %v", err)
		}
		event.Data = data
	}
	sent, err := s.Signal(r.Context(), run, event)
	if err != nil {
		return done{}, err
	}
	return done{sent.Object(), run}, nil
}
