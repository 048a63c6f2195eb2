//go:build !linux && !darwin

package process

import (
	"strings"

	"github.com/shirou/gopsutil/v3/process"
)

// bootID is unknown: these systems have no name for it that a change of the clock leaves alone.
func bootID() string { return "" }

func environ(pid int) string {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return ""
	}
	env, err := p.Environ()
	if err != nil {
		return ""
	}
	return strings.Join(env, "\x00")
}
