package proc

import (
	"os/exec"
	"sync"
)

// children are the processes that this program waits for itself though they have groups of their own: Reap leaves them alone.
var children = struct {
	sync.Mutex
	own map[int]bool
}{own: map[int]bool{}}

// StartChild starts a command in a process group of its own, so that [Orphans.Reap] does not take it for an orphan. WaitChild waits
// for it.
func StartChild(cmd *exec.Cmd) error {
	children.Lock()
	defer children.Unlock()
	err := cmd.Start()
	if err == nil {
		children.own[cmd.Process.Pid] = true
	}
	return err
}

// WaitChild waits for a command that StartChild started.
func WaitChild(cmd *exec.Cmd) error {
	err := cmd.Wait()
	children.Lock()
	defer children.Unlock()
	delete(children.own, cmd.Process.Pid)
	return err
}
