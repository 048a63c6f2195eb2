package dirstore

import (
	"errors"
	"io/fs"
	"os"

	"loops/internal/disk"
	"loops/persistence/dirstore/segment"
)

// partSize is the default of Dir.PartSize.
const partSize = 64 << 20

func (d *Store) partSize() int64 {
	if d.PartSize > 0 {
		return d.PartSize
	}
	return partSize
}

// rotate moves the full event file to the parts before it and begins another. All of it is durable before it moves, and
// every byte has one name at every moment: a crash in between leaves the parts without a newest one, which is a journal
// that ends with the last of them.
func (j *journal) rotate() error {
	dir := j.files.parts
	if err := errors.Join(j.sync.now(), j.there()); err != nil {
		return err
	}
	j.dirty = false
	if err := disk.Mkdir(dir, disk.FolderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := disk.RealFolder(dir); err != nil {
		return err
	}
	if err := j.d.before("rotate"); err != nil {
		return err
	}
	p := segment.Part{N: j.rec.part + 1, First: j.before + 1, Last: j.seq, Bytes: j.offset, Whole: j.state.Whole}
	if err := p.Retire(j.files.events, dir); err != nil {
		return err
	}
	if err := j.d.before("begin part"); err != nil {
		return err
	}
	f, err := disk.Open(j.files.events, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	old := j.events
	j.use(f)
	err = old.Close()
	j.offset, j.full, j.patches, j.before, j.state.Whole = 0, 0, 0, j.seq, 0
	j.mu.Lock()
	j.rec.part, j.rec.journal = p.N, 0
	j.mu.Unlock()
	if err := errors.Join(err, j.d.before("index")); err != nil {
		return err
	}
	return errors.Join(p.Enter(dir), j.d.syncDir(dir))
}
