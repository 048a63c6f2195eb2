package dirstore

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"loops/internal/disk"
	"loops/persistence/dirstore/index"
	"loops/persistence/snapshot"
)

// archiveIndex is the name of the index of the archive. It does not lie in the archive, whose stamp it has;
// little-loops looks at no such name.
const archiveIndex = ".history.index"

// An archive that is read in a moment has no index. It gets one when so much had to be read in one listing.
const (
	manyNames  = 2000
	manyStates = 64
	manyBytes  = 512 << 10
)

// A cache is what one listing has from the index of the archive, and what it had to read beside that. It may be nil.
type cache struct {
	path, history string
	index         *index.Index
	eager         bool // write an index in any case

	news index.News

	digests *index.Digests // of a listing with a filter

	mu       sync.Mutex // guards what follows, and news.Read
	bytes    int
	digested map[string]index.Digest // what such a listing read; nil for others
}

// cached begins a listing.
func (d *Store) cached() *cache {
	path := filepath.Join(d.running, archiveIndex)
	return &cache{
		path: path, history: d.history, eager: d.eager, index: index.Read(path),
		news: index.News{Began: time.Now(), Read: map[string]index.Entry{}},
	}
}

// names returns the names in the archive, but for hidden ones, each with a line end, if the index has them:
// first those that are no archived runs, then the newest runs first.
func (c *cache) names() (names string, known bool) {
	stamp, stamped := disk.FolderStamp(c.history)
	names, known = c.index.Names(stamp)
	return names, known && stamped
}

// eachName calls f with the names in the archive, but for hidden ones, in no order, and keeps them for the index.
func (c *cache) eachName(f func(name string)) error {
	stamp, stamped := disk.FolderStamp(c.history)
	l := &index.Listing{Folder: stamp}
	err := disk.EachName(c.history, func(name string) {
		if name[0] != '.' {
			l.Names = append(l.Names, name)
			f(name)
		}
	})
	if now, _ := disk.FolderStamp(c.history); err == nil && stamped && now == stamp &&
		(len(l.Names) >= manyNames || c.eager) && old(stamp) {
		newestLast := slices.Clone(l.Names)
		newestLast = slices.DeleteFunc(newestLast, func(name string) bool { return !isFolder(name) })
		slices.Sort(newestLast)
		l.Names = slices.DeleteFunc(l.Names, isFolder)
		for _, name := range slices.Backward(newestLast) {
			l.Names = append(l.Names, name)
		}
		c.news.Listing = l
	}
	return err
}

// old reports whether something seems to have been left alone for a while, so that the index may take it.
func old(s disk.Stamp) bool { return time.Since(time.Unix(0, s.Changed)) > 200*time.Millisecond }

// recall is glance of a run whose state file is as it was when a listing read it.
func (c *cache) recall(p place) *loaded {
	if c == nil {
		return nil
	}
	now, regular, ok := disk.StampOf(p.state)
	if !ok || !regular {
		return nil
	}
	text, ok := c.index.Text(p.folder, now)
	if !ok {
		return nil
	}
	flat, err := snapshot.Parse([]byte(text))
	if err != nil {
		return nil
	}
	rec, err := takeFlat(flat)
	if err != nil || !rec.complete(p) {
		return nil
	}
	return &loaded{flat: flat, record: rec, whole: true, viewed: true, skimmed: true, stamp: now}
}

// ended reports whether a run finished, by what a listing read of its state file, which is as it was then.
func (c *cache) ended(p place) bool {
	if c == nil {
		return false
	}
	now, regular, ok := disk.StampOf(p.state)
	return ok && regular && c.index.Ended(p.folder, now)
}

// note keeps what was read of a state file, and whether that says that the run finished.
func (c *cache) note(p place, state disk.Stamp, text []byte, ended bool) {
	if c == nil || text == nil || state == (disk.Stamp{}) || strings.ContainsRune(p.folder, filepath.Separator) ||
		!c.index.Wants(p.folder) || !old(state) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news.Read[p.folder] = index.Entry{State: state, Ended: ended, Text: string(text)}
	c.bytes += int(state.Size)
}

// close writes the index if that saves the next listing much.
func (c *cache) close() {
	if c.news.Listing == nil && len(c.news.Read) < manyStates && c.bytes < manyBytes &&
		(!c.eager || len(c.news.Read) == 0) {
		return
	}
	c.index.Save(c.path, c.news, func(name string) (disk.Stamp, bool) {
		s, _, ok := disk.StampOf(filepath.Join(c.history, name, "state.json"))
		return s, ok
	})
}

// forget removes a run that is gone from the index, the digests and the summaries; folder is that of the archive. The
// index is removed: the next listing makes another. Digests and summaries of others stay, because there may be a
// hundred thousand; "" = they go, too.
func (d *Store) forget(folder string) error {
	err := index.Drop(filepath.Join(d.running, archiveIndex))
	for _, path := range []string{filepath.Join(d.running, archiveDigests), d.summariesPath()} {
		if err != nil || folder == "" {
			err = errors.Join(err, index.Drop(path))
		} else {
			err = index.Forget(path, folder)
		}
	}
	return err
}
