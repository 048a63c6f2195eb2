package watch

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

const (
	keepEnded  = 10 * time.Minute // how long a run that has ended stays in the list
	mostEnded  = 30               // of which there are at most so many
	mostDetail = 6                // details that are kept of runs that are not selected
)

// A Monitor knows the runs that are running, and those that ended lately. It reads what has changed since it
// looked last. It is not safe for concurrent use.
type Monitor struct {
	project.Finder
	queue   func() ([]persistence.Waiter, error)
	known   project.Prices
	runs    map[persistence.ID]*run
	detail  []*detail            // the one looked at last first
	waiters []persistence.Waiter // those in the queue
	queued  *Detail              // of one of them; nil = none was looked at
	first   string               // the row to begin on, "" = any
	named   persistence.ID       // the run to begin on, "" = none
	one     bool                 // it was named, and not its loop
	loop    string               // of that run
	begun   bool
}

// A run is a recorded run, and what its memory says.
type run struct {
	persistence.Run
	wait *fsm.Wait           // it waits for this; nil = it does not
	asks []*fsm.OpenQuestion // what it asks
	// the states it is in when its memory was read, those of sub-loops after it; nil = not known
	path  []string
	cost  inspect.Cost
	depth int       // how many runs above it in the list started it, one the other
	asked bool      // it was asked to pause
	ended time.Time // when it was seen to have; zero = it is running

	read   time.Time     // when its memory was
	took   time.Duration // to read it
	looked time.Time     // when the run was, of one that is parked in the archive
	of     time.Time     // UpdatedAt of what was read
}

// NewMonitor returns a monitor of the runs that a finder finds. queue returns those that wait for a scope of
// the project.
func NewMonitor(f project.Finder, queue func() ([]persistence.Waiter, error)) (*Monitor, error) {
	known, err := f.Project.Pricer()
	return &Monitor{Finder: f, queue: queue, known: known, runs: map[persistence.ID]*run{}}, err
}

// look brings the runs up to date, and reports whether anything has changed. After an error they are as they were.
func (l *Monitor) look(ctx context.Context, selected persistence.ID) (changed bool, err error) {
	q := persistence.Query{Live: true, Readings: true}
	if !l.begun {
		q = persistence.Query{Limit: mostEnded, LiveToo: true, Readings: true}
	}
	live, err := l.Store.Runs(ctx, q)
	if err != nil {
		return false, l.Store.Failed(err)
	}
	if !l.begun {
		if l.named != "" {
			named, err := l.Store.Runs(ctx, persistence.Query{ID: l.named})
			if err != nil {
				return false, l.Store.Failed(err)
			}
			live = append(live, named...)
		}
		l.begun = true
	}
	waiters, err := l.queue()
	if err != nil {
		return false, err
	}
	if selected != "" && l.runs[selected] == nil && !slices.ContainsFunc(waiters, func(w persistence.Waiter) bool {
		return queuedID(w) == string(selected)
	}) {
		picked, err := l.Store.Runs(ctx, persistence.Query{ID: selected})
		if err != nil {
			return false, l.Store.Failed(err)
		}
		live = append(live, picked...)
	}
	changed = len(waiters) != len(l.waiters)
	l.waiters = waiters
	seen := map[persistence.ID]bool{}
	for _, r := range project.Current(live) {
		seen[r.ID] = true
		changed = l.take(r) || changed
	}
	for id, w := range l.runs {
		waits := !w.ended.IsZero() && parked(w.Run) // it may be stopped, and no process does that
		if seen[id] || !w.ended.IsZero() && !waits || waits && time.Since(w.looked) < parkedEach {
			continue
		}
		// It has left the running runs: how it ended is in the archive.
		now, err := l.Store.Runs(ctx, persistence.Query{ID: id})
		if err != nil {
			return changed, l.Store.Failed(err)
		}
		if now = project.Current(now); len(now) == 0 {
			changed = true
			delete(l.runs, id)
			continue
		}
		w.looked = time.Now()
		changed = l.take(now[0]) || !waits || changed
	}
	for _, w := range l.runs {
		asked := false
		if w.ended.IsZero() {
			_, asked = l.Store.PausedSince(ctx, w.Run)
		}
		changed = changed || asked != w.asked
		w.asked = asked
		l.remember(ctx, w, w.ID == selected)
		w.Reading = nil // it is of this look, and takes memory
	}
	l.forget(selected)
	return changed, nil
}

// take enters a run as it is now, and reports whether it has changed.
func (l *Monitor) take(r persistence.Run) bool {
	w := l.runs[r.ID]
	if w == nil {
		w = &run{}
		if !open(r) {
			w.ended = cmp.Or(r.UpdatedAt, r.StartedAt, time.Unix(1, 0))
			if time.Since(w.ended) > keepEnded && r.ID != l.named && !parked(r) {
				return false
			}
		}
		l.runs[r.ID] = w
	} else {
		switch lives := open(r); {
		case lives:
			w.ended = time.Time{} // resumed, perhaps
		case w.ended.IsZero():
			w.ended = time.Now()
		}
	}
	changed := w.State != r.State || w.Step != r.Step || w.Status != r.Status || !w.UpdatedAt.Equal(r.UpdatedAt) ||
		w.Archived != r.Archived
	w.Run = r
	return changed
}

// open reports whether a process runs a run, or a worker is about to.
func open(r persistence.Run) bool { return project.Alive(r) || r.Status == persistence.Queued }

// parkedEach is how often a parked run is looked at that is in the archive.
const parkedEach = 2 * time.Second

// parked reports whether a run waits without a process for what continues it: it has not ended.
func parked(r persistence.Run) bool { return r.Status == persistence.Awaiting }

// remember reads the memory of a run if that has changed: what it waits for, and what was spent. A memory may be large,
// so it is not read as often as the run is looked at.
func (l *Monitor) remember(ctx context.Context, w *run, selected bool) {
	if w.of.Equal(w.UpdatedAt) && !w.of.IsZero() {
		return
	}
	rest := 3 * time.Second
	switch {
	case w.wait != nil:
		rest = 0 // it continues, most likely
	case selected:
		rest = time.Second
	}
	if w.ended.IsZero() && time.Since(w.read) < max(rest, 50*w.took) {
		return
	}
	begun := time.Now()
	m, _ := l.Store.MemoryOf(ctx, w.Run) // what cannot be read is reported as damage
	w.read, w.took, w.of = begun, time.Since(begun), w.UpdatedAt
	if m == nil {
		return
	}
	w.wait, w.asks, w.path = m.Waiting(), nil, nil
	if w.ended.IsZero() || w.Resumable {
		w.asks = m.Questions()
	}
	for _, level := range (&inspect.Status{Run: w.Run, Memory: m}).Levels() {
		w.path = append(w.path, level.State)
	}
	w.cost = inspect.SpentCost(m, w.ended.IsZero())
}

// forget drops runs that ended long ago, and details that were not looked at lately.
func (l *Monitor) forget(selected persistence.ID) {
	var ended []*run
	for id, w := range l.runs {
		if w.ended.IsZero() || id == selected || id == l.named || parked(w.Run) {
			continue
		}
		if time.Since(w.ended) > keepEnded {
			delete(l.runs, id)
			continue
		}
		ended = append(ended, w)
	}
	if len(ended) > mostEnded {
		slices.SortFunc(ended, newestEnd)
		for _, w := range ended[mostEnded:] {
			delete(l.runs, w.ID)
		}
	}
	l.detail = slices.DeleteFunc(l.detail, func(d *detail) bool { return l.runs[d.run.ID] == nil })
	l.detail = l.detail[:min(len(l.detail), mostDetail)]
}

func newestEnd(a, b *run) int {
	return cmp.Or(b.ended.Compare(a.ended), cmp.Compare(a.ID, b.ID))
}

// list returns the runs in order: those that are running, the newest first, then those that ended, the latest
// first; but those that an action of another one started below that.
func (l *Monitor) list() []*run {
	all := make([]*run, 0, len(l.runs))
	for _, w := range l.runs {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *run) int {
		switch x, y := a.ended.IsZero(), b.ended.IsZero(); {
		case x && y:
			return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
		case x:
			return -1
		case y:
			return 1
		}
		return newestEnd(a, b)
	})
	return nested(all)
}

// nested puts runs below those that started them.
func nested(all []*run) []*run {
	children := map[persistence.ID][]*run{}
	listed := map[persistence.ID]bool{}
	for _, w := range all {
		listed[w.ID] = true
	}
	for _, w := range all {
		if parent := inspect.Parent(w.Run); listed[parent] {
			children[parent] = append(children[parent], w)
		}
	}
	out, added := make([]*run, 0, len(all)), map[persistence.ID]bool{}
	var add func(w *run, depth int)
	add = func(w *run, depth int) {
		if added[w.ID] {
			return
		}
		added[w.ID], w.depth = true, depth
		out = append(out, w)
		for _, c := range children[w.ID] {
			add(c, depth+1)
		}
	}
	for _, w := range all {
		if !listed[inspect.Parent(w.Run)] {
			add(w, 0)
		}
	}
	for _, w := range all { // records may say that two started each other
		add(w, 0)
	}
	return out
}

// detailOf returns what is known of a run, brought up to date.
func (l *Monitor) detailOf(ctx context.Context, w *run) (*Detail, error) {
	i := slices.IndexFunc(l.detail, func(d *detail) bool { return d.run.ID == w.ID })
	if i < 0 {
		l.detail = slices.Insert(l.detail, 0, newDetail(l, w.Run))
	} else if d := l.detail[i]; i > 0 {
		l.detail = slices.Insert(slices.Delete(l.detail, i, i+1), 0, d)
	}
	d := l.detail[0]
	err := d.update(ctx, w)
	return d.shown, err
}

// row is a run in the list.
func (w *run) row() Run {
	r := Run{
		ID: string(w.ID), Depth: w.depth, Loop: w.Loop, Live: w.ended.IsZero(),
		Status: inspect.OutcomeNow(w.Run, w.wait), State: w.State, Step: inspect.StepText(w.Run),
		Elapsed: humanize.Seconds(w.elapsed()), Cost: w.paid(), Lasted: w.elapsed(), Dollars: w.cost.CostUSD,
		Resumable: w.Resumable,
	}
	if len(w.path) > 1 && w.path[0] == w.State {
		r.State = strings.Join(w.path, " > ")
	}
	r.Questions, r.Parked = w.asks, parked(w.Run)
	r.Needs = r.Parked && w.Ended == fsm.EndSuspended
	if r.Live && w.Status == persistence.Queued {
		r.Health, r.Note = Waiting, cmp.Or(inspect.PlacementText(w.Run), "waits for a worker")
		return r
	}
	if r.Live && w.Status == persistence.Starting {
		r.Note = "it has recorded nothing yet"
		return r
	}
	if !r.Live || w.Status != persistence.Running { // its process may take a moment to end, too
		r.Health, r.Note = w.end()
		return r
	}
	switch {
	case w.wait != nil && w.wait.Why == fsm.WaitPaused:
		r.Health, r.Note = Paused, strings.TrimPrefix(inspect.ReasonNow(w.Run, w.wait), "paused ")
	case w.asked:
		r.Note = "pauses before its next state"
	case w.wait != nil:
		r.Health, r.Status, r.Note = Waiting, "waiting", "waits for "+inspect.WaitText(w.wait)
		if d := time.Until(w.wait.Until); d > 0 {
			r.Note += ", " + humanize.Seconds(d) + " left"
		}
	}
	return r
}

// end says how a run that has ended did.
func (w *run) end() (Health, string) {
	health := Failed
	switch {
	case w.Status == "":
		health = Unreadable
	case w.Status == persistence.Completed && !w.Unmerged():
		health = Completed
	case w.Status.CanGoOn(w.Retriable()):
		health = Stopped
	}
	word := "ended "
	if parked(w.Run) {
		health, word = Waiting, humanize.Words(inspect.Outcome(w.Run))+" "
	}
	note := word + humanize.Ago(time.Since(cmp.Or(w.ended, w.UpdatedAt)).Truncate(time.Second))
	if reason := inspect.Reason(w.Run); reason != "" {
		note += ": " + reason
	}
	if len(w.Damage) > 0 {
		note += "; damaged: " + w.Damage[0]
	}
	return health, note
}

// elapsed is how long it has run. The time of a pause does not count.
func (w *run) elapsed() time.Duration {
	if w.wait != nil && w.wait.Why == fsm.WaitPaused || !w.ended.IsZero() {
		return w.Elapsed
	}
	return inspect.Elapsed(w.Run).Truncate(time.Second)
}

// paid is what it cost, "" where nothing was asked of an agent.
func (w *run) paid() string {
	if w.cost.Prompts == 0 {
		return ""
	}
	return w.cost.Text()
}
