package action

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"loops/fsm"
	"loops/internal/agent"
	"loops/internal/disk"
)

// A prompt is one prompt or judge on its way to an agent host.
type prompt struct {
	host    *agent.CLI
	req     agent.Request
	schema  *agent.Schema // nil: none
	ignored []string
}

// prompt does a prompt or judge. What keeps it from being asked is a failed Result, as the host's own failures are.
func (r *Runner) prompt(ctx context.Context, c command, a fsm.Action, out func(string)) (res fsm.Result, failed error) {
	p := &prompt{}
	var err error
	if p.host, c.path, err = r.chooseHost(a.Host); err != nil {
		return notAsked(cmp.Or(a.Host, r.Host), fsm.FailMissing, err), nil
	}
	if a.Kind == fsm.KindJudge && a.Schema != "" {
		if p.schema, err = agent.ParseSchema([]byte(a.Schema)); err != nil {
			return fsm.Result{}, fmt.Errorf("the schema of the judge of state %q cannot be used: %w", a.State, err)
		}
	}
	p.req = r.request(a, p.host)
	if p.req.Model, err = r.HintedModel(p.host, p.req.Model); err != nil {
		return notAsked(p.host.Name, fsm.FailModel, err), nil
	}
	if p.req.Scratch, err = disk.MkdirTemp(r.RunDir, ".scratch-*"); err != nil {
		return fsm.Result{}, fmt.Errorf("state %q gets no scratch folder: %w", a.State, err)
	}
	defer func() { _ = os.RemoveAll(p.req.Scratch) }()
	hc, err := p.host.Command(p.req)
	if scarce(err) {
		return fsm.Result{}, err
	}
	if err != nil {
		return notAsked(p.host.Name, fsm.FailOther, err), nil
	}
	p.ignored = hc.Ignored
	vars, done, err := r.variables(a)
	if err != nil {
		return fsm.Result{}, err
	}
	defer func() { failed = also(failed, done()) }()
	c.argv = append([]string{p.host.Program}, hc.Args...)
	c.env = append(setAll(c.env, hc.Env), vars...)
	if hc.Stdin != "" {
		// A file, not a pipe: a host that never reads it neither blocks us nor gets us SIGPIPE.
		if c.stdin, err = r.scriptFile(hc.Stdin); err != nil {
			return fsm.Result{}, fmt.Errorf("the prompt of state %q cannot be written to a file: %w", a.State, err)
		}
		defer func() { _ = c.stdin.Close() }()
	}

	// See Run.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	j, err := r.start(c, a, out)
	if scarce(err) {
		return fsm.Result{}, err
	}
	if err != nil {
		return notAsked(p.host.Name, fsm.FailOther, err), nil
	}
	j.talk = newTalk(p, r.Mask, r.outputFile(a, ".log"))
	var more []string
	j.talk.pace, more = r.newPace(j.talk, a.Velocity)
	p.ignored = append(p.ignored, more...)
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, j.alarm.ring)()
	}
	return j.run(ctx)
}

// request is what the host is asked.
func (r *Runner) request(a fsm.Action, h *agent.CLI) agent.Request {
	permissions := cmp.Or(cmp.Or(r.Permissions, a.Permissions), fsm.PermissionsSkip)
	req := agent.Request{
		Text: a.Text, Judge: a.Kind == fsm.KindJudge, Model: a.Model, Agent: a.Agent, Tools: a.Tools,
		Effort:  cmp.Or(a.Effort, r.Effort),
		Session: a.Session, Counted: agent.Usage(a.Counted), Skip: permissions == fsm.PermissionsSkip,
		MaxCost: a.MaxCost,
	}
	if a.SessionHost != "" && a.SessionHost != h.Name {
		req.Session, req.Counted = "", agent.Usage{}
	}
	if req.Model == "" {
		req.Model = r.Model
		if req.Judge {
			req.Model = h.JudgeModel
		}
	}
	switch {
	case a.Schema == "":
	case h.Has.Schema:
		req.Schema = a.Schema
	default:
		req.Text += "\n\nAnswer with one JSON object and nothing else. It has to match this JSON Schema:\n\n" +
			a.Schema + "\n"
	}
	return req
}

// notAsked is the Result of a prompt that no host was asked.
func notAsked(name string, class fsm.Failure, err error) fsm.Result {
	return fsm.Result{
		ExitCode: 1, Stderr: "Action failed: " + err.Error(),
		Reply: &fsm.Reply{Host: name, Coverage: fsm.CoverageNone, Failure: class, Reason: err.Error()},
	}
}

// chooseHost returns the host of that name, or the Runner's, or the first there is, and the path of its program.
func (r *Runner) chooseHost(name string) (*agent.CLI, string, error) {
	known := r.hosts()
	if name = cmp.Or(name, r.Host); name == "" {
		for _, h := range known {
			if path, err := r.program(h); err == nil {
				return h, path, nil
			}
		}
		return nil, "", fmt.Errorf("no agent host was found in PATH: install one of %s, or add the directory it "+
			"is in to PATH", names(known))
	}
	h := findHost(known, name)
	if h == nil {
		return nil, "", &UnknownHostError{Name: name, Known: known}
	}
	path, err := r.program(h)
	if err != nil {
		where := "in PATH: install it, add the directory it is in to PATH"
		if strings.Contains(h.Program, "/") {
			where = "or may not be executed: fix its entry in the configuration"
		}
		return nil, "", fmt.Errorf("the agent host %s cannot be used: its program %s was not found %s, or choose "+
			"another host (state key host, --host, LOOPS_HOST)", h.Name, h.Program, where)
	}
	return h, path, nil
}

// An UnknownHostError says that no host has a name.
type UnknownHostError struct {
	Name  string
	Known []*agent.CLI
}

func (e *UnknownHostError) Error() string {
	return fmt.Sprintf("there is no agent host %q: known are %s", e.Name, names(e.Known))
}

// FindHost returns the host that a prompt which names this one ("" = none) would be given to, and the path of
// its program. The error explains to a user why there is no such host; it is an [UnknownHostError] where no
// host has the name.
func (r *Runner) FindHost(name string) (*agent.CLI, string, error) {
	r.prepare.Do(r.environ)
	return r.chooseHost(name)
}

// HostFor implements [fsm.Agents].
func (r *Runner) HostFor(name string) (string, bool) {
	h, _, err := r.FindHost(name)
	if err != nil {
		return "", false
	}
	return h.Name, true
}

// KeepsCost implements [fsm.Agents].
func (r *Runner) KeepsCost(host string) bool {
	h, _, err := r.FindHost(host)
	return err == nil && h.Has.MaxCost
}

// Remedy implements [fsm.Agents].
func (r *Runner) Remedy(host string, cause fsm.Failure) string {
	h := findHost(r.hosts(), host)
	switch {
	case h == nil:
		return "name another agent, or declare " + host + " in the settings"
	case cause == fsm.FailMissing:
		return "install " + h.Program + ", or add its directory to PATH"
	}
	return h.Remedy(agent.Class(cause))
}

// hosts are those that can be named, in the order in which they are looked for.
func (r *Runner) hosts() []*agent.CLI {
	return append(r.Hosts[:len(r.Hosts):len(r.Hosts)], agent.Hosts()...)
}

func findHost(known []*agent.CLI, name string) *agent.CLI {
	for _, h := range known {
		if h.Name == name {
			return h
		}
	}
	for _, h := range known {
		for _, alias := range h.Aliases {
			if alias == name {
				return h
			}
		}
	}
	return nil
}

// program finds the program of a host as its actions would.
func (r *Runner) program(h *agent.CLI) (string, error) {
	return r.FindProgram(h.Program)
}

// FindProgram returns the path of a program as actions find it: in PATH, or from the Runner's folder if its
// name has a slash.
func (r *Runner) FindProgram(program string) (string, error) {
	r.prepare.Do(r.environ)
	if !strings.Contains(program, "/") {
		return lookPath(program, r.search, r.Dir)
	}
	if filepath.IsAbs(program) {
		return lookPath(filepath.Base(program), filepath.Dir(program), "")
	}
	dir, name := filepath.Split(program)
	return lookPath(name, filepath.Join(".", dir), r.Dir)
}

func names(known []*agent.CLI) string {
	if len(known) == 0 {
		return "none"
	}
	var list []string
	for _, h := range known {
		list = append(list, h.Name)
	}
	return strings.Join(list, ", ")
}

// setAll sets variables in an environment, in place of those of the same name.
func setAll(env, vars []string) []string {
	for _, v := range vars {
		name, _, _ := strings.Cut(v, "=")
		kept := env[:0]
		for _, e := range env {
			if n, _, _ := strings.Cut(e, "="); n != name {
				kept = append(kept, e)
			}
		}
		env = append(kept, v)
	}
	return env
}
