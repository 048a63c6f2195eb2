package dirstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/fsm/value"
	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
	"loops/persistence/snapshot"
)

// Scrub implements [persistence.Store]. The folder of the archive is built again under a hidden name; the run is
// brought back among the running ones, as for a resume, and archived from there with the new folder.
func (d *Store) Scrub(ctx context.Context, id persistence.ID, change func(string) string,
	beside func() error,
) (changed bool, err error) {
	var t *taken
	err = d.exclusive(ctx, func() (err error) {
		t, err = d.findAndTake(id)
		return err
	})
	if err != nil {
		return false, err
	}
	defer t.release()
	if t.folder == "" {
		return false, fmt.Errorf("run %s is not in the archive: %w", id, errors.ErrUnsupported)
	}
	l, err := t.load(false)
	if err != nil {
		return false, err
	}
	if l.foreign {
		return false, fmt.Errorf("run %s was recorded by little-loops: %w", id, errors.ErrUnsupported)
	}
	texts := &blobs{d: d, dir: filepath.Join(t.workOf(l.flat), "blobs")}
	s := &scrubbing{d: d, from: filepath.Join(d.history, t.folder), to: filepath.Join(d.history, "."+t.folder+".tmp")}
	s.rewriter = snapshot.Rewriter{In: texts, Change: change, Object: s.redefine}
	s.sums, s.moved = map[string]string{}, map[string]*offsets{}
	err = s.build()
	if err == nil && s.rewriter.Changed {
		err = s.exchange(t)
	}
	if e := os.RemoveAll(s.to); e != nil || err != nil {
		return false, errors.Join(err, e)
	}
	// also those that a scrub left which did not come to its end
	return s.rewriter.Changed, errors.Join(dropTexts(texts.dir, change), beside())
}

// dropTexts removes the large texts that become others: nothing names them any more.
func dropTexts(dir string, change func(string) string) error {
	names, err := disk.Names(dir)
	if err != nil {
		return nil //nolint:nilerr // it has none
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if text, err := disk.Read(path); err == nil && change(string(text)) != string(text) {
			if err := disk.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// A scrubbing builds a folder of the archive again.
type scrubbing struct {
	d        *Store
	from, to string // folders
	rewriter snapshot.Rewriter
	sums     map[string]string   // checksums of definitions
	moved    map[string]*offsets // by the name of a file of the journal
}

// offsets are where the lines of a file begin, before and after, in their order.
type offsets struct{ was, is []int64 }

// at returns where a place of the file is now; false = no line begins there.
func (o *offsets) at(was int64) (int64, bool) {
	if o == nil {
		return 0, false
	}
	i, ok := slices.BinarySearch(o.was, was)
	if !ok {
		return 0, false
	}
	return o.is[i], true
}

func (s *scrubbing) redefine(m *value.Map) {
	for _, key := range []string{"memory_full", "memory"} {
		v, _ := m.Get(key)
		if memory, ok := v.(*value.Map); ok {
			s.rewriter.Redefine(memory, definitionText, s.sums)
		}
	}
}

// build builds the folder, and makes it durable.
func (s *scrubbing) build() error {
	if err := errors.Join(disk.RealFolder(s.from), os.RemoveAll(s.to), disk.Mkdir(s.to, disk.FolderMode)); err != nil {
		return err
	}
	parts := filepath.Join(s.from, "events")
	if names, _ := disk.RealNames(parts); len(names) > 0 {
		if err := s.parts(parts, filepath.Join(s.to, "events"), names); err != nil {
			return err
		}
	}
	names, err := disk.Names(s.from)
	if err != nil {
		return err
	}
	for _, name := range names {
		from, to := filepath.Join(s.from, name), filepath.Join(s.to, name)
		if _, regular := disk.IsRegular(from); !regular || name == "state.json" {
			continue
		}
		if strings.HasSuffix(name, ".jsonl") {
			err = s.lines(from, to)
		} else {
			err = s.text(from, to)
		}
		if err != nil {
			return err
		}
	}
	if err := s.state(); err != nil {
		return err
	}
	return s.d.syncDir(s.to)
}

func (s *scrubbing) parts(from, to string, names []string) error {
	if err := disk.Mkdir(to, disk.FolderMode); err != nil {
		return err
	}
	index, _ := segment.ReadIndex(filepath.Join(from, segment.IndexName))
	slices.Sort(names)
	for _, name := range names {
		if segment.Number(name) == 0 {
			continue
		}
		if err := s.lines(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
		p, ok := index[name]
		whole, known := s.moved[name].at(p.Whole)
		size, whole2 := s.moved[name].at(p.Bytes)
		if !ok || !known || !whole2 {
			continue // the parts are read without it, as before
		}
		p.Whole, p.Bytes = whole, size
		if err := p.Enter(to); err != nil {
			return err
		}
	}
	err := s.d.syncEvents(filepath.Join(to, segment.IndexName)) // where there is one
	return errors.Join(err, s.d.syncDir(to))
}

// lines writes a file of lines again.
func (s *scrubbing) lines(from, to string) error {
	in, err := disk.Open(from, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := disk.Open(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	moved := &offsets{}
	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
	var was, is int64
	for err == nil {
		moved.was, moved.is = append(moved.was, was), append(moved.is, is)
		var line []byte
		if line, err = r.ReadBytes('\n'); len(line) == 0 {
			break
		}
		body := bytes.TrimRight(line, "\r\n")
		end := line[len(body):]
		changed, e := s.rewriter.Line(body)
		if e == nil {
			_, e = w.Write(append(slices.Clip(changed), end...))
		}
		if e != nil {
			err = e
		}
		was, is = was+int64(len(line)), is+int64(len(changed)+len(end))
	}
	if errors.Is(err, io.EOF) {
		err = nil
		moved.was, moved.is = append(moved.was, was), append(moved.is, is) // as often as it is needed
	}
	s.moved[filepath.Base(from)] = moved
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = s.d.syncFile(out)
	}
	return errors.Join(err, out.Close())
}

// text writes a file again that is one text.
func (s *scrubbing) text(from, to string) error {
	b, err := disk.Read(from)
	if err != nil {
		return err
	}
	return s.d.writeSynced(to, []byte(s.rewriter.Text(string(b))))
}

// state writes the state file again. What it says of places in the journal follows these.
func (s *scrubbing) state() error {
	from, to := filepath.Join(s.from, "state.json"), filepath.Join(s.to, "state.json")
	flat, ours := (&loaded{}).readState(from)
	if flat == nil || !ours {
		if err := s.text(from, to); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	s.rewriter.Redefine(flat, definitionText, s.sums)
	if _, err := s.rewriter.Value(flat); err != nil {
		return err
	}
	moved := s.moved["events.jsonl"]
	v, _ := flat.Get("journal")
	if n, ok := v.(int64); ok {
		if at, ok := moved.at(n); ok {
			flat.Set("journal", at)
		}
	}
	snapshot.EachLog(flat, nil, func(child, _ *value.Map, log any) {
		if lines, from, ok := snapshot.Counted(log); ok {
			if at, ok := moved.at(from); ok {
				child.Set("log", value.NewMap("lines", lines, "from", at))
			}
		}
	})
	return s.d.writeSynced(to, encodeFlat(flat))
}

// exchange puts the folder instead of the old one. Until it is there, the run is among the running ones, whole and
// as it was.
func (s *scrubbing) exchange(t *taken) error {
	if err := s.d.before("scrub"); err != nil {
		return err
	}
	if err := s.d.unarchive(t); err != nil {
		return err
	}
	if err := s.d.before("place scrubbed"); err != nil {
		return err
	}
	if err := disk.RenameNew(s.to, s.from); err != nil {
		return err
	}
	if err := s.d.syncDir(s.d.history); err != nil {
		return err
	}
	if err := s.d.before("clear scrubbed"); err != nil {
		return err
	}
	return errors.Join(s.d.clearLeftovers(t.id), s.d.forget(t.folder))
}
