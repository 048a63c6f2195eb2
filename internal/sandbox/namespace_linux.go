//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mayNamespace reports whether a thread of this process may make namespaces of mounts and networks of its own:
// root may, in most places.
var mayNamespace = sync.OnceValue(func() bool {
	made := make(chan error, 1)
	onThread(func() {
		err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWNET)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, "")
		}
		made <- err
	})
	return <-made == nil
})

// mayFreeze reports whether the kernel can make all mounts of a namespace read-only at once (5.12).
var mayFreeze = sync.OnceValue(func() bool {
	_, _, e := unix.Syscall6(unix.SYS_MOUNT_SETATTR, ^uintptr(0), 0, 0, 0, 0, 0)
	return e != unix.ENOSYS
})

// newMounts gives this thread mounts of its own, in which nothing but write can be changed, protected paths in there
// cannot either, apart from those of write that are below them, and sockets are not there.
func (r *Rules) newMounts(write []string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("no mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounts cannot be made private: %w", err)
	}
	if write != nil && mayFreeze() {
		if err := freeze(write); err != nil {
			return err
		}
	}
	if err := r.hide(); err != nil {
		return err
	}
	binds := map[string]uintptr{}
	protect := slices.Concat(r.Protect, r.Frozen)
	for _, path := range protect { // a folder above it could else be renamed, and another made in its place
		for dir := filepath.Dir(path); slices.ContainsFunc(write, func(w string) bool {
			return within(dir, w) && dir != w
		}); dir = filepath.Dir(dir) {
			binds[dir] = 0
		}
	}
	for _, path := range protect {
		binds[path] = unix.MS_RDONLY
	}
	for _, path := range write {
		if slices.ContainsFunc(protect, func(p string) bool { return within(path, p) && path != p }) {
			binds[path] = 0
		}
	}
	for _, path := range slices.Sorted(maps.Keys(binds)) { // one that is below another after it
		if err := bind(path, binds[path]); err != nil {
			return err
		}
	}
	return nil
}

// freeze makes all mounts of this thread read-only but for paths. Landlock looks at what is in files and
// folders; it lets modes, owners, dates and attributes of all files be changed.
func freeze(paths []string) error {
	kept := map[string]int{}
	defer func() {
		for _, fd := range kept {
			_ = unix.Close(fd)
		}
	}()
	for _, path := range paths {
		around := func(other string) bool { return other != path && within(path, other) }
		st, err := os.Stat(path)
		if err != nil || st.Mode()&os.ModeDevice != 0 || slices.ContainsFunc(paths, around) {
			continue // devices can be written to all the same
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return fmt.Errorf("%s cannot be kept writable: %w", path, err)
		}
		kept[path] = fd
	}
	read := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &read); err != nil {
		return fmt.Errorf("what is outside cannot be made read-only: %w", err)
	}
	for _, path := range slices.Sorted(maps.Keys(kept)) {
		if err := unix.MoveMount(kept[path], "", unix.AT_FDCWD, path,
			unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_SYMLINKS); err != nil {
			return fmt.Errorf("%s cannot be kept writable: %w", path, err)
		}
	}
	return nil
}

// hide mounts something empty over what is not to be seen.
func (r *Rules) hide() error {
	for _, path := range found(r.Sockets) {
		if st, err := os.Stat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
			if err := unix.Mount("/dev/null", path, "", unix.MS_BIND, ""); err != nil {
				return fmt.Errorf("%s cannot be hidden: %w", path, err)
			}
		}
	}
	for _, path := range r.sealed() {
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
			if err := unix.Mount("/dev/null", path, "", unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
				return fmt.Errorf("%s cannot be hidden: %w", path, err)
			}
		}
	}
	for _, path := range found(r.Covered) {
		st, err := os.Lstat(path)
		if err != nil || !st.IsDir() ||
			slices.ContainsFunc(r.Write, func(w string) bool { return within(w, path) && w != path }) {
			continue
		}
		if err := unix.Mount("none", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
			"size=1m,mode=0700"); err != nil {
			return fmt.Errorf("%s cannot be hidden: %w", path, err)
		}
	}
	return nil
}

// found returns what patterns match.
func found(patterns []string) (all []string) {
	for _, pattern := range patterns {
		if _, err := os.Lstat(pattern); err == nil {
			all = append(all, pattern)
			continue
		}
		list, _ := filepath.Glob(pattern)
		all = append(all, list...)
	}
	return all
}

// bind mounts a path over itself, if it is there.
func bind(path string, flags uintptr) error {
	if st, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || err == nil && st.Mode()&os.ModeSymlink != 0 {
		return nil
	}
	err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, "")
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err == nil {
		err = unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|flags|kept(path), "")
	}
	if err != nil {
		return fmt.Errorf("%s cannot be protected: %w", path, err)
	}
	return nil
}

// kept returns the flags that the mount of a path has besides that for reading only.
func kept(path string) uintptr {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return 0
	}
	return uintptr(st.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
}

// newNetwork gives this thread a network that has nothing but the loopback device.
func newNetwork() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("no network namespace: %w", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var request struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], "lo")
	request.flags = unix.IFF_UP
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS,
		uintptr(unsafe.Pointer(&request))); e != 0 {
		return fmt.Errorf("the loopback device cannot be started: %w", e)
	}
	return nil
}

// listenHere returns a socket that listens at a port of every address of this thread's network.
func listenHere(port int) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Bind(fd, &unix.SockaddrInet4{Port: port})
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "proxy"), nil
}

// powers are the capabilities that a command of root loses: by them it would go around the rest.
var powers = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_RAWIO, unix.CAP_SYS_PTRACE, unix.CAP_SYS_MODULE, unix.CAP_SYS_BOOT,
	unix.CAP_SYS_TIME, unix.CAP_MKNOD,
	unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_DAC_READ_SEARCH, unix.CAP_SYSLOG, unix.CAP_BPF, unix.CAP_PERFMON,
	unix.CAP_LINUX_IMMUTABLE,
	unix.CAP_SYS_RESOURCE, unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE, unix.CAP_AUDIT_CONTROL, unix.CAP_SYS_PACCT,
	unix.CAP_CHECKPOINT_RESTORE,
}

// dropPowers has what this thread starts lose them.
func dropPowers() {
	for _, c := range powers {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}
