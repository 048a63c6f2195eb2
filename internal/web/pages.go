package web

import (
	"bytes"
	"errors"
	"net/http"
	"path/filepath"
	"slices"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/loopfile"
	"loops/internal/auth"
	"loops/internal/inspect"
)

// pages answers browsers.
func (s *Server) pages() []route {
	all := []route{
		allow(auth.Viewer, "GET /{$}", s.home),
		allow(auth.Viewer, "GET /loops", s.loopsPage),
		allow(auth.Viewer, "GET /p/{project}/loop", s.loopPage),
		allow(auth.Viewer, "GET /p/{project}/compare", s.comparePage),
		allow(auth.Operator, "GET /p/{project}/start", s.startPage),
		allow(auth.Operator, "POST /p/{project}/start", s.write("start")),
		allow(auth.Viewer, "GET /p/{project}/runs/{run}", s.runPage),
		allow(auth.Viewer, "GET /p/{project}/runs/{run}/report", s.reportFile),
		allow(auth.Operator, "GET /p/{project}/runs/{run}/bundle", s.bundleFile),
		allow(auth.Operator, "GET /p/{project}/runs/{run}/resume", s.again("resume")),
		allow(auth.Operator, "GET /p/{project}/runs/{run}/fork", s.again("fork")),
		allow(auth.Viewer, "/", func(w http.ResponseWriter, r *http.Request) {
			s.refuse(w, r, http.StatusNotFound, "there is no such page")
		}),
	}
	return append(all, s.writes("POST /p/{project}/runs/{run}/")...)
}

// A frame is what every page is drawn in.
type frame struct {
	Base, Title, Here string
	Many              bool // there are several projects
	User              auth.User
	Signs             bool // users sign in, and out
	Operates          bool // the user may act on runs
	Edits             bool // and may change loops here
	Nav               [][3]string
	Data              any
}

// render writes a page. It is drawn whole first: half a page that ends in an error is not usable.
func (s *Server) render(w http.ResponseWriter, r *http.Request, name, title string, data any) {
	var b bytes.Buffer
	f := frame{s.BasePath, title, name, len(s.Projects) > 1, userOf(r), s.Access.Users != nil ||
		s.Access.OpenID != nil, may(r, auth.Operator), s.Edit && may(r, auth.Author), s.navigation(), data}
	if err := templates().ExecuteTemplate(&b, name, f); err != nil {
		http.Error(w, "the page cannot be drawn: "+err.Error(), http.StatusInternalServerError)
		return
	}
	s.pace(w, r)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

// A homePage has the runs of all projects.
type homePage struct {
	Asked         asked
	Rows          []row
	Statuses      []string
	Rare          []string // statuses that are folded, unless one of them is asked for
	Loops, Labels []string // there are
	Waiting       int
	Alarms        []raised
	Problem       string
	Older         string // address of the next page; "" = this is the last
	Newest        string // address of the first page; "" = this is it
	Partly        bool   // looking took too long: there may be more
}

// chips are what the page of runs offers to choose by: words for where a run is, or how it ended.
var (
	chips = []string{
		"running", "completed", "failed", inspect.Suspended, inspect.Paused, "parked", "stopped",
		"interrupted", "queued",
	}
	rareChips = []string{
		inspect.Unmerged, "timed_out", "capped", "stalled", "killed", "budget", "limited",
		"handed_off", "starting", inspect.UnknownOwner, "unreadable",
	}
)

func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	a := askedRuns(r)
	page := homePage{Asked: a, Statuses: chips, Rare: rareChips}
	found, err := s.find(r.Context(), a)
	if refusal, is := errors.AsType[*engine.Refusal](err); is && refusal.Kind == engine.Usage {
		page.Problem = err.Error()
	} else if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	page.Rows, page.Waiting, page.Alarms = found.rows, found.waiting, found.alarms
	page.Loops, page.Labels = s.words()
	if page.Partly = found.partly; found.next != "" {
		page.Older = a.Link("skip", found.next)
	}
	if len(a.Skip) > 0 {
		page.Newest = a.Link("skip", "")
	}
	s.render(w, r, "home", "Runs", page)
}

// words are the names of all loops, and their labels.
func (s *Server) words() (loops, labels []string) {
	for _, p := range s.Projects {
		entries, _ := loopfile.List(filepath.Join(p.Dir, project.Folder)) // a folder that cannot be read has none
		for _, e := range entries {
			loops, labels = append(loops, e.Loop), append(labels, e.Labels...)
		}
	}
	slices.Sort(loops)
	slices.Sort(labels)
	return slices.Compact(loops), slices.Compact(labels)
}
