package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// Watch returns a channel that is closed once one of these files is removed, replaced, or closed by a process
// that had it open for writing, as it is when the process dies; and stop, which ends the watch and all that it
// holds. A process that only reads a file, or probes its lock, does not close the channel. The channel is nil
// where the system cannot watch: a file is not there, or the user has too many watches. A process that dies
// closes a file a moment before its flock is free.
func Watch(paths ...string) (changed <-chan struct{}, stop func()) {
	none := func() {}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, none
	}
	f := os.NewFile(uintptr(fd), "inotify") // does not block, so the poller waits for it and no thread does
	for _, path := range paths {
		// A file that is removed while it is open is not deleted yet: its count of links is what changes.
		const events = unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_CLOSE_WRITE
		if _, err := unix.InotifyAddWatch(fd, path, events|unix.IN_DONT_FOLLOW); err != nil {
			f.Close()
			return nil, none
		}
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		_, _ = f.Read(make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1)) // ends when f is closed, too
	}()
	return told, func() { f.Close() }
}
