package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/view"
	"loops/persistence"
)

// A MemoryFile is the memory that a name of a loop, or of a memory, means.
type MemoryFile struct {
	Name    string
	Path    string
	folder  *persistence.LessonFolder
	Content persistence.Memory
}

// FindMemory reads the memory of a loop, or the one with that name. The error is a [*engine.Refusal] where
// there is none.
func FindMemory(p *project.Project, name string) (*MemoryFile, error) {
	m := &MemoryFile{Name: name, folder: persistence.ProjectLessons(p.Loops)}
	if lib, err := p.Library(); err == nil {
		if path, err := lib.Find(name); err == nil {
			if f, err := lib.Read(path); err == nil && f.Loop != nil {
				m.Name = cmp.Or(f.Loop.MemoryName(), name)
			}
		}
	}
	names, err := m.folder.Names()
	if err != nil {
		return nil, engine.Refuse(engine.Failed, "the memories cannot be read: %v", project.Cause(err))
	}
	if !slices.Contains(names, m.Name) {
		if len(names) == 0 {
			return nil, engine.Refuse(engine.NotFound, "no run left a memory %s: a loop has one by memory: {}, and "+
				"states write it by remember", humanize.Quote(m.Name))
		}
		return nil, engine.Refuse(engine.NotFound, "there is no memory %s (memories: %s)", humanize.Quote(m.Name),
			humanize.List(names))
	}
	m.Path = p.Short(m.folder.Path(m.Name))
	if m.Content, err = m.folder.Load(m.Name); err != nil {
		return nil, engine.Refuse(engine.Failed, "the memory %s cannot be read: %v", humanize.Quote(m.Name),
			project.Cause(err))
	}
	return m, nil
}

// Object returns the memory as programs read it.
func (m *MemoryFile) Object() api.Memory {
	return api.Memory{Memory: m.Name, File: m.Path, Facts: m.Facts(), Damaged: m.Content.Damaged}
}

// Facts returns the facts of the memory, the oldest first, with the runs that began with each, or with an equal
// one, and how they ended.
func (m *MemoryFile) Facts() []api.MemoryFact {
	all := []api.MemoryFact{}
	for _, l := range m.Content.Facts {
		all = append(all, m.fact(l))
	}
	return all
}

func (m *MemoryFile) fact(l fsm.Lesson) api.MemoryFact {
	f := api.MemoryFact{
		ID: l.ID, Run: l.Run, State: l.State, At: api.Time(l.At), Fact: l.Text, Failed: l.Failed,
		SeenBy: []api.MemoryUse{},
	}
	same := map[string]bool{} // a run begins with the newest of equal facts
	for _, other := range m.Content.Facts {
		same[other.ID] = other.Text == l.Text
	}
	same[l.ID] = true
	for _, u := range m.Content.Uses {
		if !slices.ContainsFunc(u.Saw, func(id string) bool { return same[id] }) {
			f.Others++
			if u.Good {
				f.OthersCompleted++
			}
			continue
		}
		f.SeenBy = append(f.SeenBy, api.MemoryUse{
			Run: u.Run, At: api.Time(u.At), TerminatedBy: u.Ended,
			Completed: u.Good,
		})
		if u.Good {
			f.SeenCompleted++
		}
	}
	return f
}

// Forget removes facts: those with these ids or of these runs, or all that are about failed attempts, or all.
// An id that no fact has is an error, and then nothing is removed.
func (m *MemoryFile) Forget(ctx context.Context, ids []string, failed, all bool) ([]api.MemoryFact, error) {
	matches := func(l fsm.Lesson) bool { return slices.Contains(ids, l.ID) || slices.Contains(ids, l.Run) }
	for _, id := range ids {
		if !slices.ContainsFunc(m.Content.Facts, func(l fsm.Lesson) bool { return l.ID == id || l.Run == id }) {
			return nil, engine.Refuse(engine.NotFound, "the memory %s has no fact %s, and none of a run with that id",
				humanize.Quote(m.Name), humanize.Quote(id))
		}
	}
	removed, err := m.folder.Forget(ctx, m.Name, func(l fsm.Lesson) bool {
		return all || failed && l.Failed || matches(l)
	})
	if err != nil {
		return nil, engine.Refuse(engine.Failed, "the memory %s cannot be changed: %v", humanize.Quote(m.Name),
			project.Cause(err))
	}
	facts := []api.MemoryFact{}
	for _, l := range removed {
		facts = append(facts, m.fact(l))
	}
	return facts, nil
}

// Diff returns what the memory has that a run did not begin with, and what that began with and the memory lacks. The
// run is the newest that ended and began with the memory, if its id is "".
func (m *MemoryFile) Diff(run string) (api.MemoryDiff, error) {
	d := api.MemoryDiff{Memory: m.Name, Added: []api.MemoryFact{}, Gone: []string{}}
	i := len(m.Content.Uses) - 1
	for run != "" && i >= 0 && m.Content.Uses[i].Run != run {
		i--
	}
	switch {
	case i < 0 && run == "":
		return d, engine.Refuse(engine.NotFound, "no run that began with the memory %s has ended",
			humanize.Quote(m.Name))
	case i < 0:
		return d, engine.Refuse(engine.NotFound, "the memory %s knows no run %s that ended", humanize.Quote(m.Name),
			humanize.Quote(run))
	}
	use := m.Content.Uses[i]
	d.Run = use.Run
	known := map[string]bool{}
	for _, l := range m.Content.Facts {
		known[l.ID] = true
		if !slices.Contains(use.Saw, l.ID) {
			d.Added = append(d.Added, m.fact(l))
		}
	}
	for _, id := range use.Saw {
		if !known[id] {
			d.Gone = append(d.Gone, id)
		}
	}
	return d, nil
}

// Share returns how many of some runs completed, as "2 (67 %)"; "-" if there are none.
func Share(completed, all int) string {
	if all == 0 {
		return "-"
	}
	return strconv.Itoa(completed) + " (" + view.SharePercent(completed, all) + ")"
}

// A RunFact is a fact that a run began with, or that it left.
type RunFact struct {
	Memory, ID, Text string
	Failed           bool // it is about an attempt that failed
	Wrote            bool // the run left it
	Gone             bool // the memory has it no longer
}

// RunFacts returns what a run and its sub-loops began with and left, by memory. m is what the run remembers;
// nil = that is not known.
func RunFacts(p *project.Project, run persistence.ID, m *fsm.Snapshot) (facts []RunFact, err error) {
	folder := persistence.ProjectLessons(p.Loops)
	names, err := folder.Names()
	if err != nil {
		return nil, err
	}
	begun := map[string]*fsm.Recalled{}
	if m != nil && m.Recalled != nil {
		begun[m.Recalled.Memory] = m.Recalled
		if !slices.Contains(names, m.Recalled.Memory) {
			names = append(names, m.Recalled.Memory)
		}
	}
	for _, name := range names {
		content, err := folder.Load(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return facts, err
		}
		known, saw := map[string]fsm.Lesson{}, []string{}
		for _, l := range content.Facts {
			known[l.ID] = l
		}
		then := map[string]fsm.Lesson{}
		if r := begun[name]; r != nil {
			for _, l := range r.Facts {
				then[l.ID] = l
				saw = append(saw, l.ID)
			}
		}
		for _, u := range content.Uses {
			if u.Run == string(run) || strings.HasPrefix(u.Run, string(run)+"/") {
				saw = append(saw, u.Saw...)
			}
		}
		seen := map[string]bool{}
		for _, id := range saw {
			if seen[id] {
				continue
			}
			seen[id] = true
			l, there := known[id]
			if !there {
				l = then[id]
			}
			facts = append(facts, RunFact{Memory: name, ID: id, Text: l.Text, Failed: l.Failed, Gone: !there})
		}
		for _, l := range content.Facts {
			if l.Run == string(run) {
				facts = append(facts, RunFact{Memory: name, ID: l.ID, Text: l.Text, Failed: l.Failed, Wrote: true})
			}
		}
	}
	return facts, nil
}
