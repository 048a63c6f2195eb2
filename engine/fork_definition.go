package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/humanize"
	"loops/persistence"
)

// A forkedLoop is the loop that a fork continues with.
type forkedLoop struct {
	loop    *fsm.Loop
	changes *changes
	lines   []string // how it differs from what the other run was made of; nil = it does not
}

// forkDefinition reads the loop that a fork continues with, and refuses one that cannot continue there.
func (e *Engine) forkDefinition(ctx context.Context, p *project.Project, store *project.Records, from *forkPlace,
	o *ForkRequest,
) (*forkedLoop, error) {
	run, def, folders := from.run, store.KeptDefinition(ctx, from.run.ID), movedSince(p, from.run, from.memory)
	run.File = project.MovedPath(run.File, folders)
	def.Rebase(folders)
	if o.Shipped != nil {
		var err error
		if def, err = o.Shipped.definition(p); err != nil {
			return nil, err
		}
	}
	c := &changes{
		e: e, p: p, run: run, def: def, recorded: o.Shipped != nil || o.Definition == RecordedDefinition,
		warn: o.Warn, inner: map[string]*fsm.Loop{},
	}
	l, err := c.forked(o)
	if err != nil {
		return nil, err
	}
	name := from.point.State
	st := l.States[name]
	switch {
	case st == nil:
		return nil, refuse(Invalid, "%s has no state %s, with which step %d begins; its states: %s", p.Short(l.File),
			humanize.Quote(name), from.point.Step, strings.Join(l.Order, ", "))
	case st.Terminal && !l.Maintain:
		return nil, refuse(Invalid, "state %s is an end of %s: from step %d on there is nothing to do; fork "+
			"an earlier step", humanize.Quote(name), p.Short(l.File), from.point.Step)
	case from.items != nil && st.Each == nil && st.Branches == nil && st.Loop == "":
		return nil, refuse(Invalid, "state %s of %s has no list any more, so no items can be done again; to do all "+
			"of step %d again: %s", humanize.Quote(name), p.Short(l.File), from.point.Step,
			Do(OpFork, string(run.ID), Setting{SetAt, strconv.Itoa(from.point.Step)}))
	case st.Once && st.Action != "" && from.point.Started && !o.Rerun:
		doing := "has done it"
		if from.point.Done == 0 {
			doing = "has begun it"
			if project.Alive(run) {
				doing = "is just doing it"
			}
		}
		return nil, refuse(Undecided, "the action of state %s says idempotent: false, and run %s %s in step %d. To "+
			"do it again:\n  %s", humanize.Quote(name), run.ID, doing,
			from.point.Step, Do(OpFork, string(run.ID), Setting{SetAt, strconv.Itoa(from.point.Step)},
				Setting{SetRerun, ""}))
	}
	made := &forkedLoop{loop: l, changes: c}
	switch main := c.def.Main(); {
	case main == nil:
		if run.SHA256 != "" && run.SHA256 != l.SHA256 {
			made.lines = []string{fmt.Sprintf("sha256 %.12s, was %.12s", l.SHA256, run.SHA256)}
		}
	case main.Sha256 != l.SHA256:
		if before, err := main.Load(); err == nil { // what a former version took may be wrong now
			made.lines = loopfile.Differences(before, l)
		}
	}
	return made, nil
}

// forked reads the loop for a fork.
func (c *changes) forked(o *ForkRequest) (*fsm.Loop, error) {
	if c.recorded {
		if c.def == nil {
			return nil, refuse(Invalid, "the definition of run %s was not recorded with it, or can no longer be "+
				"read; give a file: %s", c.run.ID, Setting{SetDefinition, "FILE"})
		}
		l, err := c.def.Main().Load()
		if err != nil {
			return nil, refuse(Invalid, "%v", err)
		}
		return l, nil
	}
	if o.Definition != "" {
		return Load(c.p, o.Definition, c.warn)
	}
	if c.run.File == "" {
		return Load(c.p, c.run.Loop, c.warn)
	}
	path := c.p.Absolute(c.run.File)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if other, err := c.p.Resolve(c.run.Loop); err == nil {
			return loadFile(c.p, other, c.warn) // the project moved
		}
		or := textf("")
		if c.def != nil {
			or = textf(", or %s", Setting{SetDefinition, "recorded"})
		}
		return nil, refuse(NotFound, "run %s was started from %s, which no longer exists; put it back, or give "+
			"another: %s%s", c.run.ID, c.p.Short(path), Setting{SetDefinition, "FILE"}, or)
	}
	return loadFile(c.p, path, c.warn)
}

// tell warns of how the loop differs from that of the other run.
func (d *forkedLoop) tell(run persistence.Run, warn Warn) {
	if len(d.lines) > 0 {
		warn.say(textf("%s is not what run %s was made of:\n  %s", d.changes.p.Short(d.loop.File), run.ID,
			Lines{"  ", d.lines}))
	}
}
