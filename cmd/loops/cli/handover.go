package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"loops/engine"
	"loops/engine/project"
	"loops/persistence/sqlstore"
)

// handoverVersion is the form of a handover. It is one more than before when a process of the former version would misread it.
const handoverVersion = 1

// A handover is a run that another process of this program is to carry: what is asked for, in which project, and how the run
// is shown. It goes through a pipe: every user of the machine can read the arguments of a process, and a file could stay
// behind. The environment, which only its user can read, is inherited.
type handover struct {
	Version int            `json:"version"`
	Dir     string         `json:"dir"`               // working directory, absolute
	Project string         `json:"project,omitempty"` // as -C says
	Store   string         `json:"store,omitempty"`   // as --store says
	View    handedView     `json:"view"`
	Log     bool           `json:"log,omitempty"`   // what the run says is kept in a log: nobody else reads it once the run is on record
	Words   []string       `json:"words,omitempty"` // a command line that asks for the same; messages quote it, and nothing reads it
	Request engine.Request `json:"request"`
}

// A handedView is how a run is shown.
type handedView struct {
	Quiet   bool   `json:"quiet,omitempty"`
	Verbose bool   `json:"verbose,omitempty"`
	JSON    bool   `json:"json,omitempty"`
	Format  string `json:"format,omitempty"`
	File    string `json:"file,omitempty"`
	Costs   string `json:"costs,omitempty"`
	Color   string `json:"color,omitempty"` // "" = nobody said
}

// handOver returns what another process needs to carry a run that this command line asks for.
func (a *app) handOver(p *project.Project, v viewFlags, r engine.Request) handover {
	h := handover{
		Version: handoverVersion, Dir: p.Cwd, Project: a.dir, Store: a.store, Words: a.args, Request: r,
		View: handedView{Quiet: v.quiet, Verbose: v.verbose, JSON: v.json, Format: v.format, File: v.file, Costs: v.costs},
	}
	if a.colorGiven {
		h.View.Color = a.color
	}
	return h
}

// flags are the view as the command line has it.
func (v handedView) flags() viewFlags {
	return viewFlags{quiet: v.Quiet, verbose: v.Verbose, json: v.JSON, format: v.Format, file: v.File, costs: v.Costs}
}

// app returns the invocation that carries the run.
func (h handover) app(streams IO) *app {
	streams.Dir = h.Dir
	a := &app{IO: streams, dir: h.Project, store: h.Store, args: h.Words, color: "auto"}
	if h.View.Color != "" {
		a.color, a.colorGiven = h.View.Color, true
	}
	return a
}

// readHandover reads a handover, and refuses one that this program may misunderstand.
func readHandover(r io.Reader) (h handover, err error) {
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
	if form.Version != handoverVersion {
		return h, fmt.Errorf("it was asked for in version %d, and this program reads version %d: another version of loops was installed meanwhile; start again what asked for the run", form.Version, handoverVersion)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return h, fmt.Errorf("what was asked for cannot be read: %w", err)
	}
	return h, h.Request.Check()
}

// A spawned is the process of a run that was handed over.
type spawned struct {
	cmd      *exec.Cmd
	report   *os.File // one line when the run is on record: a backgroundStart
	messages *os.File // what the process says, until it closes it
}

// spawn starts a process that carries the run, in a session of its own: the end of this terminal, or of this group of
// processes, is nothing to it.
func (h handover) spawn(env []string) (*spawned, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var here, there []*os.File // its ends are in the order of the descriptors fdReport, fdMessages, fdRequest
	for range fdRequest - fdReport + 1 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(err, closeAll(here), closeAll(there))
		}
		here, there = append(here, r), append(there, w)
	}
	last := len(here) - 1
	here[last], there[last] = there[last], here[last] // that one it reads
	cmd := exec.Command(self, backgroundName)         //nolint:noctx // it outlives the command
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
		err = nil // it has ended, and that tells more
	}
	if err = errors.Join(err, here[last].Close()); err != nil {
		return nil, errors.Join(err, closeAll(here[:last]))
	}
	return &spawned{cmd, here[0], here[1]}, nil
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// wait returns the exit code of the process when it has ended, as a shell has it.
func (c *spawned) wait() int {
	_ = c.cmd.Wait() // its state tells more
	if state, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && state.Signaled() {
		return 128 + int(state.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}

// piped reports whether all descriptors from one on are pipes, as the program that starts this one makes them. None
// of them is inherited by what this process starts.
func piped(from, to int) bool {
	for fd := from; fd <= to; fd++ {
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return false
		}
		syscall.CloseOnExec(fd)
	}
	return true
}

// shownArguments are the words of a command line as they may be shown and kept: without the passwords of stores.
func shownArguments(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		name, value, has := strings.Cut(arg, "=")
		switch {
		case has && name == "--store":
			arg = name + "=" + sqlstore.Redacted(value)
		case i > 0 && args[i-1] == "--store", isPostgres(arg):
			arg = sqlstore.Redacted(arg)
		}
		shown[i] = arg
	}
	return shown
}

// keptArguments are the words of a command line for a log: also without the values of a run's context. Those are in the
// memory of the run, where they are needed.
func keptArguments(args []string) []string {
	kept := shownArguments(args)
	for i, arg := range kept {
		name, value, has := strings.Cut(arg, "=")
		switch {
		case has && name == "--context":
			key, _, _ := strings.Cut(value, "=")
			kept[i] = name + "=" + key + "=..."
		case i > 0 && args[i-1] == "--context" && has:
			kept[i] = name + "=..."
		}
	}
	return kept
}

func isPostgres(arg string) bool {
	return strings.HasPrefix(arg, "postgres://") || strings.HasPrefix(arg, "postgresql://")
}

// discreet is a message without the password of the store that this command line names.
func (a *app) discreet(message string) string {
	given := []string{a.store}
	if env, ok := a.getenv(project.EnvStore); ok {
		given = append(given, env)
	}
	for _, arg := range a.args {
		if _, value, _ := strings.Cut(arg, "="); isPostgres(value) {
			arg = value
		}
		if isPostgres(arg) {
			given = append(given, arg)
		}
	}
	for _, url := range given {
		if shown := sqlstore.Redacted(url); shown != url {
			message = strings.ReplaceAll(message, url, shown)
		}
	}
	return message
}

// commandText is a command line for a person, of words that may be shown.
func commandText(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return "loops " + strings.Join(quoted, " ")
}
