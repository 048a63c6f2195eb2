package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// peak runs a loop file in a project of its own and returns how much memory of it was resident at most, in MB. What the
// system says of a process that has ended is no use: it counts what the parent had when it started it.
func (b *bench) peak(text string, args ...string) (float64, error) {
	project, err := b.project(text)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(project)
	return b.peakOf(project, append([]string{"run", loopName(text)}, args...)...)
}

// manySteps is the length of a run whose whole history is read.
const manySteps = 200_000

// peakOfPast is the peak of a command that reads the whole history of a run of manySteps.
func (b *bench) peakOfPast(args ...string) (float64, error) {
	if b.pastDir == "" {
		project, err := b.project(decisionLoop)
		if err != nil {
			return 0, err
		}
		if _, err := b.program(project, "run", "decision", "--max-steps", strconv.Itoa(manySteps), "--quiet"); err !=
			nil {
			return 0, err
		}
		b.pastDir = project
	}
	return b.peakOf(b.pastDir, args...)
}

// peakOf runs the program in a project and returns how much memory of it was resident at most, in MB.
func (b *bench) peakOf(project string, args ...string) (float64, error) {
	cmd := b.command(project, args...)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan float64)
	stop := make(chan struct{})
	go func() { done <- watch(cmd, stop) }()
	err := cmd.Wait()
	close(stop)
	most := <-done
	if err := ended(cmd, err); err != nil {
		return 0, err
	}
	if most == 0 {
		return 0, &missingError{what: "the system has no /proc/PID/status"}
	}
	return most, nil
}

// watch looks at the high-water mark of a process until stop is closed, and returns the last one in MB.
func watch(cmd *exec.Cmd, stop <-chan struct{}) (most float64) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return most
		case <-tick.C:
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			continue
		}
		var kb float64
		_, line, _ := strings.Cut(string(status), "VmHWM:")
		if _, err := fmt.Sscan(line, &kb); err == nil {
			most = max(most, kb/1e3)
		}
	}
}
