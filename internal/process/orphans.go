package process

import (
	"os/exec"
	"sync"
)

// children are the processes that this program waits for itself though they have groups of their own: Reap
// leaves them alone.
var children = struct {
	sync.Mutex
	own map[int]bool
}{own: map[int]bool{}}

// StartChild starts a command in a process group of its own, so that [Orphans.Reap] does not take it for an
// orphan. WaitChild waits for it.
func StartChild(cmd *exec.Cmd) error {
	_, err := Fork(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	return err
}

// Fork has start make a child of this process, which [Orphans.Reap] then leaves alone until [Waited] is called for it.
func Fork(start func() (pid int, err error)) (int, error) {
	children.Lock() // so that it is not taken for an orphan before it is known
	defer children.Unlock()
	pid, err := start()
	if err == nil {
		children.own[pid] = true
	}
	return pid, err
}

// Waited notes that a child which Fork made was waited for.
func Waited(pid int) {
	children.Lock()
	defer children.Unlock()
	delete(children.own, pid)
}

// WaitChild waits for a command that StartChild started.
func WaitChild(cmd *exec.Cmd) error {
	err := cmd.Wait()
	Waited(cmd.Process.Pid)
	return err
}
