package sandbox

import (
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Most files that a sandbox asks for before each action are the same as before the last one. A folder whose mark is the
// same has the same entries, so that one call answers for all of them. The mark is the number of the folder and the
// time of its last change, which no program can set.

// A mark tells when the entries of a folder last changed. The zero mark is of no folder.
type mark struct {
	disk, number uint64
	changed      unix.Timespec
}

// A markedFolder is a folder with its mark from before its entries were looked at.
type markedFolder struct {
	path  string
	mark  mark
	rests bool // a later change gives it another mark
}

// restTime is how long a folder has to be unchanged: clocks of disks have ticks of up to 10 ms, and two changes in
// one tick give the same mark.
const restTime = 50 * time.Millisecond

// keepTime are the file systems whose folders have such a time: ext, XFS, Btrfs, tmpfs, overlay, F2FS. Others may
// have clocks of their own, or change without it.
var keepTime = map[uint64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true,
	unix.OVERLAYFS_SUPER_MAGIC: true, unix.F2FS_SUPER_MAGIC: true,
}

// markOf returns the mark of a folder. follow says that a symbolic link to one is followed.
func markOf(path string, follow bool) mark {
	var st unix.Stat_t
	look := unix.Lstat
	if follow {
		look = unix.Stat
	}
	if look(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return mark{}
	}
	return mark{uint64(st.Dev), st.Ino, st.Ctim}
}

// markFolder marks a folder whose entries are looked at next.
func markFolder(path string, follow bool) markedFolder {
	now := time.Now()
	f := markedFolder{path: path, mark: markOf(path, follow)}
	var st unix.Statfs_t
	if f.mark != (mark{}) && now.Sub(time.Unix(f.mark.changed.Unix())) > restTime && unix.Statfs(path, &st) == nil {
		f.rests = keepTime[uint64(st.Type)]
	}
	return f
}

// unchanged reports whether a folder has the entries that it had, given its mark now.
func (f *markedFolder) unchanged(now mark) bool { return f.rests && f.mark == now }

// is reports whether two marks are of one folder.
func (m mark) is(other mark) bool {
	return m != (mark{}) && m.disk == other.disk && m.number == other.number
}

// folderAbove returns the innermost folder above a path that is there, marked. Those that were looked at are in marked.
func folderAbove(path string, marked map[string]markedFolder) markedFolder {
	for path != "/" {
		path = filepath.Dir(path)
		f, ok := marked[path]
		if !ok {
			f = markFolder(path, true)
			marked[path] = f
		}
		if f.mark != (mark{}) {
			return f
		}
	}
	return markedFolder{}
}
