package process

import (
	"bufio"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pidNamespace returns the number of our PID namespace, 0 where the kernel has none. While the machine runs the number
// names this namespace alone; one that is used again is of a namespace whose processes are all dead.
func pidNamespace() int64 {
	return namespace("/proc/self/ns/pid")
}

func namespace(path string) int64 {
	link, err := os.Readlink(path) // pid:[4026531836]
	if err != nil {
		return 0
	}
	_, number, _ := strings.Cut(strings.TrimSuffix(link, "]"), "[")
	n, _ := strconv.ParseInt(number, 10, 64)
	return n
}

// sinceBootOffset is what times since the start of the machine are shifted by for us, in milliseconds: in a
// time namespace of ours the kernel shows them so. It is not known where we joined another one than our
// children will be in, because the kernel shows only theirs. It is read once.
var sinceBootOffset = sync.OnceValues(func() (ms int64, known bool) {
	if namespace("/proc/self/ns/time") != namespace("/proc/self/ns/time_for_children") {
		return 0, false
	}
	b, err := os.ReadFile("/proc/self/timens_offsets")
	if err != nil {
		return 0, true // a kernel without time namespaces
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "boottime" && f[0] != "7" {
			continue
		}
		seconds, err1 := strconv.ParseInt(f[1], 10, 64)
		nanos, err2 := strconv.ParseInt(f[2], 10, 64)
		// A part of a tick makes some starts look a tick later.
		whole := nanos%(int64(time.Second)/ticksPerSecond) == 0
		return seconds*1000 + nanos/1e6, err1 == nil && err2 == nil && whole
	}
	return 0, false
})

// otherProc reports whether /proc is that of another PID namespace, as it is in one that was made without a
// /proc of its own: its numbers are not our pids. It is asked once.
var otherProc = sync.OnceValue(func() bool {
	self, err := os.Readlink("/proc/self")
	return err != nil || self != strconv.Itoa(os.Getpid())
})

// lookAside looks for a pid of ours in a /proc that has other numbers.
func lookAside(pid int) (info, error) {
	all, _ := list()
	if i := slices.IndexFunc(all, func(p info) bool { return p.pid == pid }); i >= 0 {
		return all[i], nil
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return info{}, errGone
	}
	return info{}, errors.New("/proc does not show process " + strconv.Itoa(pid) + " of this PID namespace")
}

// ownOf returns those of a /proc with other numbers that are in our PID namespace, with their pids there.
func ownOf(all []info) []info {
	ours := pidNamespace()
	var own []info
	pids := map[int]int{} // by the number in /proc
	for _, p := range all {
		if namespace("/proc/"+strconv.Itoa(p.pid)+"/ns/pid") != ours {
			continue
		}
		pid, pgid, sid := innermost(p.pid)
		if pid == 0 {
			continue // it ended
		}
		pids[p.pid] = pid
		p.name, p.pid, p.pgid, p.sid = p.pid, pid, pgid, sid
		own = append(own, p)
	}
	for i := range own {
		own[i].ppid = pids[own[i].ppid] // 0 = its parent is outside
	}
	return own
}

// innermost returns the pid, process group and session of a process in its own PID namespace, 0 where it has ended.
func innermost(name int) (pid, pgid, sid int) {
	f, err := os.Open("/proc/" + strconv.Itoa(name) + "/status")
	if err != nil {
		return 0, 0, 0
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) < 2 {
			continue
		}
		switch w[0] {
		case "NSpid:":
			pid, _ = strconv.Atoi(w[len(w)-1])
		case "NSpgid:":
			pgid, _ = strconv.Atoi(w[len(w)-1])
		case "NSsid:":
			sid, _ = strconv.Atoi(w[len(w)-1])
		}
	}
	return pid, pgid, sid
}
