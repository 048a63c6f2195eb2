package engine

import (
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/persistence"
)

// changes finds out whether what a run is made of changed since it began, and what to continue with.
type changes struct {
	e   *Engine
	p   *project.Project
	run persistence.Run
	def *project.Definition // that was recorded; nil = none, or it cannot be read

	recorded bool // continue with that
	force    bool // continue with what changed
	warn     Warn

	inner map[string]*fsm.Loop // the sub-loops that the run is in, by the branches that lead there
}

// loop returns the loop to continue with.
func (c *changes) loop() (*fsm.Loop, error) {
	if c.recorded {
		if c.def == nil {
			return nil, refuse(Invalid, "the definition of run %s was not recorded with it, or can no longer be "+
				"read; to resume with the file as it is now: %s",
				c.run.ID, Do(OpResume, string(c.run.ID), Setting{SetForce, ""}))
		}
		l, err := c.def.Main().Load()
		if err != nil {
			return nil, refuse(Invalid, "%v", err)
		}
		return l, c.check(l, c.def.Main(), c.run.State, l.SHA256)
	}
	l, err := c.e.loadRecorded(c.p, c.run, c.orRecorded(), c.warn)
	if err != nil {
		return nil, err
	}
	sha := c.run.SHA256
	if c.def != nil {
		sha = c.def.Main().Sha256 // the run may have continued with another one since it began
	}
	return l, c.check(l, c.def.Main(), c.run.State, sha)
}

// library returns the loops that the states of the run may run, and has k keep what it is made of from now on.
func (c *changes) library(files *project.Library, l *fsm.Loop, o project.Overrides, k *project.Keeper) fsm.Library {
	lib := files.Subloops(o, k)
	if c.recorded {
		k.Def = c.def
		return recordedLoops{lib, c.def}
	}
	k.Def, _ = project.NewDefinition(files.Files, l) // one that is too large to write out is not kept
	return lib
}

// checkSubloops looks at the sub-loops that the run is in, at any depth and in all branches. path leads to l.
func (c *changes) checkSubloops(lib fsm.Library, l *fsm.Loop, memory *fsm.Snapshot, path string) error {
	for branch, m := range memory.Inside() {
		inner, err := l.Inner(memory.Current, branch, m, lib)
		if err != nil {
			return refuse(Invalid, "run %s is inside the sub-loop %s, which can no longer be read: %v%s", c.run.ID,
				m.Name, err, c.orRecorded())
		}
		if inner == nil {
			continue // an action, which is in the loop itself
		}
		was := c.def.Of(inner.File)
		if was != nil && was.Sha256 != m.SHA256 {
			was = nil
		}
		if err := c.check(inner, was, m.Memory.Current, m.SHA256); err != nil {
			return err
		}
		at := path + "/" + branch
		c.inner[at] = inner
		if err := c.checkSubloops(lib, inner, m.Memory, at); err != nil {
			return err
		}
	}
	return nil
}

// adopt writes down in the memory of a run which sub-loops it continues with.
func (c *changes) adopt(memory *fsm.Snapshot, path string) {
	for branch, m := range memory.Inside() {
		at := path + "/" + branch
		if l := c.inner[at]; l != nil {
			m.File, m.SHA256 = l.File, l.SHA256
			c.adopt(m.Memory, at)
		}
	}
}

// checkLoops refuses to continue with another definition than before, unless forced, and with one that lacks
// the state that the run is in. was is how it is recorded, if it is, and sha its checksum.
func (c *changes) check(l *fsm.Loop, was *project.RecordedLoop, state, sha string) error {
	file, id := c.p.Short(l.File), string(c.run.ID)
	if _, there := l.States[state]; !there && state != "" {
		return refuse(Invalid, "%s no longer has state %q, which run %s is in; put the state back, or start "+
			"anew with: %s%s",
			file, state, id, Do(OpRun, c.run.Loop), c.orRecorded())
	}
	if sha == "" || sha == l.SHA256 || c.force {
		return nil
	}
	force := Do(OpResume, id, Setting{SetForce, ""})
	var before *fsm.Loop
	if was != nil {
		before, _ = was.Load() // what a former version took may be wrong now
	}
	if before == nil {
		return refuse(Invalid, "%s changed since run %s began (sha256 %.12s, now %.12s); the state it is in, %q, is "+
			"still there; to resume with the file as it is now: %s",
			file, id, sha, l.SHA256, state, force)
	}
	lines := loopfile.Differences(before, l)
	if len(lines) == 0 {
		c.warn.say(textf("%s was edited since run %s began, but means the same", file, id))
		return nil
	}
	return refuse(Invalid, "%s changed since run %s began:\n  %s\nThe state it is in, %q, is still there.\n"+
		"To resume with the file as it is now: %s\nTo resume with it as it was:          %s",
		file, id, Lines{"  ", lines}, state, force, Do(OpResume, id, Setting{SetDefinition, "recorded"}))
}

// orRecorded is the end of a message that says that one can continue with what was recorded.
func (c *changes) orRecorded() Text {
	if c.def == nil || c.recorded {
		return textf("")
	}
	return textf("; or resume with what was recorded: %s",
		Do(OpResume, string(c.run.ID), Setting{SetDefinition, "recorded"}))
}

// recordedLoops are the sub-loops as they were recorded with a run. What was not is read from its file.
type recordedLoops struct {
	project.Subloops
	def *project.Definition
}

// Loop implements [fsm.Library].
func (r recordedLoops) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	path := ""
	if caller := r.def.Of(from.File); caller != nil {
		path = caller.Meant(name)
	}
	if path == "" {
		path, _ = r.Project.Loader().Child(name, from) // what cannot be found is said below
	}
	known := r.def.Of(path)
	if known == nil {
		return r.Subloops.Loop(name, from)
	}
	l, err := known.Load()
	if err != nil {
		return nil, err
	}
	return r.Overridden(l), nil
}
