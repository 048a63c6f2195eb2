package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SwapAt puts the complete file tmp of an open folder instead of name, and leaves at tmp what was there. A process
// that opens name gets the old content or the new one, whole. A plain rename over a file would make ext4 write the new
// one to disk at once, and a new file for each state makes the next sync of the journal dearer (see docs/files.md).
func SwapAt(dir int, tmp, name string) error {
	err := unix.Renameat2(dir, tmp, dir, name, unix.RENAME_EXCHANGE)
	if err == nil {
		return nil
	}
	return unix.Renameat(dir, tmp, dir, name) // name is not there yet, or the file system cannot exchange
}

// RenameNew renames a folder unless the new name is taken; then the error is fs.ErrExist.
func RenameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return renameChecked(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// ManySyncs is the number of folders from which everything on the file system is made durable at once.
const ManySyncs = 8

// syncFS makes everything durable that was written on the file system of a folder.
func syncFS(path string) error {
	f, err := OpenFolder(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: path, Err: err}
	}
	return nil
}

// SyncData makes what was written to f durable, without its times.
func SyncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}
