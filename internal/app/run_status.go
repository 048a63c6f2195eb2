package app

import (
	"context"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/process"
	"loops/persistence"
)

// Remember adds to a glimpse what a program gets besides: the memory of the run, and its newest event.
func Remember(ctx context.Context, f project.Finder, v *inspect.Status) {
	if v.Memory == nil {
		v.Memory = engine.SnapshotOf(ctx, f, v)
	}
	if v.Glance.Newest == nil {
		engine.LookBack(ctx, f, v, func(e fsm.Event) bool {
			v.Glance.Newest = &e
			return false
		})
	}
}

// Waits returns what those of some runs wait for that are alive. Of a run whose memory cannot be read it is not known.
func Waits(ctx context.Context, f project.Finder, runs ...persistence.Run) map[persistence.ID]*fsm.Wait {
	all := map[persistence.ID]*fsm.Wait{}
	for _, r := range runs {
		if w := WaitNow(ctx, f, r); w != nil {
			all[r.ID] = w
		}
	}
	return all
}

// WaitNow is Waits of one run; nil = it waits for nothing that is known.
func WaitNow(ctx context.Context, f project.Finder, r persistence.Run) *fsm.Wait {
	if !project.Alive(r) {
		return nil
	}
	m, err := f.Store.MemoryOf(ctx, r)
	if err != nil || m == nil {
		return nil
	}
	return m.Waiting()
}

// runStatus finds out all that status shows. resume is the command that continues with the run.
func runStatus(ctx context.Context, f project.Finder, r persistence.Run, resume string) *inspect.Status {
	v := &inspect.Status{Run: r, Now: time.Now(), Alive: project.Alive(r)}
	engine.KeepUnread(f, v, r.Unread)
	if at, paused := f.Store.PausedSince(ctx, r); paused && r.Resumable {
		v.PausedAt = at
	}
	if m := engine.SnapshotOf(ctx, f, v); m != nil {
		v.Memory = m
		if r.Status == persistence.Running || !r.Archived || r.Resumable {
			v.Wait = m.Waiting()
		}
		if v.Alive || r.Resumable {
			open := m.Questions()
			v.Asks = engine.Unanswered(ctx, f.Store, r.ID, open)
			showVotes(v)
			v.Answered = !v.Alive && v.Wait != nil && v.Wait.Choices != "" && len(open) > 0 && len(v.Asks) == 0
		}
	}
	var err error
	// or that they cannot be read is said there
	if v.Answers, err = engine.Given(ctx, f.Store, r.ID); len(r.Damage) == 0 {
		engine.KeepUnread(f, v, err)
	}
	engine.LookBack(ctx, f, v, v.Glance.Add)
	if v.Alive {
		v.Stderr = process.Heard(f.Project.RunDir(r.ID))
	}
	if p := engine.PhaseIn(f.Project.RunDir(r.ID)); p != nil {
		v.Git, v.GitSince = p.Doing, p.Since
	}
	rules := RulebookOf(ctx, f, r)
	v.Rules, v.Loops = rules, rules.ranLoops(r, v.Memory)
	v.Resume = resume
	v.Measure()
	return v
}

// showVotes has the wait of a run show the answers so far to its question: those on record, which the run may
// not have seen yet.
func showVotes(v *inspect.Status) {
	for _, q := range v.Asks {
		if text := q.Standing(); text != "" && v.Wait != nil && v.Wait.Question == q.Address {
			w := *v.Wait
			w.Seen = text
			v.Wait = &w
		}
	}
}

// UnreadRuns is the error of a view that could not read all of these runs.
func UnreadRuns(runs []*inspect.Status) error {
	var errs []error
	for _, v := range runs {
		if v.Unread != nil {
			errs = append(errs, engine.Refuse(engine.NotRecorded, "what is recorded of run %s cannot all be read: %v",
				v.Run.ID, v.Unread))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return engine.Several(errs)
}

// ranLoops are the loop that the run is of, as it runs it, and those that it is inside of.
func (b *Rulebook) ranLoops(r persistence.Run, memory *fsm.Snapshot) inspect.LoopsByMemory {
	if memory == nil {
		return nil
	}
	loops := inspect.LoopsByMemory{}
	if l := b.main; l != nil {
		l, _ = project.Overrides{}.Over(r.Options).Apply(l)
		l = memory.Raised.In(r.Segment + 1).Apply(l)
		loops[memory] = given(l, r)
	} else {
		loops[memory] = &fsm.Loop{MaxSteps: r.MaxSteps}
	}
	b.innerLoops(loops, memory)
	return loops
}

// innerLoops adds those that a loop runs inside a state. A branch or an item with an action runs none.
func (b *Rulebook) innerLoops(loops inspect.LoopsByMemory, memory *fsm.Snapshot) {
	for name, c := range memory.Inside() {
		if c.Inline(name, memory) {
			continue
		}
		if known := b.def.Of(c.File); known != nil {
			if l, _ := known.Load(); l != nil { // one that a former version took may be wrong now
				loops[c.Memory] = l
			}
		}
		b.innerLoops(loops, c.Memory)
	}
}
