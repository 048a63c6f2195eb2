package web

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/auth"
)

// editing are the addresses by which authors change loops, where the server lets them.
func (s *Server) editing() []route {
	const of = "/api/v1/projects/{project}"
	return []route{
		allow(auth.Author, "GET /p/{project}/new", s.edited(s.newPage)),
		allow(auth.Author, "POST /p/{project}/new", s.edited(s.makeForm)),
		allow(auth.Author, "POST "+of+"/loops", s.edited(s.makeLoop)).documented(
			operation{says: "Makes a loop from a pattern; needs serve --edit", body: "new", answer: "made"}),
		allow(auth.Operator, "POST /p/{project}/tour", func(w http.ResponseWriter, r *http.Request) {
			s.with(w, r, func(p Project, session *Session) error { return s.makeTour(w, r, p, session) })
		}),
		allow(auth.Author, "GET /p/{project}/edit", s.edited(s.editPage)),
		allow(auth.Author, "POST /p/{project}/edit", s.edited(s.saveForm)),
		allow(auth.Viewer, "GET "+of+"/words", s.object(words)).documented(
			operation{says: "What may stand in a loop file, for completion", answer: "words"}),
		allow(auth.Viewer, "GET "+of+"/loops/{loop}/text", s.object(loopText)).documented(
			operation{says: "The text of a loop's file", answer: "text"}),
		allow(auth.Author, "POST "+of+"/loops/{loop}/check", s.edited(s.checkText)).documented(
			operation{
				says: "What would be wrong with a loop if its file had a text; needs serve --edit",
				body: "check", answer: "problems",
			}),
		allow(auth.Author, "POST "+of+"/loops/{loop}/text", s.edited(s.saveText)).documented(
			operation{says: "Saves the text of a loop's file; needs serve --edit", body: "text", answer: "saved"}),
	}
}

// edited answers only where the server was started for it.
func (s *Server) edited(answer func(http.ResponseWriter, *http.Request, Project, *Session) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.Edit {
			s.refuse(w, r, http.StatusForbidden, "loops are not changed here: the server was started without --edit")
			return
		}
		s.with(w, r, func(p Project, session *Session) error { return answer(w, r, p, session) })
	}
}

func words(_ *http.Request, s *Session) (any, error) {
	all, err := app.KeyWords(s.Project.ActionTypes())
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return value.ParseJSON(text)
}

func loopText(r *http.Request, s *Session) (any, error) {
	f, err := app.OpenLoopFile(s.Project, r.PathValue("loop"))
	if err != nil {
		return nil, err
	}
	return api.LoopText{Loop: f.Loop, File: f.Path, Text: f.Text, Hash: f.Hash}, nil
}

func textProblems(problems []fsm.Problem, f app.EditedFile) []api.TextProblem {
	all := make([]api.TextProblem, len(problems))
	for i, pr := range problems {
		all[i] = api.TextProblem{
			Line: pr.Pos.Line, Column: pr.Pos.Col, Severity: string(pr.Severity), Rule: pr.Rule,
			Message: pr.Message,
		}
		if pr.Pos.File != "" && pr.Pos.File != f.Path { // of a file that the loop is made of, too
			all[i].Line, all[i].Column = 0, 0
		}
	}
	return all
}

func (s *Server) checkText(w http.ResponseWriter, r *http.Request, _ Project, session *Session) error {
	given, err := readFields(r)
	if err != nil {
		return err
	}
	f, err := app.OpenLoopFile(session.Project, r.PathValue("loop"))
	if err != nil {
		return err
	}
	problems, err := app.CheckText(session.Project, f, given["text"])
	if err == nil {
		writeJSON(w, http.StatusOK, textProblems(problems, f))
	}
	return err
}

// save saves what a form or an object says, and leaves a line for the audit.
func (s *Server) save(r *http.Request, p Project, session *Session, loop string, given fields) (f app.EditedFile,
	problems []fsm.Problem, err error,
) {
	if f, err = app.OpenLoopFile(session.Project, loop); err == nil {
		f, problems, err = app.SaveLoopFile(session.Project, f, given["sha256"], given["text"],
			given["despite"] == "true")
	}
	s.audit(r, p, "edit", "", fields{"loop": loop}, err)
	return f, problems, err
}

func (s *Server) saveText(w http.ResponseWriter, r *http.Request, p Project, session *Session) error {
	given, err := readFields(r)
	if err != nil {
		return err
	}
	f, problems, err := s.save(r, p, session, r.PathValue("loop"), given)
	if invalid, is := errors.AsType[*app.InvalidError](err); is {
		writeJSON(w, http.StatusUnprocessableEntity,
			api.InvalidText{Error: err.Error(), Problems: textProblems(invalid.Problems, f)})
		return nil
	}
	if err == nil {
		writeJSON(w, http.StatusOK, api.SavedText{Loop: f.Loop, Hash: f.Hash, Problems: textProblems(problems, f)})
	}
	return err
}

// A newPage asks for the name of a new loop and the pattern that it starts from.
type newPage struct {
	Project, Name, From string
	Wrong               string // why it was not made
	Patterns            [][2]string
}

func (s *Server) newPage(w http.ResponseWriter, r *http.Request, p Project, _ *Session) error {
	s.showNew(w, r, newPage{Project: p.Name, From: app.StarterNames[0]})
	return nil
}

func (s *Server) showNew(w http.ResponseWriter, r *http.Request, page newPage) {
	for _, name := range app.StarterNames {
		page.Patterns = append(page.Patterns, [2]string{name, app.AboutStarter(name)})
	}
	s.render(w, r, "new", "New loop", page)
}

// make makes a loop, and leaves a line for the audit.
func (s *Server) make(r *http.Request, p Project, session *Session) (given fields, path string, err error) {
	var text string
	if given, err = readFields(r); err == nil {
		text, err = app.StarterText(given["pattern"], given["loop"])
	}
	if err == nil {
		var files []string
		if files, err = app.WriteLoop(session.Project, given["pattern"], given["loop"], text); err == nil {
			path = files[0]
		}
	}
	s.audit(r, p, "new", "", given, err)
	return given, path, err
}

func (s *Server) makeLoop(w http.ResponseWriter, r *http.Request, p Project, session *Session) error {
	given, path, err := s.make(r, p, session)
	if err == nil {
		writeJSON(w, http.StatusOK, api.MadeLoop{Loop: given["loop"], File: path})
	}
	return err
}

func (s *Server) makeForm(w http.ResponseWriter, r *http.Request, p Project, session *Session) error {
	given, _, err := s.make(r, p, session)
	if given == nil {
		return err
	}
	if err != nil {
		s.showNew(w, r, newPage{
			Project: p.Name, Name: given["loop"], From: given["pattern"],
			Wrong: session.InWords(err).Error(),
		})
		return nil
	}
	http.Redirect(w, r, s.BasePath+"/p/"+url.PathEscape(p.Name)+"/edit?loop="+url.QueryEscape(given["loop"]),
		http.StatusSeeOther)
	return nil
}

// makeTour gives a project its first loop: always the same one, whose actions keep to the folder of the run, so
// that it takes no author.
func (s *Server) makeTour(w http.ResponseWriter, r *http.Request, p Project, session *Session) error {
	text, err := app.StarterText(app.Tour, app.Tour)
	if err == nil {
		_, err = app.WriteLoop(session.Project, app.Tour, app.Tour, text)
	}
	s.audit(r, p, "new", "", fields{"loop": app.Tour}, err)
	if err != nil {
		return err
	}
	http.Redirect(w, r, s.BasePath+"/p/"+url.PathEscape(p.Name)+"/start?loop="+app.Tour, http.StatusSeeOther)
	return nil
}

// An editPage has the text of a loop.
type editPage struct {
	Project, Name, File, Text, Hash string
	Wrong                           string // why it was not saved
	Despite                         bool   // it can be saved all the same
	Problems                        []finding
	Check, Words                    string // addresses for the script
	Nonce                           string
}

func (s *Server) editPage(w http.ResponseWriter, r *http.Request, p Project, session *Session) error {
	f, err := app.OpenLoopFile(session.Project, r.FormValue("loop"))
	if err != nil {
		return err
	}
	problems, err := app.CheckText(session.Project, f, f.Text)
	if err != nil {
		return err
	}
	s.showEditor(w, r, p, session, f, problems, editPage{})
	return nil
}

// saveForm saves a text. One that has mistakes is shown again with them, and so is one whose file was changed.
func (s *Server) saveForm(w http.ResponseWriter, r *http.Request, p Project, session *Session) error {
	given, err := readFields(r)
	if err != nil {
		return err
	}
	f, _, err := s.save(r, p, session, given["loop"], given)
	invalid, isInvalid := errors.AsType[*app.InvalidError](err)
	_, isChanged := errors.AsType[*app.ChangedError](err)
	f.Text, f.Hash = given["text"], given["sha256"]
	switch {
	case isInvalid:
		s.showEditor(w, r, p, session, f, invalid.Problems, editPage{Wrong: err.Error(), Despite: true})
		return nil
	case isChanged:
		problems, _ := app.CheckText(session.Project, f, f.Text) // they are beside the point now
		s.showEditor(w, r, p, session, f, problems,
			editPage{Wrong: err.Error() + ". Your text is below, and is nowhere else."})
		return nil
	case err == nil:
		http.Redirect(w, r, s.BasePath+"/p/"+url.PathEscape(p.Name)+"/loop?loop="+url.QueryEscape(given["loop"]),
			http.StatusSeeOther)
	}
	return err
}

// showEditor is the one page whose script makes styles, which have a word that is new each time, with small
// pictures in them.
func (s *Server) showEditor(w http.ResponseWriter, r *http.Request, p Project, session *Session, f app.EditedFile,
	problems []fsm.Problem, page editPage,
) {
	page.Project, page.Name, page.File, page.Text, page.Hash, page.Nonce = p.Name, f.Loop,
		session.Project.Short(f.Path), f.Text, f.Hash, rand.Text()
	of := s.BasePath + "/api/v1/projects/" + url.PathEscape(p.Name)
	page.Check, page.Words = of+"/loops/"+url.PathEscape(f.Loop)+"/check", of+"/words"
	lines := strings.Split(f.Text, "\n")
	for _, pr := range problems {
		page.Problems = append(page.Problems, found(session, pr, f.Path, lines))
	}
	own := strings.NewReplacer("style-src 'self'", "style-src 'self' 'nonce-"+page.Nonce+"'", "img-src 'self'",
		"img-src 'self' data:")
	w.Header().Set("Content-Security-Policy", own.Replace(policy))
	s.render(w, r, "edit", "Edit "+f.Loop, page)
}
