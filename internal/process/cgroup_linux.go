package process

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// What our control groups are called, and the attribute with the element that [Marked] knows their processes by.
const (
	cgroupPrefix    = "loops-"
	cgroupAttribute = "user.loops.action"
)

// A Cgroup is a control group of the second version below that of this process, without any controllers:
// whatever is started in it, and all that descends from that, belongs to it permanently, whatever session or
// environment it takes. Its processes count as marked by the element that Mark set last.
type Cgroup struct {
	dir    string
	fd     int // of the folder; a shared lock on it says that it is in use
	events int // of cgroup.events
}

// cgroupMount returns where the control groups are mounted, and which of them is at the top there.
var cgroupMount = sync.OnceValues(func() (point, top string) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(b)) {
		mount, system, _ := strings.Cut(line, " - ")
		f := strings.Fields(mount)
		if strings.HasPrefix(system, "cgroup2 ") && len(f) > 4 && !strings.Contains(f[4], `\`) {
			return f[4], strings.TrimSuffix(f[3], "/")
		}
	}
	return "", ""
})

// cgroupOf returns the path of a process's control group below the mount, "" where it is not known.
func cgroupOf(pid string) string {
	var buf [4 << 10]byte
	n, err := read("/proc/"+pid+"/cgroup", buf[:])
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(buf[:n]) {
		if path, ok := bytes.CutPrefix(line, []byte("0::")); ok {
			_, top := cgroupMount()
			below, ok := strings.CutPrefix(strings.TrimSuffix(string(path), "\n"), top)
			if !ok || strings.Contains(below, "/..") {
				return ""
			}
			return below
		}
	}
	return ""
}

// NewCgroup makes a control group. The error says that this process may not, or that the system has none: that
// is so for most sessions that systemd did not delegate, and in most containers.
func NewCgroup() (*Cgroup, error) {
	point, _ := cgroupMount()
	parent := cgroupOf("self")
	if point == "" || parent == "" {
		return nil, errors.ErrUnsupported
	}
	parent = filepath.Join(point, parent)
	for try := 0; ; try++ {
		c, err := newCgroup(parent)
		if err == nil {
			removeUnused(parent)
			return c, nil
		}
		// Before the lock is taken another process may find the group unused, and remove it.
		if try == 10 || !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENODEV) &&
			!errors.Is(err, unix.EWOULDBLOCK) {
			return nil, err
		}
	}
}

func newCgroup(parent string) (*Cgroup, error) {
	var name [8]byte
	_, _ = rand.Read(name[:])
	c := &Cgroup{dir: filepath.Join(parent, cgroupPrefix+hex.EncodeToString(name[:])), fd: -1, events: -1}
	if err := unix.Mkdir(c.dir, 0o755); err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cgroup) open() (err error) {
	if c.fd, err = unix.Open(c.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if err = unix.Flock(c.fd, unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return err
	}
	c.events, err = unix.Openat(c.fd, "cgroup.events", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return err
}

// removeUnused removes what programs that were killed, or left processes that have ended since, could not.
func removeUnused(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), cgroupPrefix) || !e.IsDir() {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			removeCgroup(dir)
		}
		_ = unix.Close(fd)
	}
}

// removeCgroup removes a control group that has no processes, with those in it, and reports whether it is gone.
func removeCgroup(dir string) bool {
	if err := unix.Rmdir(dir); err == nil || errors.Is(err, unix.ENOENT) {
		return true
	}
	removeUnused(dir)
	return unix.Rmdir(dir) == nil
}

// FD is the descriptor to start a process in the group with.
func (c *Cgroup) FD() int { return c.fd }

// Mark gives the processes of the group an element of what [Marked] looks for, in place of the one before.
func (c *Cgroup) Mark(element string) error {
	return unix.Fsetxattr(c.fd, cgroupAttribute, []byte(element), 0)
}

// CgroupControllers returns the controllers that groups which NewCgroup makes have: those that were delegated.
var CgroupControllers = sync.OnceValue(func() []string {
	point, _ := cgroupMount()
	parent := cgroupOf("self")
	if point == "" || parent == "" {
		return nil
	}
	control := filepath.Join(point, parent, "cgroup.subtree_control")
	for _, c := range []string{"+memory", "+pids", "+cpu"} { // one by one: those that are not there are refused
		_ = os.WriteFile(control, []byte(c), 0)
	}
	b, err := os.ReadFile(control)
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
})

// Limit sets what the processes of the group may use together, as far as [CgroupControllers] can; 0 = no limit.
func (c *Cgroup) Limit(memory int64, pids int, cpus float64) {
	text := func(n int64) string {
		if n == 0 {
			return "max"
		}
		return strconv.FormatInt(n, 10)
	}
	const period = 100_000
	for _, f := range []struct{ controller, file, value string }{
		{"memory", "memory.max", text(memory)},
		{"pids", "pids.max", text(int64(pids))},
		{"cpu", "cpu.max", text(int64(cpus*period)) + " " + strconv.Itoa(period)},
	} {
		if slices.Contains(CgroupControllers(), f.controller) {
			_ = os.WriteFile(filepath.Join(c.dir, f.file), []byte(f.value), 0)
		}
	}
}

// Empty reports whether the group has no processes.
func (c *Cgroup) Empty() bool {
	var buf [128]byte
	n, err := unix.Pread(c.events, buf[:], 0)
	return err == nil && bytes.Contains(buf[:n], []byte("populated 0"))
}

// Kill ends all processes of the group at once, with those that they start meanwhile, where the kernel can (5.14).
func (c *Cgroup) Kill() {
	if fd, err := unix.Openat(c.fd, "cgroup.kill", unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
		_, _ = unix.Write(fd, []byte("1"))
		_ = unix.Close(fd)
	}
}

// Close closes the group. One that has processes stays, until [Cgroup.Remove] or a later NewCgroup.
func (c *Cgroup) Close() {
	for _, fd := range []int{c.events, c.fd} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	c.events, c.fd = -1, -1
	c.Remove()
}

// Remove removes a group that was closed, and reports whether it is gone.
func (c *Cgroup) Remove() bool { return removeCgroup(c.dir) }

// cgroupMarks knows which elements control groups are marked by. It remembers those it was asked for.
type cgroupMarks map[string]string

// of yields the elements that a process is marked by because of the groups it is in, from the outermost.
func (m cgroupMarks) of(pid int, yield func(element string) bool) {
	point, _ := cgroupMount()
	if point == "" {
		return
	}
	path := cgroupOf(strconv.Itoa(pid))
	for at := 0; ; {
		i := strings.Index(path[at:], "/"+cgroupPrefix)
		if i < 0 {
			return
		}
		end := at + i + 1
		if n := strings.IndexByte(path[end:], '/'); n >= 0 {
			end += n
		} else {
			end = len(path)
		}
		for e := range strings.SplitSeq(m.element(filepath.Join(point, path[:end])), ";") {
			if e != "" && !yield(e) {
				return
			}
		}
		at = end
	}
}

// element reads the mark of a control group. Of one that is not this user's it says nothing.
func (m cgroupMarks) element(dir string) string {
	if e, ok := m[dir]; ok {
		return e
	}
	m[dir] = ""
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil || int(st.Uid) != os.Geteuid() {
		return ""
	}
	var buf [4 << 10]byte
	if n, err := unix.Lgetxattr(dir, cgroupAttribute, buf[:]); err == nil {
		m[dir] = string(buf[:n])
	}
	return m[dir]
}
