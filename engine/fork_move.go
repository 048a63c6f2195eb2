package engine

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/internal/humanize"
	"loops/persistence"
)

// workFolder returns the working folder of the run as it remembers it, and whether it is its own: a person may
// have named another one.
func (f *forkPlace) workFolder(p *project.Project) (dir string, own bool) {
	v, _ := f.memory.Context.Get("run_dir")
	dir = strings.TrimRight(text(v), "/")
	if dir == "" {
		return p.RunDir(f.run.ID), true
	}
	// the project may have moved
	return dir, dir == p.RunDir(f.run.ID) || strings.HasSuffix(dir, "/runs/"+string(f.run.ID))
}

// move copies what the run left in its working folder to another one, and has all that is remembered name that.
// Where the copy is to be durable, it is so before that memory is recorded.
func (f *forkPlace) move(ctx context.Context, p *project.Project, to string, empty, durable bool) (notes []Text,
	err error,
) {
	from, own := f.workFolder(p)
	if !own {
		f.folders = movedSince(p, f.run, f.memory)
		project.RebasePaths(f.memory, f.folders)
		return []Text{textf("run_dir is %s, as in run %s; nothing was copied", from, f.run.ID)}, nil
	}
	real := p.RunDir(f.run.ID)
	folders := append(movedSince(p, f.run, f.memory), project.MovedFolder{From: from, To: to})
	if real != from {
		folders = append(folders, project.MovedFolder{From: real, To: to})
	}
	if rel, err := filepath.Rel(p.Dir, real); err == nil && filepath.IsLocal(rel) {
		if relTo, err := filepath.Rel(p.Dir, to); err == nil {
			folders = append(folders, project.MovedFolder{From: rel, To: relTo})
		}
	}
	project.RebasePaths(f.memory, folders)
	f.folders = folders
	if empty {
		return nil, nil
	}
	named := outputsNamed(f.memory)
	if f.items != nil {
		maps.Copy(named, f.items.files)
	}
	c, err := persistence.CopyWork(ctx, real, to, func(rel string) bool {
		return action.WrittenByRunner(rel) && !named[rel]
	})
	if err != nil {
		return nil, &Refusal{
			Kind: Failed, Err: err,
			Text: textf("what run %s left in %s cannot be copied: %v; begin without it: %s", f.run.ID, p.Short(real),
				err, Setting{Name: SetEmpty}),
		}
	}
	if c.Files > 0 && durable {
		if err := disk.SyncTree(to); err != nil {
			return nil, err
		}
	}
	if c.Files > 0 {
		notes = append(notes, textf("copied %s (%s) from %s/, as they are now", humanize.Count(c.Files, "file"),
			humanize.Bytes(c.Bytes), p.Short(real)))
	}
	if n := len(c.Left); n > 0 {
		notes = append(notes, textf("left out %s/%s, which is neither a file nor a link within the folder%s",
			p.Short(real), relTo(real, c.Left[0]), map[bool]string{true: fmt.Sprintf(", and %d more", n-1)}[n > 1]))
	}
	return notes, nil
}

// outputsNamed returns the files of long outputs that are named in what a run remembers, by their paths in its working
// folder. A fork needs no others: they are of steps of the other run, and a long one has a lot of them.
func outputsNamed(m *fsm.Snapshot) map[string]bool {
	var b []byte
	for _, part := range []*value.Map{m.Context, m.Captured, m.PrevResult, m.LastResult} {
		b = value.AppendJSON(b, part)
	}
	named := map[string]bool{}
	name(named, m.Messages, string(b))
	for _, c := range m.Inside() {
		maps.Copy(named, outputsNamed(c.Memory))
	}
	for _, b := range m.Branches {
		name(named, b.End)
	}
	return named
}

// outputFile is the path of the file of a long output.
var outputFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`output/[0-9]{6,}[\w.~@+-]*\.(out|err)`)
})

// name adds the files of long outputs that are named in values.
func name(named map[string]bool, values ...any) {
	for _, v := range values {
		for _, path := range outputFile().FindAll(value.AppendJSON(nil, v), -1) {
			named[string(path)] = true
		}
	}
}

func relTo(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil {
		return rel
	}
	return path
}

// spent says what the other run had used before the place, which the fork does not count.
func (f *forkPlace) spent() []Text {
	s := f.memory.Spent
	if s.Prompts == 0 && s.Usage.Total() == 0 {
		return nil
	}
	cost := humanize.USD(s.CostUSD)
	if s.Unpriced > 0 {
		cost = "more than " + cost
	}
	return []Text{textf("budgets start at zero; run %s had used %s and %s tokens until there", f.run.ID, cost,
		humanize.Tokens(s.Usage.Total()))}
}
