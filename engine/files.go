package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/git"
	"loops/internal/inspect"
	"loops/persistence"
)

// Files keeps the files of one run where a later owner of the run finds them. Its methods are called one at a time.
type Files interface {
	// Claim brings the files to the state that was recorded last ("" = none was: they are as they begin), and
	// makes this process the one that keeps them: what an owner with a lower epoch keeps from then on is
	// refused.
	Claim(ctx context.Context, epoch int64, recorded string) error
	// Keep returns what names the state that the files are in. It is kept when Keep returns.
	Keep(ctx context.Context) (state string, err error)
	// Left returns which files the last Keep did not keep: a few names with the reason, and how many there are.
	Left() (some []string, all int)
}

// KeptFiles are the files of a run as they were recorded last.
type KeptFiles struct {
	State string // "" = none were recorded
	Left  string // which files were not kept, for a person; "" = all were
}

// keptFiles reads an event.
func keptFiles(ev fsm.Event) KeptFiles {
	state, _ := ev.Get("commit").(string)
	return KeptFiles{state, inspect.LeftFiles(ev)}
}

// A FilesError means that the files of a run could not be kept where a later owner finds them, so that the run
// stopped before anything was recorded that depends on them.
type FilesError struct{ Err error }

func (e *FilesError) Error() string { return "its files could not be kept: " + e.Err.Error() }

func (e *FilesError) Unwrap() error { return e.Err }

// LoginRefused reports whether what git printed means that a server refuses its login.
func LoginRefused(text string) bool { return fsm.LoginRefused(text) }

// filesRefused returns what suspends a run that stopped because the repository of its files refuses the login
// of git; nil = it stopped by something else.
func filesRefused(err error) *fsm.Suspension {
	if _, is := errors.AsType[*FilesError](err); !is {
		return nil
	}
	away, is := errors.AsType[*git.AwayError](err)
	if !is || !away.Refused {
		return nil
	}
	return fsm.PushSuspension(away.Remote, "kept", away)
}

// SuspendUnfetched ends a run that no process carries as suspended, because the repository of its files refuses
// the login of git. It reports whether that is on record: a run that was never begun has no record of its own,
// and stays queued.
func SuspendUnfetched(ctx context.Context, store persistence.Store, p *project.Project, r persistence.Run,
	away *git.AwayError,
) (o fsm.Outcome, recorded bool, _ error) {
	s := fsm.PushSuspension(away.Remote, "fetched", away)
	if r.Status == persistence.Queued {
		m := &fsm.Snapshot{Current: r.State}
		fsm.SuspendAt(m, s, time.Now(), nil)
		m.Outcome.Reason = (&inspect.Because{}).Reason(*m.Outcome, &fsm.Loop{})
		return *m.Outcome, false, nil
	}
	var memory *fsm.Snapshot
	err := endUnowned(ctx, store, p, r, func(m *fsm.Snapshot) *fsm.Batch {
		memory = m
		return fsm.SuspendAt(m, s, time.Now(), nil)
	})
	if err != nil {
		return o, false, err
	}
	return *memory.Outcome, true, nil
}

// suspendFiles ends a run as suspended where it was recorded last, because its files cannot be kept until a person does
// something. It reports whether that is on record.
func (e *Engine) suspendFiles(ctx context.Context, j *job, id persistence.ID, seen *recording,
	s *fsm.Suspension,
) (o fsm.Outcome, recorded bool) {
	m, err := j.store.Snapshot(ctx, id)
	if err != nil || m.Outcome != nil {
		return o, false
	}
	var facts []fsm.Field
	if f := e.facts(j, id); f != nil {
		facts = f(ctx, true)
	}
	b := fsm.SuspendAt(m, s, time.Now(), facts)
	m.Outcome.Reason, m.Outcome.FailedItems = seen.why(*m.Outcome, b.Events)
	if err := j.journal.Record(ctx, b); err != nil {
		return o, false
	}
	for _, ev := range b.Events {
		seen.observe(ev)
	}
	return *m.Outcome, true
}

// filesPatience is how long a run that is to stop waits for its files to be kept.
const filesPatience = 10 * time.Second

// A keeping has the files of a run kept before what actions did to them counts as done. A nil keeping keeps nothing.
type keeping struct {
	files Files
	store persistence.Store
	id    persistence.ID
	epoch int64

	claimed bool   // used by the goroutine of the machine, as the next three
	last    string // the state that was recorded last
	left    string // what of the files it lacks, for a person; "" = nothing
	seen    int64  // how many begins and ends of actions it holds

	turns atomic.Int64 // begins and ends of actions
	busy  atomic.Int64 // actions at work
}

func (e *Engine) keeping(j *job, r *Run) *keeping {
	if e.o.Files == nil {
		return nil
	}
	files := e.o.Files(r.id)
	if files == nil {
		return nil
	}
	k := &keeping{files: files, store: j.store.Store, id: r.id, epoch: int64(j.journal.Run().Segment) + 1}
	if n := j.journal.Epoch(); n > 0 {
		k.epoch = n
	}
	return k
}

// A countedRunner counts what may change files.
type countedRunner struct {
	fsm.Runner
	k *keeping
}

// Run implements [fsm.Runner].
func (r countedRunner) Run(ctx context.Context, a fsm.Action, out func(text string)) (fsm.Result, error) {
	r.k.busy.Add(1)
	r.k.turns.Add(1)
	defer func() {
		r.k.turns.Add(1)
		r.k.busy.Add(-1)
	}()
	return r.Runner.Run(ctx, a, out)
}

func (k *keeping) runner(r fsm.Runner) fsm.Runner {
	if k == nil {
		return r
	}
	return countedRunner{r, k}
}

// A keptLessons writes memories that are among the files that are kept.
type keptLessons struct {
	*persistence.LessonFolder
	k *keeping
}

func (k *keeping) lessons(f *persistence.LessonFolder) fsm.Lessons {
	if k == nil {
		return f
	}
	return keptLessons{f, k}
}

// LessonsToRead returns the memories of a project for what is only tried: nothing is written to them.
func LessonsToRead(p *project.Project) fsm.Lessons {
	return readLessons{persistence.ProjectLessons(p.Loops)}
}

type readLessons struct{ *persistence.LessonFolder }

// Write implements [fsm.Lessons].
func (readLessons) Write(context.Context, string, fsm.Lesson) error { return nil }

// Ended implements [fsm.Lessons].
func (readLessons) Ended(context.Context, string, fsm.LessonUse) error { return nil }

// Write implements [fsm.Lessons].
func (l keptLessons) Write(ctx context.Context, name string, fact fsm.Lesson) error {
	defer l.k.turns.Add(1)
	return l.LessonFolder.Write(ctx, name, fact)
}

// Ended implements [fsm.Lessons].
func (l keptLessons) Ended(ctx context.Context, name string, u fsm.LessonUse) error {
	defer l.k.turns.Add(1)
	return l.LessonFolder.Ended(ctx, name, u)
}

// prepare fits fsm.Config.Prepare: the files are claimed when it is on record that this process has the run.
func (k *keeping) prepare(more func(context.Context) (fsm.Event, error)) func(context.Context) (fsm.Event, error) {
	if k == nil {
		return more
	}
	return func(ctx context.Context) (fsm.Event, error) {
		if more != nil {
			return fsm.Event{},
				&FilesError{errors.New("those of a run that is in a work tree of its own do not travel; start it " +
					"without a work tree")}
		}
		recorded, err := RecordedFiles(ctx, k.store, k.id)
		if err != nil {
			return fsm.Event{}, err
		}
		if err := k.files.Claim(ctx, k.epoch, recorded.State); err != nil {
			return fsm.Event{}, &FilesError{err}
		}
		k.claimed = true
		if k.last, err = k.files.Keep(ctx); err != nil {
			return fsm.Event{}, &FilesError{err}
		}
		return k.event(), nil
	}
}

// event tells the state that was kept last.
func (k *keeping) event() fsm.Event {
	ev := fsm.Event{Kind: fsm.EventFiles, Fields: []fsm.Field{{Key: "commit", Value: k.last}}}
	some, all := k.files.Left()
	if all > 0 {
		names := make([]any, len(some))
		for i, name := range some {
			names[i] = name
		}
		ev.Fields = append(ev.Fields, fsm.Field{Key: "left", Value: int64(all)},
			fsm.Field{Key: "left_names", Value: names})
	}
	k.left = inspect.LeftFiles(ev)
	return ev
}

// keep fits fsm.Config.Keep.
func (k *keeping) keep() fsm.Keep {
	if k == nil {
		return nil
	}
	return func(ctx context.Context) (fsm.Event, bool, error) {
		turns := k.turns.Load()
		if !k.claimed || turns == k.seen && k.busy.Load() == 0 {
			return fsm.Event{}, false, nil
		}
		ctx, done := beyondStop(ctx)
		defer done()
		state, err := k.files.Keep(ctx)
		if err != nil {
			return fsm.Event{}, false, &FilesError{err}
		}
		k.seen = turns
		if _, left := k.files.Left(); state == k.last && left == 0 && k.left == "" {
			return fsm.Event{}, false, nil
		}
		k.last = state
		return k.event(), true, nil
	}
}

// beyondStop returns a context that lives for filesPatience when ctx has ended, because what a run did before
// it was stopped is kept; not where the run was lost to another process.
func beyondStop(ctx context.Context) (longer context.Context, done func()) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	late := time.AfterFunc(time.Hour, func() { cancel(context.Cause(ctx)) })
	late.Stop()
	unwatch := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), errLost) {
			cancel(errLost)
			return
		}
		late.Reset(filesPatience)
	})
	return longer, func() {
		unwatch()
		late.Stop()
		cancel(nil)
	}
}

// RecordedFiles returns the files of a run as they were recorded last.
func RecordedFiles(ctx context.Context, store persistence.Store, id persistence.ID) (kept KeptFiles, err error) {
	for ev, err := range store.Tail(ctx, id) {
		if err != nil {
			return KeptFiles{}, err
		}
		if ev.Kind == fsm.EventFiles {
			return keptFiles(ev), nil
		}
	}
	return KeptFiles{}, nil
}
