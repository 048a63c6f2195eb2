package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/auth"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// How many events an answer holds.
const (
	usualEvents = 200
	mostEvents  = 2000
)

// api answers programs, with the objects that commands print with --json.
func (s *Server) api() []route {
	const project, run = "/api/v1/projects/{project}", "/api/v1/projects/{project}/runs/{run}"
	format := parameter{
		name: "format", about: "svg if it is absent", kind: "string",
		words: []string{"svg", "mermaid", "dot"},
	}
	after := parameter{name: "after", about: "the number of an event: those behind it", kind: "integer"}
	all := []route{
		allow(auth.Viewer, "GET /api/v1/openapi.json", s.document).documented(operation{
			says: "This document",
			kind: "application/json",
		}),
		allow(auth.Viewer, "GET /api/v1/projects", s.listProjects).documented(operation{
			says:   "The projects",
			answer: "projects",
		}),
		allow(auth.Viewer, "GET /api/v1/stream", s.stream).documented(
			operation{says: "Which runs differ from what was sent before: a message runs with the list changed, and " +
				"turned, those of it whose status is another one", kind: eventStream}),
		allow(auth.Viewer, "GET /api/v1/runs", s.listRuns).documented(operation{
			says:   "Runs, newest first, 50 a page",
			answer: "runs", query: []parameter{
				{name: "status", about: "a status or an outcome", kind: "string", words: inspect.Words()},
				{name: "loop", about: "the name in its file", kind: "string"},
				{name: "label", about: "of its loop", kind: "string"},
				{name: "q", about: "a text in the id, the state or the reason", kind: "string"},
				{name: "project", about: "its name", kind: "string"},
				{name: "since", about: "an age or a date", kind: "string"},
				{name: "until", about: "an age or a date", kind: "string"},
				{name: "waits", about: "only runs that ask a person", kind: "string", words: []string{"1", "person"}},
				{
					name: "skip", about: "the next of the page before; else none", kind: "string",
					pattern: `^[0-9]+(,[0-9]+)*$`,
				},
			},
		}),
		allow(auth.Viewer, "GET /api/v1/alarms", s.listAlarms).documented(operation{
			says:   "Alarms that are not over",
			answer: "alarms",
		}),
		allow(auth.Viewer, "GET "+project+"/loops", s.object(loops)).documented(
			operation{says: "The loops of a project", answer: "loops"}),
		allow(auth.Viewer, "GET "+project+"/loops/{loop}", s.object(definition)).documented(
			operation{says: "A loop as its file says", answer: "definition"}),
		allow(auth.Viewer, "GET "+project+"/loops/{loop}/graph", s.loopGraph).documented(
			operation{says: "A drawing of a loop", kind: "image/svg+xml", query: []parameter{format}}),
		allow(auth.Viewer, "GET "+project+"/questions", s.object(questions)).documented(
			operation{
				says: "Open questions", answer: "questions",
				query: []parameter{{name: "run", about: "only those of a run", kind: "string"}},
			}),
		allow(auth.Viewer, "GET "+project+"/queue", s.object(queue)).documented(
			operation{says: "Who waits in the queue", answer: "queue"}),
		allow(auth.Viewer, "GET "+run, s.object(status)).documented(operation{
			says:   "How a run stands",
			answer: "status",
		}),
		allow(auth.Viewer, "GET "+run+"/receipt", s.object(receipt)).documented(
			operation{
				says:   "What a run completed by: the checks that decided, and the tree of its files",
				answer: "receipt",
			}),
		allow(auth.Viewer, "GET "+run+"/explain", s.object(explain)).documented(
			operation{
				says: "Why a run is where it is, or what a step did", answer: "explanation",
				query: []parameter{{
					name: "step", about: "an address such as 3, 3/2 or 2/lint/1, or last",
					kind: "string",
				}},
			}),
		allow(auth.Viewer, "GET "+run+"/events", s.object(events)).documented(operation{
			says:   "Events of a run",
			answer: "events",
			query:  []parameter{after, {name: "limit", about: "how many at most, up to 2000", kind: "integer"}},
		}),
		allow(auth.Viewer, "GET "+run+"/cost", s.object(cost)).documented(
			operation{says: "What a run used, state by state", answer: "cost"}),
		allow(auth.Viewer, "GET "+run+"/diff", s.diff).documented(operation{
			says:   "A run beside another",
			answer: "comparison", query: []parameter{{name: "with", about: "the other run", kind: "string"}},
		}),
		allow(auth.Viewer, "GET "+run+"/graph", s.runGraph).documented(
			operation{
				says: "A drawing of a loop with what the run did in it", kind: "image/svg+xml",
				query: []parameter{format},
			}),
		allow(auth.Viewer, "GET "+run+"/report", s.reportFile).documented(
			operation{says: "A page about a run, in one file", kind: "text/html"}),
		allow(auth.Operator, "GET "+run+"/bundle", s.bundleFile).documented(
			operation{
				says: "A run in one file, with the files of its working folder, as export writes it",
				kind: "application/zstd",
			}),
		allow(auth.Viewer, "GET "+run+"/stream", s.streamRun).documented(
			operation{
				says: "Events of a run as they are recorded; Last-Event-ID continues", kind: eventStream,
				query: []parameter{after},
			}),
		allow(auth.Operator, "POST "+project+"/runs", s.write("start")).documented(
			operation{says: "Starts a run, which another process carries", body: "start", answer: "begun"}),
		allow(auth.Viewer, "/api/v1/", func(w http.ResponseWriter, r *http.Request) {
			s.refuse(w, r, http.StatusNotFound, "there is no such address; those that there are: /api/v1/openapi.json")
		}),
	}
	for _, one := range s.writes("POST " + run + "/") {
		verb := one.pattern[strings.LastIndex(one.pattern, "/")+1:]
		all = append(all, one.documented(operation{says: verbs[verb][0], body: verb, answer: verbs[verb][1]}))
	}
	return all
}

// verbs describe the writes to a run, and what they answer with.
var verbs = map[string][2]string{
	"answer": {"Answers the question of a run", "answered"}, "extend": {"Raises limits of a run", "extended"},
	"fork":      {"Begins a new run from a step of this one", "begun"},
	"pause":     {"Has a run wait before its next state", "paused"},
	"remove":    {"Permanently removes the record of a run", "removed"},
	"resume":    {"Continues a run, which another process carries", "begun"},
	"retry":     {"Begins a new run from the step that decided how this one ended", "begun"},
	"retry-now": {"Ends the wait of a run", "woken"}, "signal": {"Sends an event to a run", "sent"},
	"stop":    {"Stops a run", "stopped"},
	"unblock": {"Continues all runs that were suspended by what suspended this one", "unblocked"},
	"unpause": {"Lets a paused run continue", "unpaused"},
}

func (s *Server) listProjects(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK,
		terminal.List(s.Projects, func(p Project) any { return api.ServedProject{Name: p.Name, Dir: p.Dir} }))
}

// object answers with what ask returns for the project that the address names.
func (s *Server) object(ask func(*http.Request, *Session) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.with(w, r, func(_ Project, session *Session) error {
			o, err := ask(r, session)
			if err == nil {
				writeJSON(w, http.StatusOK, o)
			}
			return err
		})
	}
}

// with opens the project that the address names, has do answer, and says what went wrong.
func (s *Server) with(w http.ResponseWriter, r *http.Request, do func(Project, *Session) error) {
	p, ok := s.project(r)
	if !ok {
		s.refuse(w, r, http.StatusNotFound, "there is no such project")
		return
	}
	session, err := p.Open()
	if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	defer session.Close()
	if session.From = userOf(r).Name; s.Access.Token == nil {
		session.Known = []string{session.From}
	}
	if err := do(p, session); err != nil {
		s.refuse(w, r, statusOf(err), session.InWords(err).Error())
	}
}

// statusOf is the status of an answer that is an error.
func statusOf(err error) int {
	if _, is := errors.AsType[*engine.NothingError](err); is {
		return http.StatusNotFound
	}
	if _, is := errors.AsType[*project.NoRunError](err); is {
		return http.StatusNotFound
	}
	if _, is := errors.AsType[*persistence.ElsewhereError](err); is {
		return http.StatusNotFound
	}
	if _, is := errors.AsType[*project.NoDatabaseError](err); is {
		return http.StatusNotFound
	}
	if _, is := errors.AsType[*http.MaxBytesError](err); is {
		return http.StatusRequestEntityTooLarge
	}
	if _, is := errors.AsType[*project.LoopNotFoundError](err); is {
		return http.StatusNotFound
	}
	_, held := errors.AsType[*persistence.HeldError](err)
	if _, changed := errors.AsType[*app.ChangedError](err); changed || held {
		return http.StatusConflict
	}
	refusal, is := errors.AsType[*engine.Refusal](err)
	switch {
	case is && refusal.Kind == engine.NotFound:
		return http.StatusNotFound
	case is && refusal.Kind == engine.Usage:
		return http.StatusBadRequest
	case is:
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

func status(r *http.Request, s *Session) (any, error) {
	status, err := s.Status(r.Context(), r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	return status.Object(), nil
}

func receipt(r *http.Request, s *Session) (any, error) {
	found, err := s.Receipt(r.Context(), r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	return view.Receipt(found), nil
}

func explain(r *http.Request, s *Session) (any, error) {
	story, err := s.Explain(r.Context(), r.PathValue("run"), r.FormValue("step"))
	if err != nil {
		return nil, err
	}
	return view.Explanation(story), nil
}

func loops(r *http.Request, s *Session) (any, error) {
	all, err := s.Loops(app.LoopFilter{})
	if err != nil {
		return nil, err
	}
	if err := s.AddLast(r.Context(), all); err != nil {
		return nil, err
	}
	return all.Objects(), nil
}

func events(r *http.Request, s *Session) (any, error) {
	after, limit := number(r, "after", 0), min(number(r, "limit", usualEvents), mostEvents)
	f, err := s.Finder(r.Context())
	if err != nil {
		return nil, err
	}
	run, err := app.OneRun(r.Context(), f, r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	page := api.ServedEvents{Instance: string(run.ID), Next: after}
	for e, err := range f.Store.EventsOf(r.Context(), run, after) {
		if project.IsDamage(err) {
			continue
		}
		if err != nil {
			return nil, f.Store.Failed(err)
		}
		if page.More = uint64(len(page.Events)) == limit; page.More {
			break
		}
		page.Events, page.Next = append(page.Events, api.EventOf(e)), e.Seq
	}
	return page, nil
}

// number reads a number of a query; a missing or wrong one is not an error of the user.
func number(r *http.Request, name string, usual uint64) uint64 {
	n, err := strconv.ParseUint(r.FormValue(name), 10, 63)
	if err != nil {
		return usual
	}
	return n
}

// listRuns answers with runs of all projects, newest first.
func (s *Server) listRuns(w http.ResponseWriter, r *http.Request) {
	wanted := askedRuns(r)
	found, err := s.find(r.Context(), wanted)
	if err == nil && len(found.rows) == 0 {
		err = s.unknownLoop(r.Context(), wanted)
	}
	if err != nil {
		s.refuse(w, r, statusOf(err), err.Error())
		return
	}
	page := api.ServedRuns{More: found.next != "", Next: found.next}
	for _, row := range found.rows {
		o := api.ServedRun{Run: view.RunTable{}.Run(row.run), Project: row.Project, Alive: project.Alive(row.run)}
		o.Outcome = row.Status
		page.Runs = append(page.Runs, o)
	}
	writeJSON(w, http.StatusOK, page)
}

// unknownLoop refuses runs of a loop, or of loops with a label, that no project has.
func (s *Server) unknownLoop(ctx context.Context, a asked) error {
	if a.Loop == "" && a.Label == "" {
		return nil
	}
	var names, labels []string
	err := s.openAll(ctx, func(p Project, f project.Finder) error {
		entries, _ := loopfile.List(f.Project.Loops) // a folder that cannot be read has no loops
		for _, e := range entries {
			names, labels = append(names, e.Loop), append(labels, e.Labels...)
		}
		if a.Loop == "" {
			return nil
		}
		runs, err := f.Store.Runs(ctx, persistence.Query{Loop: a.Loop, Limit: 1})
		if err != nil {
			return f.Store.Failed(err)
		}
		for _, run := range project.Current(runs) { // of a loop whose file is gone
			names = append(names, run.Loop)
		}
		return nil
	})
	unknown := func(kind, name string, known []string) error {
		slices.Sort(known)
		return engine.Refuse(engine.Usage, "%s", api.UnknownName(kind, name, slices.Compact(known)))
	}
	switch {
	case err != nil:
		return err
	case a.Loop != "" && !slices.Contains(names, a.Loop):
		return unknown("loop", a.Loop, names)
	case a.Label != "" && !slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, a.Label) }):
		return unknown("label", a.Label, labels)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, o any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(value.AppendJSON(nil, o), '\n')) // the client may be gone
}

// refuse explains why a request is not answered, as an object or as a page.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if ofAPI(r) {
		writeJSON(w, status, api.Refused{Error: why})
		return
	}
	s.refuseForm(w, r, status, why, nil)
}

// refuseForm answers a browser with why something was not done, and with what was typed, by the name of the field.
func (s *Server) refuseForm(w http.ResponseWriter, r *http.Request, status int, why string, typed [][2]string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	s.render(w, r, "refused", fmt.Sprintf("%d %s", status, http.StatusText(status)), struct {
		Why   string
		Typed [][2]string
	}{why, typed})
}

// openAll opens each project in turn and closes it again.
func (s *Server) openAll(ctx context.Context, each func(Project, project.Finder) error) error {
	for _, p := range s.Projects {
		session, err := p.Open()
		if err != nil {
			return err
		}
		f, err := session.Finder(ctx)
		if err == nil {
			err = each(p, f)
		}
		if _, none := errors.AsType[*project.NoDatabaseError](err); none {
			err = nil // nothing was recorded yet
		}
		if err != nil {
			err = session.InWords(err)
		}
		session.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
