package web

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/service"
	"loops/persistence"
)

// pages answers browsers.
func (s *Server) pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("GET /loops", s.loopsPage)
	mux.HandleFunc("GET /p/{project}/start", s.startPage)
	mux.HandleFunc("POST /p/{project}/start", s.write("start"))
	mux.HandleFunc("GET /p/{project}/runs/{run}", s.runPage)
	mux.HandleFunc("POST /p/{project}/runs/{run}/{verb}", s.write(""))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusNotFound, "there is no such page")
	})
	return mux
}

// A frame is what every page is drawn in.
type frame struct {
	Base, Title, Here string
	Many              bool // there are several projects
	Data              any
}

// render writes a page. It is drawn whole first: half a page that ends in an error is none.
func (s *Server) render(w http.ResponseWriter, _ *http.Request, name, title string, data any) {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, frame{s.BasePath, title, name, len(s.Projects) > 1, data}); err != nil {
		http.Error(w, "the page cannot be drawn: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // whoever asked may be gone
}

// A homePage has the runs of all projects.
type homePage struct {
	Asked    asked
	Rows     []row
	Statuses []string
	Older    string // address of the next page; "" = this is the last
	Newer    string
}

func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	a := askedRuns(r)
	found, err := s.find(r.Context(), a)
	if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	page := homePage{Asked: a, Rows: found.rows, Statuses: service.Statuses}
	if found.more {
		page.Older = a.Link("page", fmt.Sprint(a.Page+1))
	}
	if a.Page > 0 {
		page.Newer = a.Link("page", fmt.Sprint(a.Page-1))
	}
	s.render(w, r, "home", "Runs", page)
}

// A loopRow is a loop with what became of its last runs, oldest first.
type loopRow struct {
	Project string
	loopfile.Entry
	Last  []row
	Runs  int
	Good  int // of Last that have ended
	Ended int
}

const sparkRuns = 20

func (s *Server) loopsPage(w http.ResponseWriter, r *http.Request) {
	var rows []loopRow
	for _, p := range s.Projects {
		session, err := p.Open()
		if err == nil {
			rows, err = appendLoops(r, rows, p, session)
			session.Close()
		}
		if err != nil {
			s.refuse(w, r, http.StatusInternalServerError, err.Error())
			return
		}
	}
	s.render(w, r, "loops", "Loops", rows)
}

func appendLoops(r *http.Request, rows []loopRow, p Project, session *Session) ([]loopRow, error) {
	all, err := session.Loops(service.LoopFilter{})
	if err != nil {
		return nil, session.InWords(err)
	}
	f, err := session.Finder(r.Context())
	if err != nil {
		return nil, session.InWords(err)
	}
	for _, e := range slices.Concat(all.Own, all.Catalog) {
		l := loopRow{Project: p.Name, Entry: e}
		runs, err := f.Store.Runs(r.Context(), persistence.Query{Loop: e.Loop, Limit: sparkRuns})
		if err != nil {
			return nil, session.InWords(f.Store.Failed(err))
		}
		for _, run := range project.Current(runs) {
			l.Last = append(l.Last, rowOf(p, run))
			if !project.Alive(run) && !run.Resumable {
				l.Ended++
			}
			if run.Status == persistence.Completed {
				l.Good++
			}
		}
		slices.Reverse(l.Last)
		rows = append(rows, l)
	}
	return rows, nil
}

// A startForm is what a run is started with.
type startForm struct {
	Project, Loop, Title, Text string
	Inputs                     []input
	Problem                    string
	Command                    string
}

// An input is a field of a form.
type input struct {
	Name, Kind, Value, About string
	Required                 bool
	Values                   []string
}

func (s *Server) startPage(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(p Project, session *Session) error {
		lib, err := session.Project.Library()
		if err != nil {
			return err
		}
		name := r.FormValue("loop")
		if err := inside(name); err != nil {
			return err
		}
		path, err := lib.Find(name)
		if err != nil {
			return err
		}
		loaded, err := lib.Load(path)
		if err != nil {
			return err
		}
		form := startForm{Project: p.Name, Loop: name, Command: session.Page.Command("run", name)}
		if loaded.Loop == nil {
			form.Problem = "This loop has mistakes and cannot run. See them with: " + session.Page.Command("validate", name)
		} else {
			form.Title, form.Inputs = strings.TrimSpace(loaded.Loop.Description), inputs(loaded.Loop)
		}
		s.render(w, r, "start", "Start "+name, form)
		return nil
	})
}

// inputs are the fields of a form that starts a loop: its parameters, and those values of its context that are no objects.
func inputs(l *fsm.Loop) []input {
	var all []input
	named := map[string]bool{}
	for _, p := range l.Parameters {
		in := input{Name: p.Name, Kind: p.Type, About: p.Description, Required: p.Required}
		if p.Default != nil {
			in.Value = value.Text(p.Default)
		}
		for _, v := range p.Values {
			in.Values = append(in.Values, value.Text(v))
		}
		all, named[p.Name] = append(all, in), true
	}
	if l.Context == nil {
		return all
	}
	for key, v := range l.Context.All() {
		switch v.(type) {
		case *value.Map, []any:
			continue
		}
		if !named[key] {
			all = append(all, input{Name: key, Kind: "string", Value: value.Text(v)})
		}
	}
	return all
}
