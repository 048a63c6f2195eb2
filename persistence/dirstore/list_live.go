package dirstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"loops/internal/disk"
	"loops/persistence"
)

// What a walk through the folder of running ones saw of a run. What it did not see was not there when it began;
// later it may be.
type seen uint8

const (
	sawRun seen = 1 << iota // a file that makes it one
	sawState
	sawRemoved
	sawAside
	sawCommands
)

// sights are the ends of names and what they show.
var sights = []struct {
	suffix string
	saw    seen
}{
	{".state.json", sawRun | sawState},
	{".events.jsonl", sawRun},
	{".pid", sawRun},
	{removedSuffix, sawRemoved},
	{".damaged", sawAside},
	{commandsSuffix, sawCommands},
}

// Crowded implements [persistence.Store].
func (d *Store) Crowded(n int) bool {
	f, err := disk.OpenFolder(d.running)
	if err != nil {
		return false
	}
	defer f.Close()
	for found := 0; ; {
		names, err := f.Readdirnames(512)
		for _, name := range names {
			if strings.HasSuffix(name, ".state.json") {
				found++
			}
		}
		if found > n || err != nil {
			return found > n
		}
	}
}

// stems adds the names of the runs that are not in the archive, and what there is of them.
func (d *Store) stems(ctx context.Context, stems map[string]seen) error {
	f, err := disk.OpenFolder(d.running)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.stemsIn(ctx, f, "", stems)
}

// deepest is how many folders below that of the running ones are looked into.
const deepest = 8

// stemsIn is stems of an open folder, of which the path below that of the running ones ends in a separator. It
// closes the folder. A thousand runs that died have five thousand files, so these are looked at in no order.
func (d *Store) stemsIn(ctx context.Context, f *os.File, path string, stems map[string]seen) error {
	defer f.Close()
	for {
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			if rel := path + e.Name(); e.IsDir() {
				if stem, ok := strings.CutSuffix(rel, ".events"); ok && stem != "" {
					stems[filepath.ToSlash(stem)] |= sawRun // its event file may just be missing
					if _, _, ok := persistence.SplitID(persistence.ID(filepath.Base(stem))); ok {
						continue
					}
				}
				if strings.Count(rel, string(filepath.Separator)) >= deepest {
					continue
				}
				// one that cannot be read does not hide the others
				if inner, err := disk.OpenRealFolder(filepath.Join(d.running, rel)); err == nil {
					_ = d.stemsIn(ctx, inner, rel+string(filepath.Separator), stems)
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
			} else {
				for _, s := range sights {
					if stem, ok := strings.CutSuffix(rel, s.suffix); ok && stem != "" {
						stems[filepath.ToSlash(stem)] |= s.saw
					}
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// liveRuns reads runs that were seen, with the readings that a query asks for; of those of which nothing was,
// all is looked for.
func (d *Store) liveRuns(stems map[string]seen, q persistence.Query) []persistence.Run {
	names := make([]string, 0, len(stems))
	for name, saw := range stems {
		if saw == 0 || saw&sawRun != 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	runs, found := make([]persistence.Run, len(names)), make([]bool, len(names))
	marks := sync.OnceValue(d.marks)
	spread(len(names), func(i int) {
		id := persistence.ID(names[i])
		// otherwise it was moved since we looked
		if runs[i], found[i] = d.liveRun(id, stems[names[i]], q.Readings || q.HeldReadings); found[i] {
			if runs[i].Status == persistence.Running && !runs[i].Held {
				marks()[id].interrupted(&runs[i])
			}
			if !q.Reads(runs[i]) {
				runs[i].Reading = nil
			}
			return
		}
		if p, err := d.find(id); err == nil && p.folder != "" {
			runs[i], found[i] = d.archivedRun(makeFolder(p.folder, p.folder), q.Readings, nil)
		}
	})
	n := 0
	for i := range runs {
		if found[i] {
			runs[n] = runs[i]
			n++
		}
	}
	return runs[:n]
}

// liveRun reads one run that is not in the archive, of which a walk saw so much.
func (d *Store) liveRun(id persistence.ID, saw seen, keep bool) (persistence.Run, bool) {
	files := d.live(id)
	p := d.placeOf(id, files)
	l, err := p.loadSeen(saw, keep)
	if l == nil {
		saw = 0
		if r, ok := d.starting(id); ok {
			return r, true
		}
		if l, err = d.loadLive(p); l == nil {
			return persistence.Run{}, false
		}
	}
	if l.record == nil {
		l.record = &record{}
		loop, at, ok := persistence.SplitID(id)
		l.Loop = loop
		if ok {
			l.runID, l.StartedAt = persistence.MakeRunID(at), at
		}
	}
	if saw != 0 && saw&sawAside == 0 {
		p.aside = ""
	}
	r := p.run(l)
	r.Unasked = saw&sawCommands == 0 && (saw != 0 || !disk.Exists(files.commands))
	d.addOwner(&r, files, l)
	if r.Held && !r.Unasked {
		if why := unread(nil, files.commands, files.lock); why != "" {
			r.Damage = append(slices.Clip(r.Damage), "commands that are sent to the run are not read: "+why)
		}
	}
	if keep {
		r.Reading = &reading{d, p, l, err}
	}
	return r, true
}

// loadSeen is load of a run of which a walk saw a state file and nothing unusual. Where what there is now does
// not agree with that, it returns nothing, and all has to be looked for: the run may just be removed, or moved.
// A list of runs that died reads a thousand.
//
// Most of those that died left a state file that is at the end of the journal. Its checksum holds, so it is
// believed without a look at the events, as in the archive.
func (p place) loadSeen(saw seen, whole bool) (*loaded, error) {
	if saw&sawState == 0 || saw&sawRemoved != 0 {
		return nil, nil //nolint:nilnil // it is the answer
	}
	l, err := p.glance(whole, nil)
	if err != nil || !l.viewed || len(l.damage) > 0 {
		return nil, nil //nolint:nilnil // likewise
	}
	return l, nil
}

// loadLive is load of a run that is not in the archive; nothing where there is none.
func (d *Store) loadLive(p place) (*loaded, error) {
	if disk.Exists(d.live(p.id).removed) {
		return nil, persistence.ErrNotFound
	}
	l, err := p.load(false)
	// it may not have recorded anything yet: then there is none, and otherwise what it recorded is there now
	if l == nil || !l.viewed {
		if d.unrecorded(p.id) {
			return nil, persistence.ErrNotFound
		}
		l, err = p.load(false)
	}
	return l, err
}

// addOwner adds the owner of a live run, and what it locks.
func (d *Store) addOwner(r *persistence.Run, files livePaths, l *loaded) {
	// The owner of a run of ours that no process holds is in its memory.
	lock, held, err := probeLock(files.lock, r.Owner.PID != 0 && !l.foreign)
	r.Held = held
	if r.Owner.PID == 0 || l.foreign {
		r.Owner, _ = d.foreignOwner(r.ID, l.owner, l.updated)
	}
	r.Unowned = l.foreign && r.Status == persistence.Running && r.Owner.PID == 0 && !r.Held
	// the memory may be the last owner's
	if err == nil && (lock.PID == r.Owner.PID || r.Held && lock.Flock && lock.PID != 0) {
		r.Owner = lock.owner()
		if r.Held { // its record may be the last owner's, too
			r.Segment = max(r.Segment, lock.Segment)
		}
		if r.Held || l.foreign {
			r.Scope = lock.Scope
		}
	}
	if errors.Is(err, disk.ErrNotRegular) {
		l.note(files.lock, "%s", disk.Reason(err))
		r.Damage = l.damage
	}
}

// merge puts runs that are also in the archive together with what is there. It returns the folders that it used.
func (d *Store) merge(live []persistence.Run, keep bool) ([]persistence.Run, map[string]bool) {
	used := make(map[string]bool)
	for i := range live {
		r := &live[i]
		name := folderName(r.RunID, r.Loop)
		if !disk.Exists(filepath.Join(d.history, name)) {
			continue
		}
		a, ok := d.archivedRun(makeFolder(name, name), keep, nil)
		if !ok || a.Loop != r.Loop || !a.StartedAt.Equal(r.StartedAt) && len(r.Damage) == 0 {
			continue
		}
		used[name] = true
		if r.Archived {
			continue
		}
		if !a.Foreign || a.UpdatedAt.After(r.UpdatedAt) && !r.Resumable {
			a.Leftover, a.Held, a.Owner = true, r.Held, r.Owner
			if a.Foreign {
				a.ID = r.ID
			}
			*r = a
		}
	}
	return live, used
}
