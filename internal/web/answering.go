package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/notify"
	"loops/fsm"
	"loops/internal/app"
	"loops/internal/auth"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// answering has the addresses of links that answer a question. Who opens one proves with its signature what
// they may do, and has no session. Only a POST answers: programs that show a preview of a message open its
// links.
func (s *Server) answering() []route {
	return []route{
		allow(auth.Anyone, "GET "+notify.AnswerPath+"{link}", s.answerPage),
		allow(auth.Anyone, "POST "+notify.AnswerPath+"{link}", s.answerByLink),
	}
}

// A linkPage is what a link leads to.
type linkPage struct {
	notify.SignedLink
	Loop     string
	To       string
	Question *fsm.OpenQuestion // nil = it is not open, or the link was used
	Said     string            // what was answered, or why nothing can be
	Problem  string            // why it was not taken
	Typed    map[string]string // the fields of what was not taken, by name
}

// linked opens the project whose key signed the link of a request, and which has its run, and calls do with it.
// A project whose records are where the link says is preferred; another one has the same run if it names the
// database in another way, or was moved.
func (s *Server) linked(r *http.Request, do func(p Project, session *Session, key string, page *linkPage) error) (
	ok bool, err error,
) {
	for _, same := range []bool{true, false} {
		for _, p := range s.Projects {
			done, err := s.linkedIn(r, p, same, do)
			if done || err != nil {
				return done, err
			}
		}
	}
	return false, nil
}

// linkedIn is linked of one project; same: only where its records have the mark of the link.
func (s *Server) linkedIn(r *http.Request, p Project, same bool,
	do func(p Project, session *Session, key string, page *linkPage) error,
) (ok bool, err error) {
	session, err := p.Open()
	if err != nil {
		return false, err
	}
	defer session.Close()
	key, err := session.Project.AnswerKey(false)
	if err != nil {
		return false, nil //nolint:nilerr // then it signed no link
	}
	link, ok := notify.ReadLink(r.PathValue("link"), key)
	if !ok || same && link.Records != session.Project.RecordsMark() {
		return false, nil
	}
	f, err := session.Finder(r.Context())
	if err != nil {
		return false, err
	}
	runs, err := f.Store.Runs(r.Context(), persistence.Query{ID: persistence.ID(link.Run)})
	if err != nil || len(runs) == 0 || fsm.FormatTime(runs[0].StartedAt) != link.Began {
		return false, err
	}
	if !same && engine.Copied(session.Project, runs[0]) {
		return false, nil // the link is of a run of the project that this one is a copy of
	}
	return true, do(p, session, key,
		&linkPage{SignedLink: link, Loop: runs[0].Loop, To: s.BasePath + notify.AnswerPath + r.PathValue("link")})
}

// stand fills in where the question of a link is.
func (page *linkPage) stand(ctx context.Context, session *Session, key string) error {
	f, err := session.Finder(ctx)
	if err != nil {
		return err
	}
	id := persistence.ID(page.Run)
	used, err := engine.LinkUsed(ctx, f.Store, id, page.ID(key))
	if err != nil {
		return err
	}
	given, err := engine.Given(ctx, f.Store, id)
	if err != nil {
		return err
	}
	open, err := app.OpenQuestions(ctx, f.Store, page.Run)
	if refusal, is := err.(*engine.Refusal); err != nil && (!is || refusal.Kind != engine.NotFound) { //nolint:errorlint // it is not wrapped
		return err
	}
	var q *fsm.OpenQuestion
	if i := slices.IndexFunc(open, func(o engine.Question) bool {
		return o.Question.Address == page.SignedLink.Question
	}); i >= 0 {
		q = open[i].Question
	}
	var said []string
	if !used.IsZero() {
		said = append(said, "This link was used at "+humanize.Clock(used)+": "+page.Choice+".")
	}
	mine := q == nil || engine.Answer{Known: []string{page.By}}.MayAnswer(q)
	switch i := slices.IndexFunc(given, func(g inspect.GivenAnswer) bool {
		return g.Address == page.SignedLink.Question
	}); {
	case i >= 0:
		said = append(said, "The question was answered: "+given[i].Text()+".")
	case q == nil:
		said = append(said, "The question is no longer open, so the link has expired.")
	case !used.IsZero():
		said = append(said, "The question is still open: "+q.Standing()+".")
	case !mine:
		said = append(said, "The question is for "+humanize.And(q.Who)+", and this link is for "+page.By+".")
	default:
		page.Question = q
	}
	page.Said = strings.Join(said, " ")
	return nil
}

func (s *Server) answerPage(w http.ResponseWriter, r *http.Request) {
	s.answerLinks(w, r, func(_ Project, session *Session, key string, page *linkPage) error {
		return page.stand(r.Context(), session, key)
	})
}

func (s *Server) answerByLink(w http.ResponseWriter, r *http.Request) {
	f, err := readFields(r)
	if err != nil {
		s.refuse(w, r, statusOf(err), err.Error())
		return
	}
	s.answerLinks(w, r, func(p Project, session *Session, key string, page *linkPage) error {
		said := engine.Answer{
			Choice: page.Choice, Address: page.SignedLink.Question, From: page.By + " (by a link)", Person: page.By,
			Known: []string{page.By}, Link: page.ID(key), Confirmed: true, Fields: map[string]string{},
		}
		for name, v := range f {
			if field, ok := strings.CutPrefix(name, fieldPrefix); ok && v != "" {
				said.Fields[field] = v
			}
		}
		_, err := session.Answer(r.Context(), page.Run, said)
		s.audit(r, p, "answer by a link of "+page.By, page.Run,
			fields{"question": page.SignedLink.Question, "choice": page.Choice}, err)
		if err != nil {
			page.Problem, page.Typed = session.InWords(err).Error(), said.Fields
		}
		return page.stand(r.Context(), session, key)
	})
}

// answerLinks shows the page of a link after do.
func (s *Server) answerLinks(w http.ResponseWriter, r *http.Request,
	do func(p Project, session *Session, key string, page *linkPage) error,
) {
	var shown *linkPage
	ok, err := s.linked(r, func(p Project, session *Session, key string, page *linkPage) error {
		shown = page
		return do(p, session, key, page)
	})
	switch {
	case err != nil:
		s.refuse(w, r, statusOf(err), err.Error())
	case !ok:
		s.refuse(w, r, http.StatusNotFound, "this link answers nothing here: a part of it is missing, its run was "+
			"removed, or the key that signed it was changed")
	default:
		s.render(w, r, "answer", "Answer "+shown.Loop, shown)
	}
}
