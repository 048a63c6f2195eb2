//go:build !linux

package testenv

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

func attributes(cred *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: cred, Setpgid: true}
}

func removeSegment(string) {}

// children returns the processes that a process started itself and that have not ended.
func children(parent int) ([]int, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "state=").Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	var pids []int
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[1] != strconv.Itoa(parent) || strings.HasPrefix(f[2], "Z") {
			continue
		}
		pid, err := strconv.Atoi(f[0])
		if err != nil {
			return nil, fmt.Errorf("ps: %w", err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
