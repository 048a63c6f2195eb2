//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a command may do with a file or folder it may read, and with one it may change. Devices are never made.
const (
	mayRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	mayWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	makeDevice = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	// what can be said of a file that is no folder
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// What came with which version.
const (
	abiRefer, abiTruncate, abiNetwork, abiIoctl, abiScope = 2, 3, 4, 5, 6
)

const (
	scopeSocket, scopeSignal = 1, 2 // LANDLOCK_SCOPE_*
	createVersion            = 1    // LANDLOCK_CREATE_RULESET_VERSION
	rulePath, rulePort       = 1, 2 // LANDLOCK_RULE_*
	netBind, netConnect      = 1, 2 // LANDLOCK_ACCESS_NET_*
)

// landlockABI returns the version of Landlock; 0 = there is none.
var landlockABI = sync.OnceValue(func() int {
	v, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, createVersion)
	if e != 0 {
		return 0
	}
	return int(v)
})

type rulesetAttr struct{ fs, net, scoped uint64 }

type pathAttr struct {
	allowed uint64
	fd      int32
}

type portAttr struct{ allowed, port uint64 }

// A ruleset is one of Landlock, with what it was made from.
type ruleset struct {
	fd      int // -1: Landlock has nothing to do, or is not there
	handle  uint64
	folders map[string]*source
}

// A source is a folder that a ruleset was made from.
type source struct {
	markedFolder
	listed bool              // its entries are allowed one by one
	roots  map[string]uint64 // named paths below it, and their numbers on the disk; 0 = nothing is there
}

func (s *ruleset) close() {
	if s.fd >= 0 {
		_ = unix.Close(s.fd)
	}
}

// source returns a folder as it was marked first.
func (s *ruleset) source(f markedFolder) *source {
	if s.folders[f.path] == nil {
		s.folders[f.path] = &source{markedFolder: f, roots: map[string]uint64{}}
	}
	return s.folders[f.path]
}

// name notes a path that the rules name.
func (s *ruleset) name(path string) {
	if path != "/" {
		s.source(folderAbove(path, map[string]markedFolder{})).roots[path] = inode(path)
	}
}

// fresh reports whether what the ruleset was made from is the same.
func (s *ruleset) fresh() bool {
	var changed []*source
	for _, f := range s.folders {
		now := markOf(f.path, true)
		if f.listed && f.mark != now {
			return false
		}
		if !f.unchanged(now) && len(f.roots) > 0 {
			changed = append(changed, f)
		}
	}
	for _, f := range changed { // the paths in it may be the same all the same
		if !f.listed {
			delete(s.folders, f.path)
			continue
		}
		was := f.mark
		if f.markedFolder = markFolder(f.path, true); f.mark != was {
			return false
		}
	}
	marked := map[string]markedFolder{}
	for _, f := range changed {
		roots := f.roots
		f.roots = map[string]uint64{}
		for path, number := range roots {
			above := folderAbove(path, marked)
			if inode(path) != number {
				return false
			}
			s.source(above).roots[path] = number
		}
	}
	return true
}

func inode(path string) uint64 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

// limitsFiles reports whether the rules say anything about files.
func (r *Rules) limitsFiles() bool { return r.Write != nil || r.Read != nil || len(r.Deny) > 0 }

// newRuleset makes the ruleset of these rules. port is that of the proxy, the only one that can be connected
// to; 0 = the network is not limited here. Rules that limit no files forbid to make devices: any ruleset keeps
// a command from looking into other processes.
func newRuleset(r *Rules, port, abi int) (*ruleset, error) {
	s := &ruleset{fd: -1, folders: map[string]*source{}}
	attr := rulesetAttr{fs: makeDevice | unix.LANDLOCK_ACCESS_FS_REFER}
	if abi < abiRefer {
		attr.fs = makeDevice
	}
	if r.limitsFiles() {
		attr.fs = mayRead | mayWrite | makeDevice
		if abi < abiRefer {
			attr.fs &^= unix.LANDLOCK_ACCESS_FS_REFER
		}
		if abi < abiTruncate {
			attr.fs &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
		}
		if abi < abiIoctl {
			attr.fs &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		}
	}
	size := unsafe.Sizeof(attr)
	switch {
	case abi >= abiScope:
		attr.scoped = scopeSignal | scopeSocket
	case abi >= abiNetwork:
		size = 16
	default:
		size = 8
	}
	if port != 0 && abi >= abiNetwork {
		attr.net = netBind | netConnect
	}
	for _, path := range r.Protect {
		s.name(path)
	}
	if r.RunDir != "" {
		s.name(filepath.Join(r.RunDir, sealedFile))
	}
	if abi == 0 {
		return s, nil
	}
	s.handle = attr.fs
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if e != 0 {
		return nil, fmt.Errorf("landlock_create_ruleset: %w", e)
	}
	s.fd = int(fd)
	unix.CloseOnExec(s.fd)
	err := s.fill(r)
	if err == nil && attr.net != 0 {
		p := portAttr{netConnect, uint64(port)}
		if _, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(s.fd), rulePort, uintptr(unsafe.Pointer(&p)),
			0, 0, 0); e != 0 {
			err = fmt.Errorf("landlock_add_rule: %w", e)
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// fill allows what the rules allow.
func (s *ruleset) fill(r *Rules) error {
	if !r.limitsFiles() {
		return s.rule("/", mayWrite)
	}
	write, read := r.Write, r.Read
	if write == nil {
		write = []string{"/"}
	}
	if read == nil {
		read = []string{"/"}
	}
	for _, root := range read {
		s.name(root)
		if err := s.allow(root, mayRead, r.Deny); err != nil {
			return err
		}
	}
	for _, root := range write {
		s.name(root)
		if err := s.allow(root, mayRead|mayWrite, r.Deny); err != nil {
			return err
		}
	}
	return nil
}

// allow allows access to a path and what is below it, apart from what is denied: where that is below, each of its
// neighbours is allowed instead. Names of denied files can be listed; nothing of them can be read.
func (s *ruleset) allow(path string, access uint64, deny []string) error {
	split := path == "/dev" || path == "/" // where the disks are
	for _, d := range deny {
		if within(path, d) {
			return nil
		}
		split = split || within(d, path)
	}
	if !split {
		return s.rule(path, access)
	}
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return nil // what is not there is not allowed
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return s.rule(path, access)
	}
	s.source(markFolder(path, true)).listed = true
	if err := s.rule(path, unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil //nolint:nilerr // its entries cannot be read by the command either
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 || e.Type()&os.ModeDevice != 0 && e.Type()&os.ModeCharDevice == 0 {
			continue // what a link leads to has its own rule; disks hold what is denied
		}
		if err := s.allow(filepath.Join(path, e.Name()), access, deny); err != nil {
			return err
		}
	}
	return nil
}

func (s *ruleset) rule(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil //nolint:nilerr // it is not there, or cannot be reached by the command either
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	if access &= s.handle; access == 0 {
		return nil
	}
	p := pathAttr{access, int32(fd)}
	if _, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(s.fd), rulePath, uintptr(unsafe.Pointer(&p)), 0,
		0, 0); e != 0 && !errors.Is(e, unix.EBADFD) {
		return fmt.Errorf("landlock_add_rule %s: %w", path, e)
	}
	return nil
}

// restrictSelf limits this thread, and what it starts from now on, by a ruleset.
func restrictSelf(fd int) error {
	if _, _, e := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); e != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", e)
	}
	return nil
}
