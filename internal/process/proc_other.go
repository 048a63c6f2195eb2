//go:build !linux

package process

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/shirou/gopsutil/v3/process"
	"golang.org/x/sys/unix"
)

// pidNamespace is 0: these systems have none.
func pidNamespace() int64 { return 0 }

func look(pid int) (info, error) {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return info{}, errGone
	}
	p, err := process.NewProcess(int32(pid))
	if errors.Is(err, process.ErrorProcessNotRunning) {
		return info{}, errGone
	}
	if err != nil {
		return info{}, err
	}
	return examine(p)
}

func examine(p *process.Process) (info, error) {
	start, err := p.CreateTime()
	if err != nil {
		return info{}, err
	}
	st := info{pid: int(p.Pid), startMS: start}
	if ppid, err := p.Ppid(); err == nil {
		st.ppid = int(ppid)
	}
	if pgid, err := unix.Getpgid(st.pid); err == nil {
		st.pgid = pgid
	}
	if s, err := p.Status(); err == nil && len(s) > 0 {
		st.zombie = s[0] == process.Zombie
	}
	return st, nil
}

func list() ([]info, error) {
	ps, err := process.Processes()
	if err != nil {
		return nil, err
	}
	all := make([]info, 0, len(ps))
	for _, p := range ps {
		if st, err := examine(p); err == nil {
			all = append(all, st)
		}
	}
	return all, nil
}

func rss(p info) int64 {
	q, err := process.NewProcess(int32(p.pid))
	if err != nil {
		return 0
	}
	m, err := q.MemoryInfo()
	if err != nil {
		return 0
	}
	return int64(m.RSS)
}

// Opened reports whether a process has a file open. known is false where that is not known, as on these systems.
func Opened(int, fs.FileInfo) (open, known bool) { return false, false }

// CommandLine returns the words of the command line of a process, nil where it cannot be read.
func CommandLine(pid int) []string {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return nil
	}
	words, err := p.CmdlineSlice()
	if err != nil {
		return nil
	}
	return words
}

// Catches reports whether a process is known to handle a signal itself; here that is not known.
func Catches(int, syscall.Signal) bool { return false }
