package dirstore

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/index"
)

// How many folders a filter looks at together: few at first, because the newest runs may be enough.
const (
	fewChosen  = 64
	manyChosen = 1024
)

// A choice is a listing of the runs that a filter selects.
type choice struct {
	d    *Store
	q    persistence.Query
	c    *cache
	live []persistence.Run          // those that are not only in the archive and were not looked at yet, newest first
	used map[string]bool            // the folders of the archive that are among them
	skip int                        // of those that match, so many are still left out
	all  int                        // runs that there may be, where the index knows; 0 = it does not
	out  []persistence.Run          // that are returned; with each, those of the same second as the last one
	n    int                        // runs that were taken
	each func(persistence.Run) bool // takes the runs in place of out; false = no more are wanted
	over bool                       // that returned false

	// of one look, used again by the next: a run is large, and there may be a hundred thousand
	verdicts []verdict
	states   []disk.Stamp
	digests  []digested
	part     []folder
	read     []persistence.Run
	found    []bool
}

// again returns n zero values in the memory of a list that is not needed any more.
func again[T any](list []T, n int) []T {
	list = slices.Grow(list[:0], n)[:n]
	clear(list)
	return list
}

// choose is Runs of a query with a filter; each takes the runs where it is not nil. A folder whose digest the
// filter rejects is not read, if its state file is as it was; its journal is not looked at then. Of a hundred
// thousand runs those are read that are returned.
func (d *Store) choose(ctx context.Context, q persistence.Query, live []persistence.Run, folders iter.Seq[folder],
	used map[string]bool, c *cache, each func(persistence.Run) bool,
) ([]persistence.Run, error) {
	c.openDigests()
	defer c.closeDigests()
	ch := choice{d: d, q: q, c: c, live: live, used: used, skip: q.Skip, each: each}
	if each != nil {
		defer func() { ch.pass() }()
	}
	if names, known := c.names(); known && q.Loop != "" {
		ch.all = len(live) + strings.Count(names, "-"+persistence.EncodeLoop(q.Loop)+"\n")
	} else if known {
		ch.all = len(live) + strings.Count(names, "\n")
	}
	var next []folder
	size := fewChosen
	for group := range seconds(folders) {
		group = slices.DeleteFunc(group, func(f folder) bool { return ch.used[f.path] })
		if next = append(next, group...); len(next) < size {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		ch.look(next)
		persistence.CountReads(ctx, len(next))
		if next = next[:0]; ch.full() || q.Enough != nil && q.Enough() {
			return ch.out, nil
		}
		size = min(2*size, manyChosen)
	}
	ch.look(next)
	ch.takeAll(ch.newer(""))
	return ch.out, nil
}

func (ch *choice) full() bool { return ch.over || ch.q.Limit > 0 && ch.n >= ch.q.Limit }

// take takes a run if it is wanted.
func (ch *choice) take(r persistence.Run) {
	switch {
	case ch.full() || ch.q.Loop != "" && r.Loop != ch.q.Loop || !ch.q.Matches(r):
	case ch.skip > 0:
		ch.skip--
	default:
		ch.n++
		if ch.each != nil && len(ch.out) > 0 && ch.out[0].RunID != r.RunID {
			ch.pass()
		}
		// a run is large, and append would copy twenty thousand of them often
		if ch.each == nil && len(ch.out) == cap(ch.out) {
			more := len(ch.out) + fewChosen
			if len(ch.out) > 0 && ch.q.Limit == 0 { // perhaps it matches all of them
				more = max(more, ch.all-len(ch.out))
			}
			ch.out = slices.Grow(ch.out, more)
		}
		before := len(ch.out)
		if ch.out = add(ch.out, r); len(ch.out) == before { // in place of its live record
			ch.n--
		}
	}
}

// pass passes on the runs of one second, which are in no order.
func (ch *choice) pass() {
	persistence.SortRuns(ch.out)
	for _, r := range ch.out {
		ch.over = ch.over || !ch.each(r)
	}
	clear(ch.out)
	ch.out = ch.out[:0]
}

// takeAll takes runs in their order.
func (ch *choice) takeAll(runs []persistence.Run) {
	persistence.SortRuns(runs)
	for _, r := range runs {
		ch.take(r)
	}
}

// newer returns the live runs that began in a second or later, which were not looked at yet; "" = all.
func (ch *choice) newer(second string) (runs []persistence.Run) {
	runs, ch.live = cutNewer(ch.live, second)
	return runs
}

// look looks at folders, newest first, with all that began in the same second together.
func (ch *choice) look(folders []folder) {
	verdicts, digests := ch.sift(folders)
	part := ch.part[:0]
	for i := 0; i < len(folders) && !ch.full(); {
		second, end, known := folders[i].second(), i, true
		of := len(part)
		for ; end < len(folders) && folders[end].second() == second; end++ {
			f := folders[end]
			if verdicts[end] == rejected {
				continue
			}
			known = known && verdicts[end] == matches
			f.digest = &digests[end]
			f.whole = ch.q.Readings && ch.q.Limit > 0 && ch.q.Limit <= fewRuns
			part = append(part, f)
		}
		i = end
		lives := func(r persistence.Run) bool { return r.RunID == second }
		if ch.skip > 0 && of == 0 && known && !slices.ContainsFunc(ch.live, lives) {
			if ch.takeAll(ch.newer(second)); ch.skip >= len(part) { // they are counted, and not read
				ch.skip -= len(part)
				part = part[:0]
			}
		}
		// As many are read at once as are still wanted.
		if len(part) >= readAtOnce || ch.q.Limit > 0 && len(part) >= ch.skip+ch.q.Limit-ch.n {
			ch.readAll(part)
			part = part[:0]
		}
	}
	if !ch.full() {
		ch.readAll(part)
	}
	ch.part = part
}

// readAll reads folders, and takes their runs and the live ones that began no earlier than the last of them.
func (ch *choice) readAll(part []folder) {
	if len(part) == 0 {
		return
	}
	read, found := again(ch.read, len(part)), again(ch.found, len(part))
	ch.read, ch.found = read, found
	spread(len(part), func(i int) {
		if read[i], found[i] = ch.d.digestedRun(part[i]); !found[i] || ch.q.Readings {
			read[i], found[i] = ch.d.archivedRun(part[i], ch.q.Readings, ch.c)
		}
	})
	n := 0
	for i := range read {
		if found[i] {
			read[n] = read[i]
			n++
		}
	}
	live := ch.newer(part[len(part)-1].second())
	if len(live) == 0 {
		ch.takeAll(read[:n])
		return
	}
	ch.takeAll(slices.Concat(live, read[:n]))
}

// What a digest says about a run.
type verdict uint8

const (
	unknown verdict = iota // there is no digest, or the state file is another one now
	rejected
	matches
)

// sift asks the digests of folders, newest first, whether the filter selects them, and returns them.
func (ch *choice) sift(folders []folder) ([]verdict, []digested) {
	verdicts, states, digests := again(ch.verdicts, len(folders)), again(ch.states, len(folders)),
		again(ch.digests, len(folders))
	ch.verdicts, ch.states, ch.digests = verdicts, states, digests
	damaged := map[int]disk.Stamp{} // of their journals: what such a run is follows from that, too
	for i, f := range folders {
		state, body, ok := ch.c.digests.Seek(f.path)
		if !ok {
			continue
		}
		if g, is := f.ofDigest(body); is {
			if len(g.damage) > 0 {
				damaged[i] = g.stamp
			}
			if states[i], verdicts[i] = state, rejected; ch.q.Matches(g.run) {
				g.state = state
				digests[i], verdicts[i] = g, matches
			}
		}
	}
	spread(len(folders), func(i int) {
		if verdicts[i] == unknown {
			return
		}
		if now, regular, ok := disk.StampOf(ch.c.statePath(folders[i].path)); !ok || !regular || now != states[i] {
			verdicts[i], digests[i] = unknown, digested{}
		} else if was, is := damaged[i]; is {
			if now, regular, ok := disk.StampOf(filepath.Join(ch.c.history, folders[i].path, "events.jsonl")); !ok ||
				!regular || now != was {
				verdicts[i], digests[i] = unknown, digested{}
			}
		}
	})
	return verdicts, digests
}

// archiveDigests is the name of the file of digests, beside the index.
const archiveDigests = ".history.digests"

func (c *cache) digestsPath() string { return filepath.Join(filepath.Dir(c.path), archiveDigests) }

func (c *cache) statePath(folder string) string { return c.history + "/" + folder + "/state.json" }

// openDigests begins a listing with a filter.
func (c *cache) openDigests() {
	c.digests, c.digested = index.OpenDigests(c.digestsPath()), map[string]index.Digest{}
}

// noteDigest keeps what filters ask of a run whose state file is the one with that stamp.
func (c *cache) noteDigest(p place, state disk.Stamp, r *persistence.Run, journal int64, part int) {
	if c == nil || c.digested == nil || state == (disk.Stamp{}) ||
		strings.ContainsRune(p.folder, filepath.Separator) || !old(state) {
		return
	}
	folder, _, ok := disk.StampOf(filepath.Dir(p.state))
	if disk.Exists(p.parts) { // though its state file knows of none
		part = max(part, 1)
	}
	all, err := disk.TreeSize(filepath.Dir(p.state))
	others := all - state.Size - journal
	if !ok || err != nil || others < 0 {
		return
	}
	body := digestOf(p, r, folder, journal, others, part)
	if r.Bytes = all; len(body) <= mostDigest {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.digested[p.folder] = index.Digest{State: state, Others: []disk.Stamp{folder}, Body: body}
	}
}

// noteDamaged keeps what a listing returns of a damaged run, so that the next one need not read all of its
// journal. It holds as long as the state file and the journal are the files that were read; what another file,
// or the right to read one, has to do with is not kept.
func (c *cache) noteDamaged(p place, state disk.Stamp, r *persistence.Run) {
	journal, regular, ok := disk.StampOf(p.events)
	folder, _, there := disk.StampOf(filepath.Dir(p.state))
	if c == nil || c.digested == nil || state == (disk.Stamp{}) || !ok || !regular || !there || r.Unread != nil ||
		disk.Exists(p.parts) ||
		strings.ContainsRune(p.folder, filepath.Separator) || !old(state) || !old(journal) {
		return
	}
	if body, ok := digestOfDamaged(p, r, folder, journal); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.digested[p.folder] = index.Digest{State: state, Others: []disk.Stamp{folder, journal}, Body: body}
	}
}

// closeDigests writes the digests if that saves the next listing much.
func (c *cache) closeDigests() {
	c.digests.Close()
	if len(c.digested) < manyStates && (!c.eager || len(c.digested) == 0) {
		return
	}
	c.saveDigests(c.digestsPath(), c.news.Began, c.digested)
}

// saveDigests adds digests that were made since began to a file.
func (c *cache) saveDigests(path string, began time.Time, made map[string]index.Digest) {
	names, known := c.names()
	if first, _, _ := strings.Cut(names, "\n"); !known || !isFolder(first) {
		names = ""
	}
	index.SaveDigests(path, began, made, names, func(name string) (disk.Stamp, bool) {
		s, _, ok := disk.StampOf(c.statePath(name))
		return s, ok
	})
}
