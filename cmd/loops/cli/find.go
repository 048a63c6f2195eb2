package cli

import (
	"context"
	"strings"

	"loops/persistence"
	"loops/reconcile"
)

// A finder looks up recorded runs by what a person wrote: the name of a loop, or a run.
type finder struct {
	project project
	store   records
}

// loop returns the newest runs of exactly that loop, limit at most (0 = all), as they are now: a run whose owner
// is dead shows as interrupted. A run that has a record in two places is returned once.
func (f finder) loop(ctx context.Context, name string, limit int) ([]persistence.Run, error) {
	runs, err := f.store.Runs(ctx, persistence.Query{Loop: name, Limit: limit})
	if err != nil {
		return nil, err
	}
	return current(runs), nil
}

// runs returns the runs that arg means, newest first: those of the loop with that name, else those of the loop
// in the file with that name, else the run with that id, or for "last" the newest of all. None is no error, but an id that
// several runs have is an *ambiguousError.
func (f finder) runs(ctx context.Context, arg string, limit int) ([]persistence.Run, error) {
	runs, err := f.loop(ctx, arg, limit)
	if err != nil || len(runs) > 0 {
		return runs, err
	}
	one, err := f.run(ctx, "", arg)
	if err != nil {
		return nil, err
	}
	if len(one) > 0 {
		return one, only(arg, one)
	}
	if name := f.nameIn(arg); name != "" && name != arg {
		return f.loop(ctx, name, limit)
	}
	return f.last(ctx, arg)
}

// live returns the runs that arg means and that have not been archived, newest first, and the newest of all.
func (f finder) live(ctx context.Context, arg string) (live []persistence.Run, newest *persistence.Run, err error) {
	runs, err := f.runs(ctx, arg, 1)
	if err != nil || len(runs) == 0 {
		return nil, nil, err
	}
	first := runs[0]
	if named(first, arg) || arg == wordLast && first.Loop != wordLast && f.nameIn(arg) == "" {
		return runs, &first, nil // one run was named
	}
	live, err = f.store.Runs(ctx, persistence.Query{Loop: first.Loop, Live: true})
	return current(live), &first, err
}

// run returns the runs with an id, a run id, or the name of an archive folder; of one loop if loop is not "".
// More than one can share a run id.
func (f finder) run(ctx context.Context, loop, arg string) ([]persistence.Run, error) {
	q := persistence.Query{Loop: loop}
	if loop == "" {
		q.Loop = loopOf(arg)
	}
	if q.Loop == "" {
		return nil, nil
	}
	if q.Loop == "*" {
		q.Loop = ""
	}
	runs, err := f.store.Runs(ctx, persistence.Query{ID: persistence.ID(arg), Loop: loop})
	if err == nil && len(runs) == 0 {
		runs, err = f.store.Runs(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	var found []persistence.Run
	for _, r := range current(runs) {
		if named(r, arg) {
			found = append(found, r)
		}
	}
	return found, nil
}

// named says whether arg is the id of a run, its run id or the name of its archive folder.
func named(r persistence.Run, arg string) bool {
	return string(r.ID) == arg || r.RunID == arg || r.RunID+"-"+r.Loop == arg || usualID(r) == arg
}

// usualID is the id of a run as most have it. One that the reference tool archived goes by the name of its folder.
func usualID(r persistence.Run) string {
	return r.Loop + "-" + strings.ReplaceAll(r.RunID, "-", "")
}

// loopOf returns the loop that the id of a run names, "*" where the id could be any loop's and "" where it is
// no id at all. It saves reading the runs of all loops.
func loopOf(id string) string {
	const stampLen, runLen = len("20060102T150405"), len("2006-01-02T150405")
	switch {
	case len(id) == runLen && isStamp(strings.ReplaceAll(id, "-", "")):
		return "*"
	case len(id) > runLen+1 && id[runLen] == '-' && isStamp(strings.ReplaceAll(id[:runLen], "-", "")):
		return id[runLen+1:]
	case len(id) > stampLen+1 && id[len(id)-stampLen-1] == '-' && isStamp(id[len(id)-stampLen:]):
		if loop := id[:len(id)-stampLen-1]; !strings.Contains(loop, "%") {
			return loop
		}
		return "*" // an escaped name: let the store compare
	}
	return ""
}

// isStamp says whether s looks like 20060102T150405.
func isStamp(s string) bool {
	if len(s) != len("20060102T150405") || s[8] != 'T' {
		return false
	}
	return strings.Trim(s[:8]+s[9:], "0123456789") == ""
}

// nameIn returns the name that the loop file of this name gives its loop, "" if there is none.
func (f finder) nameIn(arg string) string {
	path, err := f.project.resolve(arg)
	if err != nil {
		return ""
	}
	l, _, err := f.project.loader().Load(path)
	if err != nil || l == nil {
		return ""
	}
	return l.Name
}

// current returns runs as they are now, each once: a live record hides an archived copy of itself.
func current(runs []persistence.Run) []persistence.Run {
	type key struct{ loop, run string }
	place := make(map[key]int, len(runs))
	kept := runs[:0:0]
	for _, r := range runs {
		k := key{r.Loop, r.RunID}
		if i, twice := place[k]; twice && r.RunID != "" {
			if kept[i].Archived && !r.Archived {
				kept[i] = reconcile.View(r, alive(r))
			}
			continue
		}
		place[k] = len(kept)
		kept = append(kept, reconcile.View(r, alive(r)))
	}
	return kept
}

// alive says whether a live process owns a run.
func alive(r persistence.Run) bool { return reconcile.Alive(r) }
