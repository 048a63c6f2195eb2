package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// manyFiles is the number of files from which everything on their file system is made durable at once.
const manyFiles = 64

// SyncTree makes a folder durable, with all that is in it and with its name. Links are not followed.
func SyncTree(dir string) error {
	var files, folders []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			folders = append(folders, path)
		case e.Type().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(files) > manyFiles && ManySyncs < len(files) {
		return errors.Join(syncFS(dir), SyncFolder(filepath.Dir(dir)))
	}
	for _, path := range files {
		f, err := Open(path, os.O_RDONLY)
		if errors.Is(err, fs.ErrPermission) { // not even its owner may read it
			return syncFS(dir)
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	for _, path := range append(folders, filepath.Dir(dir)) {
		if err := SyncFolder(path); err != nil {
			return err
		}
	}
	return nil
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(dir string) error {
	f, err := OpenFolder(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncFileSystem makes everything on the file system of a folder durable, where the system can do that. It is
// for what other programs wrote.
func SyncFileSystem(dir string) error { return syncFS(dir) }
