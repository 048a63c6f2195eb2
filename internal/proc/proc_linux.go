package proc

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is the unit of times in /proc. Linux fixes it at 100 for programs on all machines Go runs on.
const ticksPerSecond = 100

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// bootMS returns when this machine started by the wall clock of now, in milliseconds since the epoch.
func bootMS() int64 {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return 0
	}
	return time.Now().UnixMilli() - up.Nano()/1e6
}

// look reads /proc/PID/stat.
func look(pid int) (info, error) {
	var buf [1024]byte
	n, err := read("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	if err != nil {
		// Where /proc hides the processes of others, a missing entry proves nothing.
		if errors.Is(err, syscall.ESRCH) || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return info{}, errGone
		}
		return info{}, err
	}
	// The name is in brackets and may hold anything, brackets too.
	b := buf[:n]
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 22 {
		return info{}, errors.New("/proc/" + strconv.Itoa(pid) + "/stat cannot be understood")
	}
	num := func(i int) int64 { v, _ := strconv.ParseInt(string(f[i-3]), 10, 64); return v }
	st := info{pid: pid, ppid: int(num(4)), pgid: int(num(5)), pages: num(24)}
	st.zombie = f[0][0] == 'Z' || f[0][0] == 'X'
	if boot := bootMS(); boot != 0 {
		st.startMS = boot + num(22)*1000/ticksPerSecond
	}
	return st, nil
}

// list looks at every process there is. Those that end meanwhile are left out.
func list() ([]info, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := make([]info, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if st, err := look(pid); err == nil {
			all = append(all, st)
		}
	}
	return all, nil
}

// environ returns the environment a process of this user began with, "" where it may not be read.
func environ(pid int) string {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	// The superuser may read all of them.
	if st, err := f.Stat(); err != nil || !mine(st) {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(f, 8<<20))
	return string(b)
}

func mine(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

func rss(p info) int64 { return p.pages * int64(os.Getpagesize()) }

// read reads a small file in one go, without the cost of an os.File.
func read(name string, buf []byte) (int, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		n, err := unix.Read(fd, buf)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}
