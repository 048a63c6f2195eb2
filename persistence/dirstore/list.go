package dirstore

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"loops/internal/disk"
	"loops/persistence"
)

// readAtOnce bounds how many archived runs are read beside one another.
const readAtOnce = 256

// Each implements [persistence.Store].
func (d *Store) Each(ctx context.Context, q persistence.Query) iter.Seq2[persistence.Run, error] {
	if q.ID != "" || q.Live || q.Last || q.Open || q.LiveToo || !q.Filters() && !lists(q) {
		return persistence.EachOf(func() ([]persistence.Run, error) { return d.Runs(ctx, q) })
	}
	return func(yield func(persistence.Run, error) bool) {
		more := true
		_, err := d.list(ctx, q, func(r persistence.Run) bool {
			more = more && yield(r, nil)
			return more
		})
		if err != nil && more {
			yield(persistence.Run{}, err)
		}
	}
}

// Runs implements [Store]. The names of the archive's folders sort by time, so with a limit only as many state files
// are read as are returned.
func (d *Store) Runs(ctx context.Context, q persistence.Query) ([]persistence.Run, error) {
	return d.list(ctx, q, nil)
}

// list is Runs; each takes the runs of a query that looks at digests, where it is not nil.
func (d *Store) list(ctx context.Context, q persistence.Query, each func(persistence.Run) bool) ([]persistence.Run,
	error,
) {
	if q.ID != "" {
		return q.Cut(d.one(q)), nil
	}
	// A run may be on its way into the archive, or back. Looked at in this order it cannot be missed.
	stems := make(map[string]seen)
	if err := d.stems(ctx, stems); err != nil {
		return nil, err
	}
	folders := func(func(folder) bool) {}
	var c *cache
	if !q.Live {
		c = d.cached()
		defer c.close()
		var err error
		if folders, err = d.folders(c, q.Loop); err != nil {
			return nil, err
		}
		if err = d.stems(ctx, stems); err != nil {
			return nil, err
		}
	}
	live, used := d.merge(d.liveRuns(stems, q), q.Readings)
	live = slices.DeleteFunc(live, func(r persistence.Run) bool {
		return q.Loop != "" && r.Loop != q.Loop || q.Live && r.Archived && !r.Leftover
	})
	persistence.SortRuns(live)
	if q.Live {
		return q.Cut(live), nil
	}
	if q.Filters() || lists(q) {
		runs, err := d.choose(ctx, q, live, folders, used, c, each)
		if err != nil || each != nil {
			return nil, err
		}
		persistence.SortRuns(runs)
		q.Skip = 0
		return q.Cut(runs), nil
	}
	if q.Last {
		folders = lastOfEach(folders)
	}
	var out []persistence.Run
	newer := func(second string) (runs []persistence.Run) {
		runs, live = cutNewer(live, second)
		return runs
	}
	// As many are read at once as are still wanted.
	var next []folder
	take := func() {
		read, found := make([]persistence.Run, len(next)), make([]bool, len(next))
		spread(len(next), func(i int) {
			// all will be asked for
			next[i].whole = q.Readings && (q.Loop != "" || q.Limit > 0 && q.Limit <= fewRuns)
			next[i].unread = q.Open
			read[i], found[i] = d.archivedRun(next[i], q.Readings, c)
		})
		persistence.CountReads(ctx, len(next))
		for i, f := range next {
			if out = append(out, newer(f.second())...); found[i] && (q.Loop == "" || read[i].Loop == q.Loop) {
				out = add(out, read[i])
			}
		}
		next = next[:0]
	}
	enough := func() bool { return q.Limit > 0 && len(out)+len(next) >= q.Skip+q.Limit }
	for group := range seconds(folders) {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		group = slices.DeleteFunc(group, func(f folder) bool { return used[f.path] })
		if len(group) == 0 {
			continue
		}
		if q.Skip > 0 && len(out)+len(next) == 0 { // what is left out as a whole is not read
			first := newer(group[0].second())
			if n := len(first) + len(group); n <= q.Skip {
				q.Skip -= n
				continue
			}
			out = append(out, first...)
		}
		if next = append(next, group...); len(next) < readAtOnce && !enough() {
			continue
		}
		if take(); enough() {
			break
		}
	}
	take()
	out = append(out, live...)
	persistence.SortRuns(out)
	return q.Cut(out), nil
}

// lists reports whether a query without a filter is for so many runs that their digests are read: no state file
// is, then.
func lists(q persistence.Query) bool {
	return !q.Last && !q.Open && !q.Readings && (q.Limit == 0 || q.Limit > manyNames && !q.LiveToo)
}

// add adds a run of the archive to those that are listed so far, newest first, or puts it instead of its
// live record: it came to the archive, perhaps for the second time, while it was listed.
func add(out []persistence.Run, r persistence.Run) []persistence.Run {
	for i := len(out) - 1; i >= 0 && out[i].RunID == r.RunID; i-- {
		if !out[i].Archived && out[i].ID == r.ID && out[i].StartedAt.Equal(r.StartedAt) {
			out[i] = r
			return out
		}
	}
	return append(out, r)
}

// fewRuns is how many runs whose memory may be asked for are read whole at once: to read a file twice takes longer.
const fewRuns = 50

// one is Runs of a query with an ID.
func (d *Store) one(q persistence.Query) []persistence.Run {
	p, err := d.find(q.ID)
	if err != nil {
		p, err = d.find(q.ID) // it was on its way into the archive, or back
	}
	var runs []persistence.Run
	if err != nil {
		if r, ok := d.starting(q.ID); ok && (q.Loop == "" || q.Loop == r.Loop) {
			runs = append(runs, r)
		}
		return runs
	}
	if p.folder == "" || d.leftover(q.ID) {
		runs, _ = d.merge(d.liveRuns(map[string]seen{string(q.ID): 0}, q), q.Readings)
	} else {
		key := p.folder
		if !isFolder(key) {
			key = string(q.ID) // in the old layout
		}
		of := makeFolder(key, p.folder)
		of.whole = q.Readings // its memory is about to be asked for
		if r, ok := d.archivedRun(of, q.Readings, nil); ok {
			runs = append(runs, r)
		}
	}
	return slices.DeleteFunc(runs, func(r persistence.Run) bool {
		return r.ID != q.ID || q.Loop != "" && r.Loop != q.Loop || q.Live && r.Archived && !r.Leftover
	})
}

// A folder is one archived run as its name describes it.
type folder struct {
	key   string // run id, dash, encoded name of the loop
	path  string // relative to the archive
	whole bool   // of its state all is read
	// of a run that the cache knows to have finished nothing is read: what is returned of it is not open
	unread bool
	digest *digested // what its digest says; nil = nothing
	when   uint64    // the digits of the run id: numbers are sorted faster than names
}

// second returns the run id, which names the second in which the run began.
func (f folder) second() string { return f.key[:len(persistence.RunIDLayout)] }

// cutNewer divides runs, newest first, into those that began in a second or later, and the rest.
func cutNewer(runs []persistence.Run, second string) (newer, rest []persistence.Run) {
	n := 0
	for n < len(runs) && runs[n].RunID >= second {
		n++
	}
	return runs[:n], runs[n:]
}

// seconds yields folders, newest first, with all that began in the same second together: only what is in them
// says which of these began last. A list is the caller's until the next one.
func seconds(folders iter.Seq[folder]) iter.Seq[[]folder] {
	return func(yield func([]folder) bool) {
		var group []folder
		for f := range folders {
			if len(group) > 0 && group[0].second() != f.second() {
				if !yield(group) {
					return
				}
				group = group[:0]
			}
			group = append(group, f)
		}
		if len(group) > 0 {
			yield(group)
		}
	}
}

func makeFolder(key, path string) folder {
	f := folder{key: key, path: path}
	for _, c := range []byte(key[:len(persistence.RunIDLayout)]) {
		if '0' <= c && c <= '9' {
			f.when = 10*f.when + uint64(c-'0')
		}
	}
	return f
}

// folders returns the archive folders of a loop, or of all, newest first.
func (d *Store) folders(c *cache, loop string) (iter.Seq[folder], error) {
	encoded := persistence.EncodeLoop(loop)
	wanted := func(name string) bool {
		l := name[len(persistence.RunIDLayout)+1:]
		return loop == "" || l == encoded || persistence.DecodeLoop(l) == loop
	}
	names, known := c.names()
	if first, _, _ := strings.Cut(names, "\n"); known && isFolder(first) {
		return func(yield func(folder) bool) { // of a hundred thousand, twenty are looked at
			for line := range strings.Lines(names) {
				if name := strings.TrimSuffix(line, "\n"); wanted(name) && !yield(makeFolder(name, name)) {
					return
				}
			}
		}, nil
	}
	var out []folder
	add := func(name string) {
		if isFolder(name) {
			if wanted(name) {
				out = append(out, makeFolder(name, name))
			}
			return
		}
		if loop != "" && persistence.DecodeLoop(name) != loop {
			return
		}
		inner, _ := disk.Names(filepath.Join(d.history, name)) // the old layout: loop/run id
		for _, n := range inner {
			if key := n + "-" + name; isFolder(key) {
				out = append(out, makeFolder(key, filepath.Join(name, n)))
			}
		}
	}
	var err error
	if known {
		for line := range strings.Lines(names) {
			add(strings.TrimSuffix(line, "\n"))
		}
	} else {
		err = c.eachName(add)
	}
	return newestFirst(out), err
}

func (f folder) newer(g folder) bool {
	if f.when != g.when {
		return f.when > g.when
	}
	return f.key > g.key
}

// newestFirst yields the folders in order, which it makes as it goes: of ten thousand, twenty are wanted.
func newestFirst(fs []folder) iter.Seq[folder] {
	down := func(i, n int) {
		for {
			c := 2*i + 1
			if c+1 < n && fs[c+1].newer(fs[c]) {
				c++
			}
			if c >= n || !fs[c].newer(fs[i]) {
				return
			}
			fs[i], fs[c] = fs[c], fs[i]
			i = c
		}
	}
	return func(yield func(folder) bool) {
		for i := len(fs)/2 - 1; i >= 0; i-- {
			down(i, len(fs))
		}
		for n := len(fs); n > 0; n-- {
			if !yield(fs[0]) {
				return
			}
			fs[0] = fs[n-1]
			down(0, n-1)
		}
	}
}

// lastOfEach passes on the first folder of each loop.
func lastOfEach(folders iter.Seq[folder]) iter.Seq[folder] {
	return func(yield func(folder) bool) {
		seen := make(map[string]bool)
		for f := range folders {
			loop := f.key[len(persistence.RunIDLayout)+1:]
			if !seen[loop] && !yield(f) {
				return
			}
			seen[loop] = true
		}
	}
}

func isFolder(name string) bool {
	n := len(persistence.RunIDLayout)
	return len(name) >= n+2 && name[n] == '-' && persistence.IsRunID(name[:n])
}

// archivedRun reads one run of the archive. Folders without any of its files are not runs.
func (d *Store) archivedRun(f folder, keep bool, c *cache) (persistence.Run, bool) {
	p := d.archivedPlace("", f.path)
	runID, loop, _ := splitFolder(f.key)
	at, err := persistence.ParseRunID(runID)
	if err != nil {
		return persistence.Run{}, false
	}
	p.id = persistence.MakeID(loop, at)
	if f.unread && c.ended(p) {
		return persistence.Run{ID: p.id, RunID: runID, Loop: loop, StartedAt: at, Archived: true}, true
	}
	l, err := p.glance(f.whole, c)
	if err != nil && l == nil || !l.whole && !p.there() {
		return persistence.Run{}, false // gone since we looked
	}
	if l.record == nil {
		l.record = &record{}
		l.Loop = loop
		l.StartedAt = at
	}
	if l.foreign {
		p.id = persistence.ID(f.key)
	}
	l.runID = runID
	r := p.run(l)
	r.Resumable = r.Resumable && !l.foreign
	switch {
	case l.foreign:
	case len(r.Damage) > 0 && !l.unreadable:
		c.noteDamaged(p, l.stamp, &r)
	case len(r.Damage) == 0 && l.whole:
		c.noteDigest(p, l.stamp, &r, l.journal, l.part)
	}
	if state, journal, ok := p.stamps(); ok && len(r.Damage) == 0 && state == l.stamp {
		r.Version = versionOf(state, journal)
	}
	if keep {
		r.Reading = &reading{d, p, l, err}
	}
	return r, true
}
