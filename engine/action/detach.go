package action

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"loops/fsm"
	"loops/fsm/confine"
	"loops/internal/agent"
	"loops/internal/disk"
)

// waitScript is what a detached agent is before it is released: it becomes the agent when a line comes, and
// ends where none will. So the agent has its pid from the start, and begins nothing while its run is still
// held.
const waitScript = `IFS= read -r go <&3 && exec 3<&- && exec "$0" "$@"`

// A Detachment is an agent to start in a session of its own, which may outlive this program. What it prints is lost.
type Detachment struct {
	Host        string // as a prompt names it; "" = the one of the Runner
	Permissions string // of the loop
	Prompt      string
	Dir         string   // absolute
	Env         []string // before what the host adds
}

// A Detached is an agent that was started and waits. Either Release or Cancel is called, once; if this program
// dies before, the agent never begins.
type Detached struct {
	PID  int
	gate *os.File
}

// Detach starts an agent that begins its work when it is released.
func (r *Runner) Detach(d Detachment) (*Detached, error) {
	if name := confine.Name(r.Sandbox); name != confine.Off {
		return nil, errors.New("it would be outside of the sandbox " + name + ", which the settings ask for")
	}
	h, path, err := r.FindHost(d.Host)
	if err != nil {
		return nil, err
	}
	bash, err := r.bashPath()
	if err != nil {
		return nil, err
	}
	scratch, err := disk.MkdirTemp(r.RunDir, ".scratch-*")
	if err != nil {
		return nil, err
	}
	hc, err := h.Command(agent.Request{
		Text: d.Prompt, Alone: true, Model: r.Model, Scratch: scratch,
		Skip: cmp.Or(r.Permissions, d.Permissions, fsm.PermissionsSkip) == fsm.PermissionsSkip,
	})
	if err != nil {
		_ = os.RemoveAll(scratch)
		return nil, err
	}
	_ = os.Remove(scratch) // it stays where the host has a file in it, which it reads when it begins
	var stdin io.ReadCloser
	if hc.Stdin != "" {
		if stdin, err = r.scriptFile(hc.Stdin); err != nil {
			return nil, fmt.Errorf("the prompt cannot be written to a file: %w", err)
		}
		defer func() { _ = stdin.Close() }()
	}
	wait, gate, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = wait.Close() }()
	cmd := exec.Command(bash, append([]string{"-c", waitScript, path}, hc.Args...)...) //nolint:noctx // it outlives the run
	cmd.Dir, cmd.Env, cmd.ExtraFiles = d.Dir, setAll(d.Env, hc.Env), []*os.File{wait}
	if stdin != nil {
		cmd.Stdin = stdin
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_ = gate.Close()
		return nil, err
	}
	go func() { _ = cmd.Wait() }() // or it stays in the table of processes for as long as this program does
	return &Detached{PID: cmd.Process.Pid, gate: gate}, nil
}

// Release lets the agent begin.
func (d *Detached) Release() {
	_, _ = io.WriteString(d.gate, "\n") // an agent that was ended meanwhile need not be released
	_ = d.gate.Close()
}

// Cancel ends the agent, which has done nothing.
func (d *Detached) Cancel() { _ = d.gate.Close() }
