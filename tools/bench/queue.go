package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	waiters    = 100
	waitersFor = 30 * time.Second // as long as each may sleep
)

const waitedForLoop = `name: waited
initial: a
states:
  a: {action: sleep 600, next: end}
  end: {terminal: true}
`

// queueShare is how much of one core a hundred runs take that wait for another in the queue, in percent.
func (b *bench) queueShare(store string) (percent float64, err error) {
	flags, err := b.store(store)
	if err != nil {
		return 0, err
	}
	project, err := b.project(waitedForLoop)
	if err != nil {
		return 0, err
	}
	if _, err := b.program(project, append([]string{"run", "-b", "waited"}, flags...)...); err != nil {
		return 0, err
	}
	var waiting []*exec.Cmd
	defer func() {
		for _, cmd := range waiting {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if _, problem := b.program(project, append([]string{"stop", "--all"}, flags...)...); err == nil {
			err = problem
		}
	}()
	for range waiters {
		cmd := b.command(project, append([]string{"run", "waited", "--queue", "--quiet"}, flags...)...)
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		waiting = append(waiting, cmd)
	}
	if err := allWait(project); err != nil {
		return 0, err
	}
	before, err := cpuOf(waiting)
	begin := time.Now()
	time.Sleep(waitersFor)
	wall := time.Since(begin)
	after, err2 := cpuOf(waiting)
	return 100 * (after - before).Seconds() / wall.Seconds(), errors.Join(err, err2)
}

// allWait returns when all waiters have been in the queue for a moment.
func allWait(project string) error {
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		entries, err := filepath.Glob(filepath.Join(project, ".loops", ".queue", "*.json"))
		if err != nil {
			return err
		}
		if len(entries) == waiters {
			time.Sleep(3 * time.Second)
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d runs wait", len(entries), waiters)
		}
	}
}

// cpuOf is the processor time of live processes so far. The system counts in hundredths of a second.
func cpuOf(cmds []*exec.Cmd) (sum time.Duration, err error) {
	for _, cmd := range cmds {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			return 0, &missingError{what: "the system has no /proc/PID/stat"}
		}
		var user, system int64
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 {
			return 0, fmt.Errorf("/proc/%d/stat: %q", cmd.Process.Pid, stat)
		}
		if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
			return 0, err
		}
		sum += time.Duration(user+system) * (time.Second / 100)
	}
	return sum, nil
}
