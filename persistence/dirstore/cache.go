package dirstore

import (
	"path/filepath"
	"strings"
	"sync"
	"time"

	"loops/internal/disk"
	"loops/persistence/dirstore/index"
	"loops/persistence/snapshot"
)

// archiveIndex is the name of the index of the archive. It does not lie in the archive, whose stamp it has; little-loops looks at no such
// name.
const archiveIndex = ".history.index"

// An archive that is read in a moment has no index. It gets one when so much had to be read in one listing.
const (
	manyNames  = 2000
	manyStates = 64
	manyBytes  = 512 << 10
)

// A cache is what one listing has from the index of the archive, and what it had to read beside that. nil is none.
type cache struct {
	path, history string
	index         *index.Index
	eager         bool // write an index in any case

	news index.News

	mu    sync.Mutex // guards what follows, and news.Read
	bytes int
}

// cached begins a listing.
func (d *Store) cached() *cache {
	path := filepath.Join(d.running, archiveIndex)
	return &cache{path: path, history: d.history, eager: d.eager, index: index.Read(path), news: index.News{Began: time.Now(), Read: map[string]index.Entry{}}}
}

// eachName calls f with the names in the archive, but for hidden ones, after room with how many there are where that is known.
func (c *cache) eachName(room func(n int), f func(name string)) error {
	stamp, stamped := disk.FolderStamp(c.history)
	if names, ok := c.index.Names(stamp); ok && stamped {
		room(strings.Count(names, "\n"))
		for name := range strings.SplitSeq(strings.TrimSuffix(names, "\n"), "\n") {
			f(name)
		}
		return nil
	}
	l := &index.Listing{Folder: stamp}
	err := disk.EachName(c.history, func(name string) {
		if name[0] != '.' {
			l.Names = append(l.Names, name)
			f(name)
		}
	})
	if now, _ := disk.FolderStamp(c.history); err == nil && stamped && now == stamp && (len(l.Names) >= manyNames || c.eager) && old(stamp) {
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
	return &loaded{flat: flat, record: rec, whole: true, viewed: true, skimmed: true}
}

// note keeps what was read of a state file.
func (c *cache) note(p place, state disk.Stamp, text []byte) {
	if c == nil || text == nil || state == (disk.Stamp{}) || strings.ContainsRune(p.folder, filepath.Separator) || !c.index.Wants(p.folder) || !old(state) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news.Read[p.folder] = index.Entry{State: state, Text: string(text)}
	c.bytes += int(state.Size)
}

// close writes the index if that saves the next listing much.
func (c *cache) close() {
	if c.news.Listing == nil && len(c.news.Read) < manyStates && c.bytes < manyBytes && (!c.eager || len(c.news.Read) == 0) {
		return
	}
	c.index.Save(c.path, c.news, func(name string) (disk.Stamp, bool) {
		s, _, ok := disk.StampOf(filepath.Join(c.history, name, "state.json"))
		return s, ok
	})
}

// forget removes the index, because a run that it may tell of is gone. The next listing makes another.
func (d *Store) forget() error { return index.Drop(filepath.Join(d.running, archiveIndex)) }
