//go:build amd64 || arm64

package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"loops/internal/process"
)

// Memory, CPUs and processes are limited by control groups: those of the second version by the group that an action has
// anyway (see [process.Cgroup.Limit]), those of the first by one that the thread joins before it starts a command.
// Where there is neither, the data of each process is limited, and nothing else.

// hierarchies returns where this process may make control groups of the first version, by controller.
var hierarchies = sync.OnceValue(func() map[string]string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	own, err2 := os.ReadFile("/proc/self/cgroup")
	found := map[string]string{}
	if err != nil || err2 != nil {
		return found
	}
	for line := range strings.Lines(string(mounts)) {
		mount, system, _ := strings.Cut(strings.TrimSpace(line), " - ")
		f, s := strings.Fields(mount), strings.Fields(system)
		if len(f) < 5 || len(s) < 3 || s[0] != "cgroup" {
			continue
		}
		for _, controller := range []string{"memory", "pids", "cpu"} {
			if !slices.Contains(strings.Split(s[2], ","), controller) {
				continue
			}
			for line := range strings.Lines(string(own)) {
				group := strings.SplitN(strings.TrimSpace(line), ":", 3)
				if len(group) == 3 && slices.Contains(strings.Split(group[1], ","), controller) {
					dir := filepath.Join(f[4], strings.TrimPrefix(group[2], strings.TrimSuffix(f[3], "/")))
					if unix.Access(dir, unix.W_OK) == nil {
						found[controller] = dir
					}
				}
			}
		}
	}
	return found
})

// cpuPeriod is the time in which a share of the processors is counted.
const cpuPeriod = 100_000

// amounts returns the limits of each controller, by its file.
func (r *Rules) amounts() map[string]map[string]string {
	all := map[string]map[string]string{}
	if r.Memory > 0 {
		all["memory"] = map[string]string{"memory.limit_in_bytes": strconv.FormatInt(r.Memory, 10)}
	}
	if r.PIDs > 0 {
		all["pids"] = map[string]string{"pids.max": strconv.Itoa(r.PIDs)}
	}
	if r.CPUs > 0 {
		all["cpu"] = map[string]string{
			"cpu.cfs_period_us": strconv.Itoa(cpuPeriod),
			"cpu.cfs_quota_us":  strconv.Itoa(int(math.Ceil(r.CPUs * cpuPeriod))),
		}
	}
	return all
}

// newGroups makes the control groups of the first version that these rules need and this process may make.
func (r *Rules) newGroups() ([]string, error) {
	var made []string
	var name [8]byte
	_, _ = rand.Read(name[:])
	for controller, files := range r.amounts() {
		above, ok := hierarchies()[controller]
		if !ok || slices.Contains(process.CgroupControllers(), controller) {
			continue
		}
		dir := filepath.Join(above, "loops-"+hex.EncodeToString(name[:]))
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		made = append(made, dir)
		for file, amount := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(amount), 0); err != nil {
				return made, fmt.Errorf("the control group cannot be limited: %w", err)
			}
		}
	}
	return made, nil
}

// join puts this thread into control groups, and with it what it starts.
func join(groups []string) error {
	for _, dir := range groups {
		if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0); err != nil {
			return fmt.Errorf("the control group cannot be joined: %w", err)
		}
	}
	return nil
}

// Limited limits a process that was just started where no control group does.
func (b *Box) Limited(pid int) {
	if r := b.rules; r.Memory > 0 && !controlled("memory") {
		limit := unix.Rlimit{Cur: uint64(r.Memory), Max: uint64(r.Memory)}
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &limit, nil)
	}
}

// controlled reports whether control groups limit something.
func controlled(controller string) bool {
	_, old := hierarchies()[controller]
	return old || slices.Contains(process.CgroupControllers(), controller)
}

func (r *Rules) missingLimits() []string {
	var list []string
	if r.Memory > 0 && !controlled("memory") {
		list = append(list, "memory is limited for each process alone: no control group can be made that counts it")
	}
	if r.PIDs > 0 && !controlled("pids") {
		list = append(list, "processes are not counted: no control group can be made that does")
	}
	if r.CPUs > 0 && !controlled("cpu") {
		list = append(list, "processors are not limited: no control group can be made that does")
	}
	return list
}
