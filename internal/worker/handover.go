package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"loops/engine"
)

// HandoverVersion is the form of a Handover. It is one more than before when a process of the former version
// would misread it.
const HandoverVersion = 1

// A Handover is a run that another process of this program is to carry: what is asked for, in which project,
// and how the run is shown. It goes through a pipe: every user of the machine can read the arguments of a
// process, and a file could stay behind. The environment, which only its user can read, is inherited.
type Handover struct {
	Version int       `json:"version"`
	Dir     string    `json:"dir"`               // working directory, absolute
	Project string    `json:"project,omitempty"` // as -C says
	Store   string    `json:"store,omitempty"`   // as --store says
	View    ChildView `json:"view"`
	// what the run says is kept in a log: no one else reads it once the run is on record
	Log bool `json:"log,omitempty"`
	// the run stops, so that it can be resumed, when the process that handed it over ends
	Bound bool        `json:"bound,omitempty"`
	Files *ChildFiles `json:"files,omitempty"` // nil = they are in Dir
	// a command line that asks for the same; messages quote it, and nothing reads it
	Words   []string       `json:"words,omitempty"`
	Request engine.Request `json:"request"`
}

// ChildFiles are those of a run that travel: where its process finds them, and has them kept.
type ChildFiles struct {
	Remote  string   `json:"remote"`
	Machine string   `json:"machine"` // the folder of this machine for mirrors and work trees, absolute
	Run     string   `json:"run"`
	Commit  string   `json:"commit"` // where the run begins or continues
	Folder  string   `json:"folder"` // of the project, from the top; "" = the top
	Include []string `json:"include,omitempty"`

	GitTimeout time.Duration `json:"git_timeout,omitempty"` // of one command of git; 0 = none
}

// A ChildView is how a run is shown.
type ChildView struct {
	Quiet    bool   `json:"quiet,omitempty"`
	Verbose  bool   `json:"verbose,omitempty"`
	JSON     bool   `json:"json,omitempty"`
	Format   string `json:"format,omitempty"`
	File     string `json:"file,omitempty"`
	Costs    string `json:"costs,omitempty"`
	Color    string `json:"color,omitempty"`    // "" = not set
	Diagrams string `json:"diagrams,omitempty"` // of the log; "" = none
}

// BackgroundCommand is the command of this program that carries a run which was handed over. It is for this
// program only.
const BackgroundCommand = "background-run"

// The descriptors that its process gets, each of them a pipe.
const (
	FDReport   = 3 + iota // to write: one line when the run is on record
	FDMessages            // to write: what the process says
	FDRequest             // to read: a Handover
	// to read, of a bound run: ends with the process that handed the run over, or when that releases it
	FDLife
)

// ReadHandover reads a handover, and refuses one that this program may misunderstand.
func ReadHandover(r io.Reader) (h Handover, err error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return h, err
	}
	var form struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &form); err != nil {
		return h, fmt.Errorf("what was asked for cannot be read: %w", err)
	}
	if form.Version != HandoverVersion {
		return h, fmt.Errorf("it was asked for in version %d, and this program reads version %d: another version of "+
			"loops was installed meanwhile; start again what asked for the run", form.Version, HandoverVersion)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return h, fmt.Errorf("what was asked for cannot be read: %w", err)
	}
	return h, h.Request.Check()
}

// A ChildProcess is the process of a run that was handed over.
type ChildProcess struct {
	Cmd      *exec.Cmd
	Report   *os.File // one line when the run is on record
	Messages *os.File // what the process says, until it closes it
	// of a bound run: the run stops when it is closed, or when this process ends; nil = it is not bound
	Life *os.File
}

// Spawn starts a process that carries the run, in a session of its own: the end of this terminal, or of this group of
// processes, is nothing to it.
func (h Handover) Spawn(env []string) (*ChildProcess, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var here, there []*os.File // its ends are in the order of the descriptors FDReport, FDMessages, FDRequest
	for range FDRequest - FDReport + 1 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(err, closeAll(here), closeAll(there))
		}
		here, there = append(here, r), append(there, w)
	}
	const last = FDRequest - FDReport
	here[last], there[last] = there[last], here[last] // that one it reads
	if h.Bound {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(err, closeAll(here), closeAll(there))
		}
		here, there = append(here, w), append(there, r)
	}
	cmd := exec.Command(self, BackgroundCommand) //nolint:noctx // it outlives the command
	cmd.Dir, cmd.Env = h.Dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.ExtraFiles = there
	err = cmd.Start()
	// Only the process has the other ends now, so that they close with it.
	if closed := closeAll(there); err != nil || closed != nil {
		return nil, errors.Join(err, closed, closeAll(here))
	}
	_, err = here[last].Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = nil // it has ended, and its exit code says more
	}
	if err = errors.Join(err, here[last].Close()); err != nil {
		here[last] = nil
		return nil, errors.Join(err, closeAll(here))
	}
	p := &ChildProcess{Cmd: cmd, Report: here[0], Messages: here[1]}
	if h.Bound {
		p.Life = here[last+1]
	}
	return p, nil
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		if f == nil {
			continue
		}
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Wait returns the exit code of the process when it has ended, as a shell has it.
func (c *ChildProcess) Wait() int {
	_ = c.Cmd.Wait() // its state says more
	if state, ok := c.Cmd.ProcessState.Sys().(syscall.WaitStatus); ok && state.Signaled() {
		return 128 + int(state.Signal())
	}
	return c.Cmd.ProcessState.ExitCode()
}

// Piped reports whether all descriptors from one on are pipes, as the program that starts this one makes them. None
// of them is inherited by what this process starts.
func Piped(from, to int) bool {
	for fd := from; fd <= to; fd++ {
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return false
		}
		syscall.CloseOnExec(fd)
	}
	return true
}

// KillGrace is how long the action of a bound run has to end when its process was released.
const KillGrace = 600 * time.Millisecond

// Obey has this process, which carries a bound run, end when the one that handed the run over does: the run is stopped
// as by SIGTERM, and a little later, if it has not ended, to kill its action.
func (h Handover) Obey() error {
	if !h.Bound {
		return nil
	}
	if !Piped(FDLife, FDLife) {
		return errors.New("the pipe that ends with the process that handed the run over is missing")
	}
	life := os.NewFile(FDLife, "life")
	go func() { // until this process ends
		_, _ = io.Copy(io.Discard, life)
		for {
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			time.Sleep(KillGrace)
		}
	}()
	return nil
}
