package view

import (
	"path/filepath"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// Status returns what status shows of a run.
func (page *Page) Status(p *project.Project, store *project.Records, v *inspect.Status,
	waiting []persistence.Waiter,
) api.Status {
	s := api.Status{
		Standing: Standing(p, store, v), Ending: EndingOf(v.Run), OpenWaits: openWaits(v),
		Path: each(v.Levels(), func(l inspect.Level) api.StatusLevel {
			return api.StatusLevel{Loop: l.Loop, State: l.State, Step: l.Step, MaxSteps: api.Int(l.Most)}
		}),
		Lease: api.StampOrNull(v.Run.Leased), Action: lastAction(v), FilesLeft: v.LeftFiles(), Used: used(v),
		Verdict: lastVerdict(v), Way: lastRoute(v),
		Limits: each(v.Limits, limit), Why: api.Text(v.Why()), Elsewhere: OutOfSight(v.Run),
		Queued:  each(waiting, Queued),
		Answers: each(v.Answers, givenAnswer), PauseAsked: api.Stamp(v.PausedAt),
	}
	s.Elapsed, s.Duration = v.Elapsed().Milliseconds(), v.Elapsed().Milliseconds()
	if v.Alive {
		s.Idle = new(v.Idle().Milliseconds())
	}
	if v.Git != "" {
		s.Git = &api.StatusGit{Doing: v.Git, Since: api.Stamp(v.GitSince)}
	}
	if p := v.Items(); p != nil {
		s.Items = &api.StatusItems{
			Count: p.Items, Done: p.Done, Failed: p.Failed, Running: p.Running,
			Left: p.Left.Milliseconds(),
		}
	}
	s.Branches = each(v.Branches(), func(b inspect.BranchState) api.StatusBranch {
		return api.StatusBranch{Name: b.Name, Begun: b.Begun, State: api.Text(b.At), Verdict: api.Text(b.Verdict)}
	})
	word, command := page.next(v)
	s.Next, s.NextCommand = api.Text(word), api.Text(command)
	return s
}

// OpenRun returns what a list of open runs shows of one.
func OpenRun(p *project.Project, store *project.Records, v *inspect.Status) api.OpenRun {
	o := api.OpenRun{
		Standing: Standing(p, store, v), Ending: EndingOf(v.Run), Unowned: v.Run.Unowned,
		Elsewhere: OutOfSight(v.Run), OpenWaits: openWaits(v),
		PauseAsked: api.Stamp(v.PausedAt),
	}
	if project.Alive(v.Run) {
		o.Idle = new(v.Idle().Milliseconds())
	}
	return o
}

// Standing returns a run in the words of the state file, and what little-loops shows of a run that it lists.
func Standing(p *project.Project, store *project.Records, v *inspect.Status) api.Standing {
	r := v.Run
	held, took := project.Alive(r), inspect.Elapsed(r).Milliseconds()
	s := api.Standing{
		Loop: r.Loop, LoopName: r.Loop, RunID: r.RunID, Instance: string(r.ID), Status: api.Text(r.Status),
		Outcome: v.StatusText(), State: r.State,
		Iteration: r.Step, Passes: r.Passes, MaxSteps: api.Int(r.MaxSteps), Started: api.StampOrNull(r.StartedAt),
		Updated: api.StampOrNull(r.UpdatedAt),
		Elapsed: took, Duration: took, PID: api.Int(r.Owner.PID), Alive: held, Owner: owner(r.Owner),
		Archived: r.Archived, Resumable: r.Resumable && !held,
		TerminatedBy: api.Text(r.Ended), Error: api.Text(r.Error), Message: api.Text(r.Message),
		Continuation: api.Text(r.Continuation),
		Reconciled:   api.StampOrNull(r.Reconciled), File: api.Text(r.File), EventsFile: api.Text(r.Events),
		RunDir: filepath.Join(p.Loops, "runs", string(r.ID)) + "/", RunOrigin: OriginOf(r), Worktree: runTree(r),
		Damage:      r.Damage,
		Accumulated: r.Elapsed.Milliseconds(), Log: api.Text(store.LogOf(r)), PIDSource: api.Text(store.OwnerFrom(r)),
	}
	if r.Limited {
		s.Error = api.Text(inspect.HonestError(r))
	}
	if !store.Files {
		s.Store = store.Name
	}
	if m := v.Memory; m != nil {
		s.Captured, s.PrevResult, s.LastResult = api.Object{Map: OrEmpty(m.Captured)}, api.Object{Map: m.PrevResult},
			api.Object{Map: m.LastResult}
	}
	if e := v.Glance.Newest; e != nil {
		s.LastEvent = api.Text(
			strings.TrimSpace(e.Kind + "  " + EventDetail(inspect.Honest(*e, r), terminal.Paint(false), false)))
	}
	return s
}

// each returns what of makes of each of some things.
func each[T, O any](all []T, of func(T) O) []O {
	out := make([]O, len(all))
	for i := range all {
		out[i] = of(all[i])
	}
	return out
}

// EndingOf returns why a run ended.
func EndingOf(r persistence.Run) api.Ending {
	return api.Ending{
		Reason: api.Text(inspect.Reason(r)), Ignored: api.Text(r.Ignored), Merge: api.Text(r.Merge),
		SuspendedBy: inspect.SuspendedBy(r), Remedy: r.Remedy,
	}
}

// OriginOf returns where a run comes from, if it is a fork, what started it, if that was not a user, the time of its
// schedule, its project, if that may be another one, and what workers do about it, if it was submitted and no
// process owns it.
func OriginOf(r persistence.Run) api.RunOrigin {
	from := api.RunOrigin{Project: r.Project, StartedBy: inspect.StartedBy(r), ScheduledAt: inspect.ScheduledAt(r)}
	if r.Origin != nil {
		from.ForkedFrom = new(ForkOf(r.Origin))
	}
	if text := inspect.PlacementText(r); text != "" {
		p := r.Placement
		from.Placement = &api.Placement{
			Queue: p.Queue, Labels: p.Labels, Open: p.Open, Heard: p.Heard,
			Carried: r.Carried(), Text: text,
		}
	}
	return from
}

// ForkOf returns the step of the run that a fork comes from.
func ForkOf(o *persistence.Origin) api.Origin {
	return api.Origin{Instance: string(o.ID), RunID: o.RunID, Step: o.Step, Seq: o.Seq}
}

// runTree returns the work tree of a run; nil = it is in none.
func runTree(r persistence.Run) *api.RunTree {
	t := engine.TreeOf(&project.Project{}, r)
	if t == nil {
		return nil
	}
	return &api.RunTree{Path: t.Tree.Path, Branch: api.Text(t.Tree.Branch), End: string(t.End), Of: api.Text(t.Of)}
}

func owner(o persistence.Owner) *api.Owner {
	if o.PID == 0 {
		return nil
	}
	a := &api.Owner{PID: o.PID, Host: api.Text(o.Host), Boot: api.Text(o.Boot)}
	if o.Start != 0 {
		a.Start = o.Start
	}
	return a
}

// lastAction returns the last action of a run; nil = there was none.
func lastAction(v *inspect.Status) *api.StatusAction {
	d := v.Acting()
	if d == 0 {
		return nil
	}
	e := v.Glance.Acting
	return &api.StatusAction{
		Text: inspect.Text(e.Get("action")), Started: api.StampOrNull(e.Time),
		Running: d.Milliseconds(),
	}
}

// used returns what prompts and judges used; nil = none was asked.
func used(v *inspect.Status) *api.StatusUsed {
	if v.Memory == nil {
		return nil
	}
	s := v.Memory.Spent
	if s == (fsm.Spent{Steps: s.Steps}) && v.Memory.Lost == (fsm.Unsure{}) &&
		(v.Alive || v.Memory.Outstanding == (fsm.Unsure{})) {
		return nil
	}
	cost := inspect.SpentCost(v.Memory, v.Alive)
	u := &api.StatusUsed{
		Cost: knownCost(&cost), Unknown: cost.Unknown, Tokens: s.Usage.Total(),
		Prompts: cost.Prompts, Most: mostCost(&cost),
	}
	if cost.Unknown > 0 {
		u.Known = new(terminal.MicroDollars(cost.CostUSD))
	}
	return u
}

// visitText returns the text about a visit.
func visitText(visit *inspect.Visit, said []inspect.Sentence) api.VisitText {
	t := api.VisitText{Text: said[0].Text, Events: said[0].Events}
	if visit != nil {
		t.State = api.Text(visit.Path())
		if visit.Step > 0 {
			t.Step, t.Number = api.Int(visit.Step), api.Text(visit.Number())
		}
	}
	return t
}

// lastVerdict returns the last verdict of a run; nil = there was none.
func lastVerdict(v *inspect.Status) *api.VisitVerdict {
	visit, said := v.VerdictText()
	if len(said) == 0 {
		return nil
	}
	word := ""
	if visit != nil {
		word = visit.Verdict()
	} else if v.Memory != nil {
		word = inspect.Text(inspect.ValueOf(v.Memory.LastResult, "verdict"))
	}
	return &api.VisitVerdict{VisitText: visitText(visit, said), Verdict: word}
}

// lastRoute returns the last transition of a run; nil = there was none.
func lastRoute(v *inspect.Status) *api.VisitRoute {
	left := v.Glance.Left()
	if left == nil {
		return nil
	}
	said := inspect.Way(left, v.LoopOf(left))
	if len(said) == 0 {
		return nil
	}
	return &api.VisitRoute{VisitText: visitText(left, said), To: left.To()}
}

// limit returns a limit. What is counted in time is in seconds.
func limit(l inspect.Limit) api.StatusLimit {
	o := api.StatusLimit{
		Limit: l.Name, Loop: l.Loop, State: api.Text(l.State), Most: api.Number(l.Most),
		Ends: !l.Routes,
	}
	if !l.Unknown {
		o.Used, o.Share = new(api.Number(l.Used)), new(api.Number(l.Share()))
	}
	return o
}

// Queued returns a waiter of the queue.
func Queued(w persistence.Waiter) api.Queued {
	f := w.For
	return api.Queued{
		ID: w.ID, Loop: w.Loop, Instance: api.Text(w.Resumes), PID: w.Owner.PID, Host: api.Text(w.Owner.Host),
		Since: api.Stamp(w.Since),
		Waits: time.Since(w.Since).Milliseconds(), Scope: w.Scope, Log: api.Text(w.Log),
		For: api.QueuedAt{
			Path: api.Text(f.Path), Loop: api.Text(f.Loop), Instance: api.Text(f.Run),
			Waiter: api.Text(f.Waiter), Since: api.StampOrNull(f.Since),
		},
	}
}

// QueuedStatus returns a waiter instead of a run.
func QueuedStatus(w persistence.Waiter) api.QueuedStatus {
	return api.QueuedStatus{
		Loop: w.Loop, LoopName: w.Loop, Instance: api.Text(w.Resumes), Status: StatusQueued, Alive: true,
		PID: w.Owner.PID, Owner: owner(w.Owner),
		Queued: []api.Queued{Queued(w)}, Log: api.Text(w.Log),
	}
}

// Waiting returns a wait.
func Waiting(w *fsm.Wait) api.Waiting {
	left := max(0, int64(time.Until(w.Until).Seconds()))
	o := api.Waiting{
		For: w.Why, Tier: api.Text(w.Tier), State: w.State, Since: api.Stamp(w.Since),
		Until: api.StampOrNull(w.Until), Left: &left, Host: api.Text(w.Host),
	}
	if w.Why != fsm.WaitState {
		return o
	}
	if w.Until.IsZero() {
		o.Left = nil
	}
	o.What, o.Event, o.Choices, o.Asks = &w.What, new(api.Text(w.Event)), new(api.Text(w.Choices)),
		new(api.Text(w.Question))
	o.Checks, o.Seen = &w.Looks, new(api.Text(w.Seen))
	return o
}

// openWaits returns what a run waits for: the first wait, and all of them with their places.
func openWaits(v *inspect.Status) (o api.OpenWaits) {
	if v.Wait != nil {
		o.Waiting = new(Waiting(v.Wait))
		o.Waits = new(each(v.Open(), func(w fsm.OpenWait) api.OpenWait {
			return api.OpenWait{Waiting: Waiting(w.Wait), Address: w.Address, Path: api.Text(w.Path)}
		}))
	}
	return o
}

// givenAnswer returns an answer to a question of a run.
func givenAnswer(g inspect.GivenAnswer) api.Given {
	return api.Given{
		Address: g.Address, State: api.Text(g.State), Path: api.Text(g.Path), Question: api.Text(g.Question),
		Choice: g.Choice, Fields: g.Fields,
		By: api.Text(g.By), At: api.Stamp(g.At),
	}
}
