package worker

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/engine/trigger"
	"loops/persistence"
)

// conflicted is the exit code of a process that found the paths of its run locked.
const conflicted = 9

// restOfBlocked is how long a run rests whose paths are locked, unless it is found before that they are free.
const restOfBlocked = 30 * time.Second

// restOfOwn is how long a run rests whose own last process has its paths still.
const restOfOwn = time.Second

// A block is what a run waits for whose paths are locked.
type block struct {
	on      persistence.ID
	probing bool // on was blocked as well, and is tried first: when it has begun, the next one may be able to, too
}

// blocks are the runs that this worker found blocked. To try one costs a process, and a hundred runs of one
// checkout may wait for each other: so when a run ends that others wait for, they are tried one after the
// other, in the order in which they came, and only until one is blocked again.
type blocks struct {
	of   map[persistence.ID]block
	came map[persistence.ID]int // in which order; also of those that are tried just now
	last int
}

func (b *blocks) add(id, on persistence.ID) {
	if b.of == nil || len(b.came) > mostNotes {
		// those that are forgotten are tried after their rest
		b.of, b.came = map[persistence.ID]block{}, map[persistence.ID]int{}
	}
	if b.came[id] == 0 {
		b.last++
		b.came[id] = b.last
	}
	b.of[id] = block{on: on}
}

// remove takes out a run that is tried.
func (b *blocks) remove(id persistence.ID) { delete(b.of, id) }

// A stance is what happens to a run that others wait for.
type stance int

const (
	free  stance = iota // it is over, or has no owner and is not to have one: its paths are free
	about               // it is about to be tried
	owned               // a process has it
)

// next returns the runs to be tried now. stand tells what happens to one that others wait for.
func (b *blocks) next(stand func(persistence.ID) stance) (try []persistence.ID) {
	waiting := map[block][]persistence.ID{} // by what they wait for
	for id, on := range b.of {
		waiting[on] = append(waiting[on], id)
	}
	for on, ids := range waiting {
		slices.SortFunc(ids, func(x, y persistence.ID) int { return cmp.Compare(b.came[x], b.came[y]) })
		follow := func(ids []persistence.ID, on block) {
			for _, id := range ids {
				b.of[id] = on
			}
		}
		if further, is := b.of[on.on]; is { // it was tried, and is blocked again
			follow(ids, further)
			continue
		}
		if now := stand(on.on); now == about || now == owned && !on.probing {
			continue
		}
		try = append(try, ids[0])
		b.remove(ids[0])
		follow(ids[1:], block{on: ids[0], probing: true})
	}
	slices.Sort(try)
	return try
}

// holderOf returns the run that a message about locked paths names; "" if it names none.
func holderOf(note string) persistence.ID {
	for word := range strings.FieldsSeq(note) {
		if word = strings.Trim(word, ",;:()"); project.LoopOf(word) != "" {
			return persistence.ID(word)
		}
	}
	return ""
}

// blocked notes that the paths of a run are locked by another one, and says so if it did not before.
func (w *worker) blocked(id, on persistence.ID, note string) {
	if on != id {
		w.mu.Lock()
		w.blocks.add(id, on)
		w.mu.Unlock()
	}
	if note, _, _ := strings.Cut(note, " ("); w.news(id, "locked", note) {
		w.Say("Run %s waits: %s.", id, note)
	}
}

// unblock has runs tried whose paths may be free, and reports whether there are any. all are the submitted runs.
func (w *worker) unblock(ctx context.Context, all []persistence.Placed) (some bool, err error) {
	holders := w.holders()
	if len(holders) == 0 {
		return false, nil
	}
	known := map[persistence.ID]stance{}
	for _, p := range all {
		switch trigger.StandOf(p) {
		case trigger.Owned:
			known[p.Run] = owned
		case trigger.Due:
			known[p.Run] = about
		}
	}
	for _, id := range holders {
		if _, ok := known[id]; ok {
			continue
		}
		runs, err := w.store.Runs(ctx, persistence.Query{ID: id, Limit: 1}) // one that no worker has, or that is over
		if err != nil {
			return false, err
		}
		if runs = project.Current(runs); len(runs) > 0 && runs[0].Held && !runs[0].Lapsed {
			known[id] = owned
		}
	}
	w.mu.Lock()
	try := w.blocks.next(func(id persistence.ID) stance {
		if !slices.Contains(holders, id) { // it came meanwhile
			return about
		}
		return known[id]
	})
	w.mu.Unlock()
	for _, id := range try {
		if err := w.store.Found(ctx, id, persistence.Finding{Open: true}); err != nil {
			return false, err
		}
	}
	return len(try) > 0, nil
}

// holders are the runs that others wait for.
func (w *worker) holders() (all []persistence.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, on := range w.blocks.of {
		if !slices.Contains(all, on.on) {
			all = append(all, on.on)
		}
	}
	return all
}
