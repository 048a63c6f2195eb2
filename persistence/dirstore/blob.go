package dirstore

import (
	"errors"
	"os"
	"path/filepath"

	"loops/internal/disk"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// blobs are the large texts of one run, each in a file named after its SHA-256. They are written once, before
// the journal line that names them. It implements [snapshot.Texts].
type blobs struct {
	d     *Store // that makes them durable
	dir   string
	there func() error // reports whether the run is where it was: else dir is not its own; nil: it is
	named bool         // the name of the working folder is durable
}

// Put implements [snapshot.Texts].
func (b *blobs) Put(name, s string) error {
	path := filepath.Join(b.dir, name)
	if size, ok := disk.IsRegular(path); ok && size == int64(len(s)) {
		return nil
	}
	return b.write(path, s)
}

// Get implements [snapshot.Texts].
func (b *blobs) Get(name string) ([]byte, error) { return disk.Read(filepath.Join(b.dir, name)) }

func (b *blobs) write(path, s string) error {
	if b.there != nil {
		if err := b.there(); err != nil {
			return err
		}
	}
	if err := errors.Join(disk.RealFolder(b.dir), disk.MkdirAll(b.dir, disk.FolderMode)); err != nil {
		return err
	}
	if err := b.d.writeSynced(path+".tmp", []byte(s)); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return err
	}
	work := filepath.Dir(b.dir)
	if err := errors.Join(b.d.syncDir(b.dir), b.d.syncDir(work)); err != nil || b.named {
		return err
	}
	b.named = true
	return b.d.syncDir(filepath.Dir(work))
}

// fill puts the texts back in place of their references.
func (b *blobs) fill(v any) (any, error) {
	v, err := snapshot.Fill(v, b)
	if e, ok := errors.AsType[*snapshot.TextError](err); ok {
		err = &persistence.DamageError{File: filepath.Join(b.dir, e.Name), Offset: -1, What: e.What}
	}
	return v, err
}
