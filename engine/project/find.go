package project

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/persistence"
	"loops/reconcile"
)

// A Finder looks up recorded runs by what a person wrote: the name of a loop, or a run.
type Finder struct {
	Project *Project
	Store   *Records

	// Readings says that more will be asked of the runs that are found, so that nothing is read of them twice: see
	// [persistence.Reading].
	Readings bool
}

// Finder finds the runs that are recorded here.
func (r *Records) Finder() Finder { return Finder{Project: r.Project, Store: r} }

// Loop returns the newest runs of exactly that loop, limit at most (0 = all), as they are now: a run whose owner
// is dead shows as interrupted. A run that has a record in two places is returned once.
func (f Finder) Loop(ctx context.Context, name string, limit int) ([]persistence.Run, error) {
	return f.query(ctx, persistence.Query{Loop: name, Limit: limit})
}

// Chosen returns runs as they are recorded; see [Current].
func (f Finder) Chosen(ctx context.Context, q persistence.Query) ([]persistence.Run, error) {
	q.Readings = f.Readings
	return f.Store.Runs(ctx, q)
}

// Each yields what Chosen returns.
func (f Finder) Each(ctx context.Context, q persistence.Query) iter.Seq2[persistence.Run, error] {
	q.Readings = f.Readings
	return f.Store.Each(ctx, q)
}

func (f Finder) query(ctx context.Context, q persistence.Query) ([]persistence.Run, error) {
	runs, err := f.Chosen(ctx, q)
	if err == nil && q.ID != "" && len(runs) == 0 {
		err = f.Store.Elsewhere(ctx, q.ID)
	}
	if err != nil {
		return nil, err
	}
	return Current(runs), nil
}

// Runs returns the runs that arg means, newest first: those of the loop with that name, else those of the loop
// in the file with that name, else the run with that id, or for "last" the newest of all. None is no error, but
// an id that several runs have is an *AmbiguousError.
func (f Finder) Runs(ctx context.Context, arg string, limit int) ([]persistence.Run, error) {
	return f.meant(ctx, arg, persistence.Query{Limit: limit})
}

// meant is Runs with what else is asked of the runs of a loop.
func (f Finder) meant(ctx context.Context, arg string, q persistence.Query) ([]persistence.Run, error) {
	if LoopOf(arg) != "" { // an id is found without a look at other runs
		if _, err := f.Project.Resolve(arg); err != nil {
			one, err := f.query(ctx, persistence.Query{ID: persistence.ID(arg)})
			if err != nil {
				return nil, err
			}
			if len(one) > 0 && one[0].ID == persistence.ID(arg) {
				return one, Only(arg, one)
			}
		}
	}
	q.Loop = arg
	runs, err := f.query(ctx, q)
	if err != nil || len(runs) > 0 {
		return runs, err
	}
	one, err := f.Run(ctx, "", arg)
	if err != nil {
		return nil, err
	}
	if len(one) > 0 {
		return one, Only(arg, one)
	}
	if name := f.NameIn(arg); name != "" && name != arg {
		q.Loop = name
		return f.query(ctx, q)
	}
	return f.Last(ctx, arg)
}

// Live returns the runs that arg means and that have not been archived, newest first, and the newest of all.
func (f Finder) Live(ctx context.Context, arg string) (live []persistence.Run, newest *persistence.Run, err error) {
	runs, err := f.meant(ctx, arg, persistence.Query{Limit: 1, LiveToo: true})
	if err != nil || len(runs) == 0 {
		return nil, nil, err
	}
	first := runs[0]
	if f.IsNamed(first, arg) {
		return runs[:1], &first, nil // one run was named
	}
	return slices.DeleteFunc(runs, func(r persistence.Run) bool { return !r.Live() }), &first, nil
}

// Run returns the runs with an id, a run id, or the name of an archive folder, or whose ids begin with it; of
// one loop if loop is not "". More than one can share a run id, or the beginning of an id.
func (f Finder) Run(ctx context.Context, loop, arg string) ([]persistence.Run, error) {
	q := persistence.Query{Loop: loop}
	if loop == "" {
		q.Loop = LoopOf(arg)
	}
	if begun := loopBegun(arg); q.Loop == "" && begun != "" {
		if taken, err := f.isLoop(ctx, arg); taken || err != nil {
			return nil, err
		}
		q.Loop = begun
	}
	if q.Loop == "" {
		return nil, nil
	}
	if q.Loop == "*" {
		q.Loop = ""
	}
	runs, err := f.query(ctx, persistence.Query{ID: persistence.ID(arg), Loop: loop})
	if err == nil && len(runs) == 0 {
		runs, err = f.query(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	var found []persistence.Run
	for _, r := range runs {
		if IsNamed(r, arg) {
			found = append(found, r)
		}
	}
	return found, nil
}

// isLoop reports whether a loop has that name, in a file or on record.
func (f Finder) isLoop(ctx context.Context, name string) (bool, error) {
	if _, err := f.Project.Resolve(name); err == nil {
		return true, nil
	}
	runs, err := f.Loop(ctx, name, 1)
	return len(runs) > 0, err
}

// IsNamed reports whether arg is the id of a run, the one that it had before it was archived, its run id, the
// name of its archive folder, or the beginning of its id with the loop and at least the year.
func IsNamed(r persistence.Run, arg string) bool {
	return string(r.ID) == arg || r.Earlier != "" && string(r.Earlier) == arg || r.RunID == arg ||
		r.RunID+"-"+r.Loop == arg || usualID(r) == arg ||
		loopBegun(arg) == r.Loop && r.Loop != "" && strings.HasPrefix(usualID(r), arg)
}

// IsNamed is the function IsNamed of a run that arg led to, which last can mean, too: then it is the run that
// is named and not its loop.
func (f Finder) IsNamed(r persistence.Run, arg string) bool {
	return IsNamed(r, arg) || arg == Last && r.Loop != Last && f.NameIn(arg) == ""
}

// loopBegun returns the loop that the beginning of an id names, as in fix-20261121; "" where it names none.
func loopBegun(arg string) string {
	const stamp = "20060102T150405"
	i := strings.LastIndexByte(arg, '-')
	rest := arg[i+1:]
	if i < 1 || len(rest) < len("2006") || len(rest) >= len(stamp) || !isStamp(rest+stamp[len(rest):]) {
		return ""
	}
	return arg[:i]
}

// usualID is the id of a run as most have it. One that little-loops archived goes by the name of its folder.
func usualID(r persistence.Run) string {
	return r.Loop + "-" + strings.ReplaceAll(r.RunID, "-", "")
}

// LoopOf returns the loop that the id of a run names, "*" where the id could be any loop's and "" where it is
// no id at all. It saves reading the runs of all loops.
func LoopOf(id string) string {
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

// isStamp reports whether s looks like 20060102T150405.
func isStamp(s string) bool {
	if len(s) != len("20060102T150405") || s[8] != 'T' {
		return false
	}
	return strings.Trim(s[:8]+s[9:], "0123456789") == ""
}

// NameIn returns the name that the loop file of this name gives its loop, "" if there is none.
func (f Finder) NameIn(arg string) string {
	path, err := f.Project.Resolve(arg)
	if err != nil {
		return ""
	}
	l, _, err := f.Project.Loader().Load(path)
	if err != nil || l == nil {
		return ""
	}
	return l.Name
}

// Current returns runs as they are now, each once: a live record hides an archived copy of itself.
// It takes over runs: there may be twenty thousand of them.
func Current(runs []persistence.Run) []persistence.Run {
	type key struct{ loop, run string }
	place := make(map[key]int, len(runs))
	kept := runs[:0]
	for _, r := range runs {
		k := key{r.Loop, r.RunID}
		if i, twice := place[k]; twice && r.RunID != "" {
			if kept[i].Archived && !r.Archived {
				kept[i] = reconcile.View(r, Alive(r))
			}
			continue
		}
		place[k] = len(kept)
		kept = append(kept, reconcile.View(r, Alive(r)))
	}
	return kept
}

// EachCurrent yields runs, newest first, as [Current] returns them. The error is the last that is yielded.
func EachCurrent(runs iter.Seq2[persistence.Run, error]) iter.Seq2[persistence.Run, error] {
	return func(yield func(persistence.Run, error) bool) {
		var same []persistence.Run // that may be one run in two places
		pass := func() (more bool) {
			for _, r := range Current(same) {
				if !yield(r, nil) {
					return false
				}
			}
			same = same[:0]
			return true
		}
		for r, err := range runs {
			if err == nil && len(same) > 0 && same[0].RunID == r.RunID {
				same = append(same, r)
				continue
			}
			if !pass() {
				return
			}
			if err != nil {
				yield(persistence.Run{}, err)
				return
			}
			same = append(same, r)
		}
		pass()
	}
}

// AsNow returns a run as it is now, whatever is recorded.
func AsNow(r persistence.Run) persistence.Run { return reconcile.View(r, Alive(r)) }

// Alive reports whether a live process owns a run.
func Alive(r persistence.Run) bool { return reconcile.Alive(r) }

// Last means the newest run of the project, where no loop has that name.
const Last = "last"

// Last returns the newest run of the project if arg asks for it.
func (f Finder) Last(ctx context.Context, arg string) ([]persistence.Run, error) {
	if arg != Last {
		return nil, nil
	}
	if _, err := f.Project.Resolve(arg); err == nil {
		return nil, nil
	}
	if runs, err := f.query(ctx, persistence.Query{Loop: arg, Limit: 1}); err != nil || len(runs) > 0 {
		return nil, err
	}
	runs, err := f.query(ctx, persistence.Query{Limit: 2}) // one may be there twice
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	return runs[:1], nil
}

// An AmbiguousError means that what a person wrote is the name of more than one run.
type AmbiguousError struct {
	Arg  string
	What string // what is wrong with it
	Runs []persistence.Run
}

func (e *AmbiguousError) Error() string { return e.What }

// Only returns an error where arg is the id of more than one run.
func Only(arg string, runs []persistence.Run) error {
	if len(runs) < 2 {
		return nil
	}
	what := fmt.Sprintf("%s is the id of %d runs", arg, len(runs))
	if loopBegun(arg) != "" {
		what = fmt.Sprintf("the ids of %d runs begin with %s", len(runs), arg)
	}
	return &AmbiguousError{arg, what, runs}
}

// nearRuns is among how many of the newest runs a name is looked for that may have been meant.
const nearRuns = 1000

// Near is the recorded loop or run that is most like arg, "" if none is.
func (f Finder) Near(ctx context.Context, arg string) string {
	runs, err := f.Store.Runs(ctx, persistence.Query{Limit: nearRuns})
	if err != nil {
		return ""
	}
	var names []string
	for _, r := range runs {
		if LoopOf(arg) != "" {
			names = append(names, string(r.ID), r.RunID, usualID(r))
		} else {
			names = append(names, r.Loop, string(r.ID))
		}
	}
	return humanize.Nearest(arg, names)
}

// Named returns the run with that id, with its reading, nil where arg is no run's. An id that more than one run
// has is an *AmbiguousError.
func (f Finder) Named(ctx context.Context, arg string) (*persistence.Run, error) {
	f.Readings = true
	found, err := f.Run(ctx, "", arg)
	if err != nil {
		return nil, f.Store.Failed(err)
	}
	if len(found) == 0 {
		if found, err = f.Last(ctx, arg); err != nil {
			return nil, f.Store.Failed(err)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], Only(arg, found)
}

// One returns the run that arg means, with its reading: the one with that id, else the newest of the loop with
// that name. None is a *NoRunError.
func (f Finder) One(ctx context.Context, arg string) (persistence.Run, error) {
	f.Readings = true
	run, err := f.Named(ctx, arg)
	if err != nil {
		return persistence.Run{}, err
	}
	if run != nil {
		return *run, nil
	}
	runs, err := f.Runs(ctx, arg, 1)
	if err != nil {
		return persistence.Run{}, f.Store.Failed(err)
	}
	if len(runs) > 0 {
		return runs[0], nil
	}
	return persistence.Run{}, &NoRunError{f, arg}
}

// Exactly returns the run with this id, run id or name of an archive folder, or the newest of all for last; the
// name of a loop is not enough. None is a *NoIDError, more than one an *AmbiguousError.
func (f Finder) Exactly(ctx context.Context, id string) (persistence.Run, error) {
	found, err := f.Run(ctx, "", id)
	if err == nil && len(found) == 0 {
		found, err = f.Last(ctx, id)
	}
	if err == nil && len(found) == 0 { // one that cannot be read may have an id of no form
		found, err = f.Store.Runs(ctx, persistence.Query{ID: persistence.ID(id)})
		found = Current(found)
	}
	switch {
	case err != nil:
		return persistence.Run{}, f.Store.Failed(err)
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return persistence.Run{}, Only(id, found)
	}
	runs, err := f.Store.Runs(ctx, persistence.Query{})
	if err != nil {
		return persistence.Run{}, f.Store.Failed(err)
	}
	no := &NoIDError{ID: id}
	var ids []string
	for _, r := range runs {
		ids = append(ids, string(r.ID))
		if r.Loop == id {
			no.Runs++
		}
	}
	no.Near = humanize.Nearest(id, ids)
	return persistence.Run{}, no
}

// Ran returns the loop that a run is of: as it was recorded in def, or else as the file is now that has its name, and
// which file that is. It is nil where neither can be read.
func (f Finder) Ran(r persistence.Run, def *Definition) (l *fsm.Loop, path string) {
	if main := def.Main(); main != nil {
		if l, err := main.Load(); err == nil {
			return l, ""
		}
	}
	lib, err := f.Project.Library()
	if err != nil {
		return nil, ""
	}
	if path, err = f.Project.Resolve(r.Loop); err != nil {
		return nil, ""
	}
	file, err := lib.Load(path)
	if err != nil || file.Loop == nil || file.Loop.Name != r.Loop {
		return nil, ""
	}
	return file.Loop, path
}

// IsWaiter reports whether arg means one that waits in the queue: by its loop, the run that it resumes, or the
// id of its entry.
func (f Finder) IsWaiter(w persistence.Waiter, arg string) bool {
	return w.Loop == arg || w.ID == arg || w.Resumes != "" && string(w.Resumes) == arg || w.Loop == f.NameIn(arg)
}
