package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

const (
	pageRuns   = 50
	mostLooked = 100_000 // runs that a filter looks through
)

// An asked is what runs are asked for.
type asked struct {
	Status, Loop, Text, Project string
	Page                        int // from 0
}

func askedRuns(r *http.Request) asked {
	page, _ := strconv.Atoi(r.FormValue("page"))
	return asked{Status: r.FormValue("status"), Loop: r.FormValue("loop"), Text: strings.TrimSpace(r.FormValue("q")), Project: r.FormValue("project"), Page: min(max(page, 0), mostLooked/pageRuns)}
}

// Link is the address of the page with one value changed.
func (a asked) Link(key, val string) string {
	q := url.Values{}
	for _, f := range [][2]string{{"status", a.Status}, {"loop", a.Loop}, {"q", a.Text}, {"project", a.Project}, {key, val}} {
		if q.Del(f[0]); f[1] != "" {
			q.Set(f[0], f[1])
		}
	}
	return "?" + q.Encode()
}

// keeps reports whether a run is asked for.
func (a asked) keeps(r persistence.Run) bool {
	if a.Status != "" && a.Status != inspect.StatusWord(r) && a.Status != inspect.Outcome(r) || a.Loop != "" && r.Loop != a.Loop {
		return false
	}
	text := strings.ToLower(a.Text)
	return text == "" || slices.ContainsFunc([]string{string(r.ID), r.Loop, r.State, r.Message, r.Error, inspect.Outcome(r)}, func(s string) bool {
		return strings.Contains(strings.ToLower(s), text)
	})
}

// filters reports whether anything is asked for but a page.
func (a asked) filters() bool { return a.Status != "" || a.Text != "" }

// A row is a run in a table.
type row struct {
	Project, ID, Loop, Status, State, Step, Reason, Took string
	Started                                              time.Time
	Alive, Waits                                         bool
	run                                                  persistence.Run
}

type foundRuns struct {
	rows []row
	more bool
}

// find returns one page of the runs of all projects, newest first.
func (s *Server) find(ctx context.Context, a asked) (found foundRuns, err error) {
	until := (a.Page+1)*pageRuns + 1
	err = s.openAll(ctx, func(p Project, f project.Finder) error {
		if a.Project != "" && p.Name != a.Project {
			return nil
		}
		q := persistence.Query{Loop: a.Loop, Limit: until}
		if a.filters() {
			q.Limit = mostLooked
		}
		runs, err := f.Store.Runs(ctx, q)
		if err != nil {
			return f.Store.Failed(err)
		}
		n := 0
		for _, r := range project.Current(runs) {
			if n < until && a.keeps(r) {
				found.rows, n = append(found.rows, rowOf(p, r)), n+1
			}
		}
		return nil
	})
	slices.SortStableFunc(found.rows, func(a, b row) int { return b.Started.Compare(a.Started) })
	found.more = len(found.rows) >= until
	found.rows = found.rows[min(a.Page*pageRuns, len(found.rows)):min((a.Page+1)*pageRuns, len(found.rows))]
	return found, err
}

func rowOf(p Project, r persistence.Run) row {
	reason := r.Message
	if !project.Alive(r) {
		reason = cmp.Or(reason, inspect.Reason(r), inspect.Outcome(r))
	}
	return row{
		Project: p.Name, ID: string(r.ID), Loop: r.Loop, Status: inspect.Outcome(r), State: r.State, Step: inspect.StepText(r),
		Reason: reason, Took: humanize.Duration(inspect.Elapsed(r)), Started: r.StartedAt, Alive: project.Alive(r),
		run: r,
	}
}
