package dirstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
)

// archive moves runs that this process has taken to the archive. Of those that would be built in one folder, as
// copies that a user made by hand would, one follows the other.
func (d *Store) archive(parcels ...*parcel) {
	for len(parcels) > 0 {
		var later []*parcel
		building := make(map[string]bool, len(parcels))
		parcels = slices.DeleteFunc(parcels, func(p *parcel) bool {
			name := p.archiveName()
			if building[name] {
				later = append(later, p)
				return true
			}
			building[name] = true
			return false
		})
		d.archiveTogether(parcels)
		parcels = later
	}
}

// archiveTogether moves runs with folders of their own to the archive: each is built under a hidden name, made
// durable, and renamed into place; then its live files go. A crash before the rename leaves the live run whole,
// one after it leaves the archive whole and leftovers that Archive removes. What many runs need of the disk
// they share.
func (d *Store) archiveTogether(parcels []*parcel) {
	each := func(f func(p *parcel) error) {
		spread(len(parcels), func(i int) {
			if p := parcels[i]; p.err == nil {
				p.err = f(p)
			}
		})
	}
	all := func(f func() error) {
		if err := f(); err != nil {
			each(func(*parcel) error { return err })
		}
	}
	all(func() error { return d.folder(d.history) })
	each(d.pack)
	if len(parcels) < disk.ManySyncs {
		each(d.seal)
	} else {
		all(func() error { return d.syncAll(d.history) })
	}
	each(d.place)
	all(func() error { return d.syncDir(d.history) })
	each(func(p *parcel) error {
		if err := d.before("clear"); err != nil {
			return err
		}
		return d.clearLeftovers(p.id)
	})
}

// A parcel is a run on its way into the archive.
type parcel struct {
	*taken
	flat *value.Map // its state, as it will be there
	tmp  string
	err  error
}

// archiveName is the name of its archive folder, unless that is taken.
func (p *parcel) archiveName() string { return folderName(p.text("run_id"), p.text("loop_name")) }

func (p *parcel) text(key string) string {
	v, _ := p.flat.Get(key)
	s, _ := v.(string)
	return s
}

// pack builds the folder under a hidden name.
func (d *Store) pack(p *parcel) error {
	if err := d.before("archive"); err != nil {
		return err
	}
	if _, err := persistence.ParseRunID(p.text("run_id")); err != nil {
		return fmt.Errorf("%s: run_id %q is not of the form %s", p.state, p.text("run_id"), persistence.RunIDLayout)
	}
	p.tmp = filepath.Join(d.history, "."+p.archiveName()+".tmp")
	files := d.live(p.id)
	if err := d.fillFolder(files, p.workOf(p.flat), p.tmp); err != nil {
		return err
	}
	state := filepath.Join(p.tmp, "state.json")
	_ = os.Rename(files.state+".tmp", state) // it is not needed any more, and a new file costs more than all the rest
	return disk.Rewrite(state, encodeFlat(p.flat))
}

// seal makes the folder durable.
func (d *Store) seal(p *parcel) error {
	if !p.durable {
		if err := d.syncEvents(p.events); err != nil {
			return err
		}
	}
	f, err := disk.Open(filepath.Join(p.tmp, "state.json"), os.O_WRONLY)
	if err != nil {
		return err
	}
	if err := errors.Join(d.syncFile(f), f.Close()); err != nil {
		return err
	}
	return d.syncDir(p.tmp)
}

// place gives the folder its name, and another second where that is taken.
func (d *Store) place(p *parcel) error {
	loop := p.text("loop_name")
	at, err := persistence.ParseRunID(p.text("run_id"))
	for moved := false; err == nil; at, moved = at.Add(time.Second), true {
		if p.flat.Set("run_id", persistence.MakeRunID(at)); persistence.MakeID(loop, at) != p.id {
			if v, _ := p.flat.Get("instance"); v == nil {
				p.flat.Set("instance", string(p.id))
				moved = true
			}
		}
		if moved {
			if err := d.writeSynced(filepath.Join(p.tmp, "state.json"), encodeFlat(p.flat)); err != nil {
				return err
			}
		}
		if err := d.before("place"); err != nil {
			return err
		}
		target := filepath.Join(d.history, folderName(persistence.MakeRunID(at), loop))
		if err = disk.RenameNew(p.tmp, target); !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err = d.supersede(p.tmp, target, p.flat); !errors.Is(err, fs.ErrExist) {
			return err
		}
		err = nil
	}
	return err
}

// syncEvents makes an event file durable, if there is one.
func (d *Store) syncEvents(path string) error {
	f, err := disk.Open(path, os.O_WRONLY)
	if err != nil {
		return nil // without events the rest of the run is worth keeping
	}
	return errors.Join(d.syncData(f), f.Close())
}

// fillFolder builds the archive folder but for its state.
func (d *Store) fillFolder(files livePaths, work, tmp string) error {
	err := disk.Mkdir(tmp, disk.FolderMode)
	if errors.Is(err, fs.ErrExist) { // of an attempt that did not come to its end
		err = errors.Join(os.RemoveAll(tmp), disk.Mkdir(tmp, disk.FolderMode))
	}
	if err != nil {
		return err
	}
	links := [][2]string{
		{files.events, "events.jsonl"},
		{files.torn, "events.torn"},
		{files.aside, "events.damaged"},
		{files.meta, "meta-eval.jsonl"},
	}
	if disk.Readable(files.commands) { // else no command was sent, or none was read
		links = append(links, [2]string{files.commands, commandsFile})
	}
	if err := d.linkParts(files.parts, filepath.Join(tmp, "events")); err != nil {
		return err
	}
	names, _ := disk.Names(work)
	for _, n := range names {
		if strings.HasPrefix(n, "definition.") || n == "summary.json" {
			links = append(links, [2]string{filepath.Join(work, n), n})
		}
	}
	for _, l := range links {
		if err := d.linkOrCopy(l[0], filepath.Join(tmp, l[1])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.before("state")
}

// supersede replaces an archive folder with tmp if it holds an earlier part of the same run, as little-loops
// leaves behind. Otherwise the error is fs.ErrExist.
func (d *Store) supersede(tmp, target string, flat *value.Map) error {
	old, err := archivePlace(target).load(false)
	if err != nil || old.Loop == "" {
		return fs.ErrExist
	}
	loop, _ := flat.Get("loop_name")
	started, _ := flat.Get("started_at")
	if loop != old.Loop || started != fsm.FormatTime(old.StartedAt) ||
		!begins(filepath.Join(target, "events.jsonl"), archivePlace(tmp)) {
		return fs.ErrExist
	}
	// What else is in the old folder is kept.
	names, err := disk.Names(target)
	if err != nil {
		return err
	}
	for _, n := range names {
		if st, err := os.Lstat(filepath.Join(target, n)); err == nil && st.IsDir() {
			continue // its own parts, if it has any, are those of an earlier copy
		}
		if err := d.linkOrCopy(filepath.Join(target, n), filepath.Join(tmp, n)); err != nil &&
			!errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := d.syncDir(tmp); err != nil {
		return err
	}
	hidden := tmp[:len(tmp)-len(".tmp")] + ".old"
	if err := os.RemoveAll(hidden); err != nil {
		return err
	}
	if err := os.Rename(target, hidden); err != nil {
		return err
	}
	if err := disk.RenameNew(tmp, target); err != nil {
		return err
	}
	return os.RemoveAll(hidden)
}

// begins reports whether a copy of an event file is the beginning of a journal, or of its newest part.
func begins(old string, p place) bool {
	files := []string{p.events}
	if parts, _, err := segment.Parts(p.parts); err == nil && len(parts) > 0 {
		files = append(files, parts[0].Path)
	}
	return slices.ContainsFunc(files, func(f string) bool { return disk.SameContent(old, f, true) })
}

// clear removes the live files of a run that is safe in the archive: the events last, so that it is known as long as
// something is left. The lock goes with its owner.
func (d *Store) clear(id persistence.ID) error {
	p := d.live(id)
	if err := disk.Remove(p.state, p.state+".tmp", p.torn, p.aside, p.meta, p.pid, p.commands); err != nil {
		return err
	}
	if err := d.before("clear events"); err != nil {
		return err
	}
	if disk.Exists(p.parts) {
		if err := os.RemoveAll(p.parts); err != nil {
			return err
		}
	}
	return disk.Remove(p.events)
}

// leftover reports whether a run has live files, as one that is in the archive should not. Those of a run that
// is being removed do not count.
func (d *Store) leftover(id persistence.ID) bool {
	p := d.live(id)
	return (disk.Exists(p.state) || disk.Exists(p.events) || disk.Exists(p.parts)) && !disk.Exists(p.removed)
}

// linkParts gives the full parts of a journal, if there are any, names in another folder, too.
func (d *Store) linkParts(from, to string) error {
	names, err := disk.RealNames(from)
	if err != nil || len(names) == 0 {
		return err
	}
	if err := disk.Mkdir(to, disk.FolderMode); err != nil {
		return err
	}
	for _, n := range names {
		if err := d.linkOrCopy(filepath.Join(from, n), filepath.Join(to, n)); err != nil {
			return err
		}
	}
	return d.syncDir(to)
}

// unarchive brings a run back among the running ones. The live files are complete and durable before the
// folder in the archive goes.
func (d *Store) unarchive(t *taken) error {
	files := d.live(t.id)
	dir := filepath.Join(d.history, t.folder)
	if err := disk.RealFolder(dir); err != nil {
		return err // what is in it gets a second name, and is written to
	}
	if err := d.clearLeftovers(t.id); err != nil {
		return err
	}
	if err := d.before("link parts"); err != nil {
		return err
	}
	if err := d.linkParts(filepath.Join(dir, "events"), files.parts); err != nil {
		return err
	}
	for _, l := range [][2]string{
		{"events.jsonl", files.events},
		{"state.json", files.state},
		{"events.torn", files.torn},
		{"events.damaged", files.aside},
		{"meta-eval.jsonl", files.meta},
		{commandsFile, files.commands},
	} {
		if err := d.before("link " + l[0]); err != nil {
			return err
		}
		err := d.linkOrCopy(filepath.Join(dir, l[0]), l[1])
		if (l[0] == "state.json" || l[0] == commandsFile) && errors.Is(err, disk.ErrNotRegular) {
			continue // what is known about the run came from its events
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := d.syncDir(d.running); err != nil {
		return err
	}
	if err := d.before("hide"); err != nil {
		return err
	}
	hidden := filepath.Join(d.history, "."+t.folder+".old")
	if err := os.RemoveAll(hidden); err != nil {
		return err
	}
	if err := os.Rename(dir, hidden); err != nil {
		return err
	}
	if err := d.syncDir(d.history); err != nil {
		return err
	}
	return os.RemoveAll(hidden)
}

// encodeFlat writes a flat object as a state file: known keys in their order, then the others.
func encodeFlat(flat *value.Map) []byte {
	m := value.NewMap()
	copyKey := func(key string) {
		if v, ok := flat.Get(key); ok {
			m.Set(key, v)
		}
	}
	for _, slot := range layout {
		copyKey(slot.key)
		for _, k := range slot.behind {
			copyKey(k.key)
		}
	}
	for _, k := range flat.Keys() {
		if v, _ := flat.Get(k); k != "check" {
			m.Set(k, v)
		}
	}
	return appendCheck(value.AppendJSONIndent(nil, m, "  "))
}

// linkOrCopy gives a file a second name, or a copy where the file system has no second names.
func (d *Store) linkOrCopy(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return err
	}
	in, err := disk.Open(from, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := disk.Open(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = d.syncFile(out)
	}
	return errors.Join(err, out.Close())
}
