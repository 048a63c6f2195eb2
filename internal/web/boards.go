package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/auth"
	"loops/internal/humanize"
	"loops/internal/view"
	"loops/persistence"
)

// boards are the pages that are tables of all projects, and what can be done there.
func (s *Server) boards() []route {
	const of = "/api/v1/projects/{project}"
	all := []route{
		allow(auth.Viewer, "GET /schedule",
			s.board("schedule", "Schedules", "No loop has a schedule. Give one with: schedule: {cron: \"0 3 * * *\"}",
				schedules)),
		allow(auth.Viewer, "GET /queue", s.board("queue", "Queue", "The queue is empty.", waiters)),
		allow(auth.Viewer, "GET /workers",
			s.board("workers", "Workers", "No workers. They carry submitted runs of a PostgreSQL store: loops worker",
				workers)),
		allow(auth.Viewer, "GET /doctor", s.board("doctor", "Doctor", "No checks.", s.findings)),
		allow(auth.Viewer, "GET /cost", s.costPage),
		allow(auth.Viewer, "GET /api/v1/costs", s.costObject).documented(
			operation{says: "What prompts and judges used, by day", answer: "costs", query: []parameter{
				{name: "since", about: "an age or a date; 30d if it is absent", kind: "string"},
				{name: "by", about: "loop if it is absent", kind: "string", words: spentBy},
				{name: "project", about: "its name", kind: "string"},
			}}),
		allow(auth.Viewer, "GET "+of+"/doctor", s.findingObjects).documented(
			operation{says: "What doctor finds without a prompt, at most half a minute ago", answer: "findings"}),
		allow(auth.Viewer, "GET "+of+"/schedules", s.object(scheduleObjects)).documented(
			operation{says: "The schedules of a project", answer: "schedules"}),
		allow(auth.Viewer, "GET "+of+"/workers", s.object(workerObjects)).documented(
			operation{says: "The workers of the runs of a project; none without PostgreSQL", answer: "workers"}),
	}
	all = append(all, allow(auth.Operator, "POST /p/{project}/workers/drain", s.drainWorker),
		allow(auth.Operator, "POST "+of+"/workers/drain", s.drainWorker).documented(
			operation{says: "Asks a worker to end, so that others have its runs", body: "worker", answer: "drained"}))
	for _, verb := range []string{"pause", "unpause", "run-now"} {
		says := map[string]string{
			"pause": "Stops a schedule until it is unpaused", "unpause": "Has it fire again",
			"run-now": "Starts a run beside its times",
		}[verb]
		all = append(all, allow(auth.Operator, "POST /p/{project}/schedule/"+verb, s.changeSchedule(verb)),
			allow(auth.Operator, "POST "+of+"/schedules/"+verb, s.changeSchedule(verb)).documented(
				operation{says: says, body: "schedule", answer: "scheduled"}))
	}
	return all
}

// A board is a table of a page.
type board struct {
	Head  []string
	Rows  []boardRow
	Empty string // what is shown where there are no rows
	Notes []string
}

type boardRow struct {
	Project string
	Cells   []cell
	Buttons []boardButton
}

type cell struct {
	Text   string
	Run    string    // the id of the run that the text names
	Loop   string    // a loop, in place of a text
	At     time.Time // a moment, in place of a text; zero = it is none
	Status string    // a word that is shown as one; the text is "" then
}

// A boardButton does something about what its row is of: it sends the name of that, in a field, to an address
// of the project. One with Ask says that first, and asks.
type boardButton struct{ Label, Address, Field, Name, Command, Ask string }

// board shows what fill finds in each project.
func (s *Server) board(name, title, empty string,
	fill func(context.Context, Project, *Session, *board) error,
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b := board{Empty: empty}
		for _, p := range s.Projects {
			session, err := p.Open()
			if err == nil {
				n := len(b.Rows)
				err = fill(r.Context(), p, session, &b)
				for i := range b.Rows[n:] {
					b.Rows[n+i].Project = p.Name
				}
				session.Close()
			}
			if err != nil {
				b.Notes = append(b.Notes, p.Name+": "+humanize.OneLine(err))
			}
		}
		s.render(w, r, name, title, b)
	}
}

// schedules are the schedules of a project.
func schedules(ctx context.Context, _ Project, s *Session, b *board) error {
	all, wrong, err := trigger.ListSchedules(ctx, s.Project, time.Now())
	if wrong != nil {
		b.Notes = append(b.Notes, strings.Split(wrong.Error(), "\n")...)
	}
	if line := trigger.Notice(all, time.Now(), s.Page.Command("schedule", "install")); line != "" {
		b.Notes = append(b.Notes, line)
	}
	trigger.Vet(ctx, s.Project, all)
	b.Head = []string{"Loop", "Next", "Last", "Schedule"}
	for _, l := range all {
		if l.Untrusted != "" {
			b.Notes = append(b.Notes, fmt.Sprintf("%s is not going to start: %s; %s", l.Loop, l.Untrusted,
				s.Page.Command("trust", l.Loop)))
		}
		next, verb, label := cell{Text: "never"}, "pause", "Pause"
		switch {
		case l.Paused != nil:
			next, verb, label = cell{Text: "paused by " + l.Paused.By}, "unpause", "Unpause"
		case !l.Next.IsZero():
			next = cell{At: l.Next}
		}
		last := cell{Text: "-"}
		if f, ok := trigger.Latest(l.Times); ok {
			last = cell{Text: view.FiringLine(f)}
			if f.State == trigger.Started {
				last.Run = string(f.Run)
			}
		}
		command := func(verb string) string { return s.Page.Command("schedule", verb, l.Loop) }
		b.Rows = append(b.Rows, boardRow{
			Cells: []cell{{Loop: l.Loop}, next, last, {Text: view.ScheduleLine(&l.Schedule)}},
			Buttons: []boardButton{
				{label, "schedule/" + verb, "loop", l.Loop, command(verb), ""},
				{"Run now", "schedule/run-now", "loop", l.Loop, command("run-now"), ""},
			},
		})
	}
	return err
}

// waiters are those that wait in the queue of a project.
func waiters(_ context.Context, _ Project, s *Session, b *board) error {
	line, err := app.InQueue(s.Project)
	b.Head = []string{"Place", "Loop", "Waits for", "Since", "Process"}
	for i, w := range line {
		waits := cell{Text: "its turn"}
		switch {
		case w.For.Run != "":
			waits = cell{Text: string(w.For.Run), Run: string(w.For.Run)}
		case w.For.Loop != "":
			waits.Text = "a waiter of " + w.For.Loop
		}
		b.Rows = append(b.Rows, boardRow{Cells: []cell{
			{Text: fmt.Sprint(i + 1)},
			{Text: w.Loop},
			waits,
			{Text: humanize.Duration(time.Since(w.Since))},
			{Text: w.Owner.String()},
		}})
	}
	return err
}

// workers are the workers of the runs of a project, if those are in PostgreSQL.
func workers(ctx context.Context, _ Project, s *Session, b *board) error {
	all, err := workersOf(ctx, s)
	b.Head = []string{"Worker", "Queue", "Labels", "Slots", "Heard of", "Version", "Runs", "Last error"}
	for _, w := range all {
		row := boardRow{Cells: []cell{
			{Text: w.ID},
			{Text: w.Queue},
			{Text: strings.Join(w.Labels, ", ")},
			{Text: fmt.Sprintf("%d of %d", len(w.Runs), w.Slots)},
			{Text: view.WorkerHeard(w)},
			{Text: w.Version},
			{},
			{Text: w.LastError},
		}}
		if w.Draining == "" && !w.Gone() {
			row.Buttons = []boardButton{
				{
					"Drain", "workers/drain", "worker", w.ID, s.Page.Command("workers", "drain", w.ID),
					"Its actions are ended, other workers continue its runs, and the worker ends. It can be started " +
						"on its own machine alone.",
				},
			}
		}
		for i, id := range w.Runs {
			if i == 0 {
				row.Cells[6] = cell{Text: string(id), Run: string(id)}
			} else { // each in a row of its own, to be followed
				b.Rows = append(b.Rows, row)
				row = boardRow{Cells: make([]cell, len(b.Head))}
				row.Cells[6] = cell{Text: string(id), Run: string(id)}
			}
		}
		b.Rows = append(b.Rows, row)
	}
	return err
}

// placerOf is the store of the runs of a project, if workers share it; else nil.
func placerOf(ctx context.Context, s *Session) (*project.Records, persistence.Placer, error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, nil, err
	}
	store, ok := f.Store.Store.(persistence.Placer)
	if f.Store.Files || !ok {
		return nil, nil, nil
	}
	return f.Store, store, nil
}

func workersOf(ctx context.Context, s *Session) ([]persistence.WorkerState, error) {
	records, store, err := placerOf(ctx, s)
	if err != nil || store == nil {
		return nil, err
	}
	all, err := store.Workers(ctx)
	if err != nil {
		err = records.Failed(err)
	}
	return all, err
}

// drainWorker asks a worker to end, so that others have its runs.
func (s *Server) drainWorker(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(p Project, session *Session) error {
		f, err := readFields(r)
		if err == nil {
			err = drain(r.Context(), session, f["worker"], userOf(r).Name)
		}
		s.audit(r, p, "workers drain", "", f, err)
		switch {
		case err != nil:
			return err
		case ofAPI(r):
			writeJSON(w, http.StatusOK, api.Drained{ID: f["worker"]})
		default:
			http.Redirect(w, r, s.BasePath+"/workers", http.StatusSeeOther)
		}
		return nil
	})
}

func drain(ctx context.Context, s *Session, worker, by string) error {
	records, store, err := placerOf(ctx, s)
	if err != nil {
		return err
	}
	found := false
	if store != nil {
		if found, err = store.Drain(ctx, worker, by); err != nil {
			return records.Failed(err)
		}
	}
	if !found {
		return engine.Refuse(engine.NotFound, "there is no worker %s", humanize.Quote(worker))
	}
	return nil
}

func scheduleObjects(r *http.Request, s *Session) (any, error) {
	all, _, err := trigger.ListSchedules(r.Context(), s.Project, time.Now())
	trigger.Vet(r.Context(), s.Project, all)
	return view.Schedules(all), err
}

func workerObjects(r *http.Request, s *Session) (any, error) {
	all, err := workersOf(r.Context(), s)
	return view.Workers(all), err
}

// changeSchedule has a schedule fire no more, or again, or starts a run of its loop.
func (s *Server) changeSchedule(verb string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.with(w, r, func(p Project, session *Session) error {
			f, err := readFields(r)
			var plan trigger.Plan
			if err == nil {
				plan, err = planOf(session.Project, f["loop"])
			}
			run, changed := "", true
			switch {
			case err != nil:
			case verb == "run-now":
				run, err = p.Begin(r.Context(), trigger.RequestNow(plan, engine.Lock{}),
					[]string{"schedule", "run-now", "--", plan.Loop})
			default:
				changed, err = trigger.SetPaused(r.Context(), session.Project, plan, verb == "pause", userOf(r).Name)
			}
			s.audit(r, p, "schedule "+verb, run, f, err)
			switch {
			case err != nil:
				return err
			case ofAPI(r):
				writeJSON(w, http.StatusOK, view.Scheduled(plan.Loop, changed, run))
			case run != "":
				http.Redirect(w, r, s.runAddress(p.Name, run), http.StatusSeeOther)
			default:
				http.Redirect(w, r, s.BasePath+"/schedule", http.StatusSeeOther)
			}
			return nil
		})
	}
}

// planOf returns the schedule of a loop by its name.
func planOf(p *project.Project, loop string) (trigger.Plan, error) {
	plans, _ := trigger.Plans(p)
	i := slices.IndexFunc(plans, func(plan trigger.Plan) bool { return plan.Loop == loop })
	if i < 0 {
		return trigger.Plan{}, engine.Refuse(engine.NotFound, "the loop %s has no schedule", humanize.Quote(loop))
	}
	return plans[i], nil
}
