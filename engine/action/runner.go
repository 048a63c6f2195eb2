// Package action does one [fsm.Action] at a time: it starts a process in a group of its own, streams what that
// prints, keeps a bounded part of it, watches the clock, and ends everything the action started when it has to.
//
// Every process of an action carries [Variable] in its environment. That is how processes are found that have left
// the action's group, or that have outlived the program that ran them.
//
// # Calls
//
// An [HTTPCall] makes one request over HTTP, bounded in time and size. What is secret in it does not come back:
// not in the response, and not in an error.
package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"loops/engine/action/envfile"
	"loops/fsm"
	"loops/fsm/confine"
	"loops/internal/agent"
	"loops/internal/mask"
	"loops/internal/process"
	"loops/internal/sandbox"
)

// Variable is the environment variable with the markers of the actions a process belongs to, separated by
// semicolons; there is more than one where an action runs another loop.
const Variable = "LOOPS_ACTION"

// What a Runner does where its fields are zero.
const (
	DefaultGrace      = 5 * time.Second
	DefaultDrainGrace = 100 * time.Millisecond
	DefaultCap        = 1 << 20
)

// A Runner does shell actions, tool calls, prompts and judges; it implements [fsm.Runner]. The fields are set
// before its first use and not changed after that. Run and Force may be called concurrently.
//
// An action is over when its process has exited and its output was read until its end or until nothing more came
// for DrainGrace. What it left running continues, and can still write: its output is read and dropped until Close. Of a
// call by ToolCall nothing continues: what it left is ended.
// An action that is stopped or timed out is over when nothing of it is alive: its group and every process
// with its marker get TERM, and KILL after Grace. Its process gets KILL when the program that runs it dies (Linux).
//
// An action is in the background of the terminal, if there is one. A program whose actions should get an error
// when they ask the terminal for a password, where they would be stopped and wait for ever, ignores SIGTTIN and
// SIGTTOU: actions inherit that.
type Runner struct {
	Dir   string   // working directory of actions that name none; "" is the current one
	Env   []string // environment of actions, before what is added; nil is that of this process
	RunID string   // of the run the actions belong to
	// what the markers of its actions begin with; no other run on this machine, nor an earlier segment of this
	// one, may have it
	Mark string
	// absolute; full outputs go to its folder output, variables too long for an environment to env. "": outputs
	// are not kept
	RunDir string
	// an error if Dir and RunDir are not any more what they were: then nothing is started, and no folder is
	// made; nil: they are
	There      func() error
	Grace      time.Duration // from TERM to KILL; 0 is DefaultGrace
	DrainGrace time.Duration // see above; it is waited for three times at most; 0 is DefaultDrainGrace
	Durable    bool          // what is kept in RunDir is durable before an action gets its path, or Run returns
	ToolCall   ToolCall      // finds the program for tool calls; nil: it is always mcp-call in PATH
	Cap        int           // bytes kept of each stream, apart from the line in the middle; 0 is DefaultCap

	ScheduledAt string // the time of its schedule that the run was started for; "" = no schedule started it

	// Trace returns TRACEPARENT for an action; nil: actions have that of Env
	Trace func(fsm.Action) string

	// Adopt makes this process adopt orphans (see process.AdoptOrphans). It is called where no control group
	// can be made for an action, and is for a program that runs one action at a time; nil: what clears its
	// environment and leaves its group is not found there.
	Adopt func() error

	// Before is called before an action begins. It returns what to do instead, and what to call when that is
	// over. After an error nothing is started. nil: actions begin as they are.
	Before func(fsm.Action) (fsm.Action, func(), error)

	// Limit is called with what an agent reported of a limit of its account; nil: that is not kept
	Limit func(host string, w fsm.QuotaWindow)

	// masks what is secret in all that an action prints, and puts it back into what an action gets, but for
	// prompts; nil: nothing is
	Mask *mask.Masker
	// Seal is called after each action where Mask is set; its error is that of the action. nil: what was masked is
	// not kept
	Seal func() error

	// models by host and model_hint, before those that a host has; "" turns one off
	ModelHints map[string]map[string]string
	Hosts      []*agent.CLI // agent CLIs besides those of package agent, and looked at before them
	// name or alias of the host of prompts and judges that name none; "" is the first whose program is in PATH
	Host        string
	Model       string // of prompts that name none; "" is the host's own
	Effort      string // of prompts and judges that name none; "" is the host's own
	Permissions string // of all prompts and judges, whatever they say; "" leaves it to them

	Sandbox []*confine.Policy // of all actions, besides their own
	Caches  []string          // that a workspace may change; nil = those of package sandbox
	// secrets that leave for some hosts only: in requests of actions in a sandbox with a list of hosts, and in
	// those of call
	Egress []confine.Egress
	// Control returns the socket by which actions in a sandbox reach the run, in LOOPS_CONTROL; nil: they do not
	Control func() (string, error)

	// Prices returns what a prompt cost whose host does not report it; nil: the cost is not known.
	Prices func(model string, u fsm.Usage) (usd float64, ok bool)

	clock func() time.Time // for tests; nil: time.Now
	turn  func(*job)       // for tests: it is called before each poll

	prepare sync.Once
	base    []string // Env without what each action sets itself
	pwd     string   // PWD of base; "" if unset
	outer   string   // markers of the actions this process is part of, with a ";" behind each
	search  string   // PATH of base
	null    *os.File

	forced atomic.Bool
	vars   envfile.Files

	mu    sync.Mutex
	bash  string              // path, once found
	spare []*scratch          // of actions that are over, for the next ones; at most mostSpare
	busy  map[*alarm]struct{} // of the actions that run

	calls    map[int]context.CancelCauseFunc // of the requests that are made; guarded by mu
	nextCall int

	left []*os.File // pipes that processes of ended actions hold

	boxes map[string]*sandbox.Box // by what they allow and where; guarded by mu
	stay  []string                // markers of actions in a sandbox that left processes; guarded by mu

	unconfined bool              // no control groups can be made
	crowded    []*process.Cgroup // control groups that had processes when their action was over
	adopting   atomic.Bool       // by Adopt
	orphans    process.Orphans

	settle *settler // guarded by mu

	draining sync.WaitGroup // one for each of left
}

func (r *Runner) time() time.Time {
	if r.clock != nil {
		return r.clock()
	}
	return time.Now()
}

// Run does the action; see [fsm.Runner]. When ctx has ended before, or after [Runner.Force], nothing is started
// and the error says so. A start for which the system has no process, memory or a descriptor is tried three
// times.
func (r *Runner) Run(ctx context.Context, a fsm.Action, out func(text string)) (fsm.Result, error) {
	res, err := patiently(ctx, func() (fsm.Result, error) {
		a := r.revealed(a)
		if r.Before == nil {
			return r.do(ctx, a, out)
		}
		changed, done, err := r.Before(a)
		if err != nil {
			return fsm.Result{}, err
		}
		defer done()
		return r.do(ctx, changed, out)
	})
	if r.Mask == nil {
		return res, diskError(err)
	}
	// what was added after the output was masked
	res.Stderr = r.Mask.Again(res.Stderr)
	if err != nil {
		if text := r.Mask.Again(err.Error()); text != err.Error() {
			err = maskedError{err, text}
		}
	}
	if r.Seal != nil {
		err = errors.Join(err, r.Seal())
	}
	return res, diskError(err)
}

// A maskedError is an error whose text had a secret.
type maskedError struct {
	err  error
	text string
}

func (e maskedError) Error() string { return e.text }
func (e maskedError) Unwrap() error { return e.err }

func (r *Runner) do(ctx context.Context, a fsm.Action, out func(text string)) (fsm.Result, error) {
	if err := ctx.Err(); err != nil {
		return fsm.Result{}, context.Cause(ctx)
	}
	if r.forced.Load() {
		return fsm.Result{}, errors.New("stopped at once: no more actions are started")
	}
	if err := r.there(); err != nil {
		return fsm.Result{}, err
	}
	r.prepare.Do(r.environ)
	dir, err := r.directory(a)
	if err != nil {
		return fsm.Result{}, err
	}
	box, err := r.sandboxOf(a, dir)
	switch {
	case err != nil:
		return fsm.Result{}, err
	case a.Kind == fsm.KindHTTP && box != nil && a.Call != nil:
		if err := mayReach(box, a.Call.URL); err != nil {
			return fsm.Result{}, fmt.Errorf("the request of state %q is not made: %w", a.State, err)
		}
		fallthrough
	case a.Kind == fsm.KindHTTP:
		return r.call(ctx, box, a, out)
	case box == nil:
		return r.carryOut(ctx, command{dir: dir, env: r.environment(a, dir)}, a, out)
	}
	return r.inside(box, a, r.environment(a, dir), func(env []string) (fsm.Result, error) {
		return r.carryOut(ctx, command{dir: dir, env: env, box: box}, a, out)
	})
}

// carryOut starts what an action is, and sees it through to its end.
func (r *Runner) carryOut(ctx context.Context, c command, a fsm.Action, out func(string)) (res fsm.Result,
	failed error,
) {
	switch a.Kind {
	case fsm.KindShell:
		path, err := r.bashPath()
		if err != nil {
			return fsm.Result{}, err
		}
		vars, done, err := r.variables(a)
		if err != nil {
			return fsm.Result{}, err
		}
		defer func() { failed = also(failed, done()) }()
		c.env = append(c.env, vars...)
		// Called by its path, bash does not search PATH for itself, which takes it 2 % of the time of a short
		// script; $0 stays "bash".
		c.name, c.path, c.argv = "bash", path, []string{path, "-c", a.Text, "bash"}
		if len(a.Text) >= longScript {
			script, err := r.scriptFile(a.Text)
			if err != nil {
				return fsm.Result{}, fmt.Errorf("the script of state %q cannot be written to a file: %w", a.State, err)
			}
			defer func() { _ = script.Close() }()
			c.argv[2], c.script = longScriptText, script
		}
	case fsm.KindProgram:
		release, err := r.programCommand(&c, a)
		if err != nil {
			return fsm.Result{}, err
		}
		defer func() { failed = also(failed, release()) }()
	case fsm.KindMCP:
		release, err := r.toolCommand(&c, a)
		if err != nil {
			return fsm.Result{}, err
		}
		defer release()
	case fsm.KindPrompt, fsm.KindJudge:
		return r.prompt(ctx, c, a, out)
	default:
		return fsm.Result{}, fmt.Errorf("an action of kind %q cannot be run", a.Kind)
	}

	// The kernel ends the process when the thread that started it ends, so that thread must be ours until then.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	j, err := r.start(c, a, out)
	if err != nil {
		return fsm.Result{}, err
	}
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, j.alarm.ring)()
	}
	res, err = j.run(ctx)
	if err == nil && a.Kind == fsm.KindMCP && c.sweep && res.ExitCode == toolScarce {
		return res, uncalledError(strings.TrimSpace(res.Stderr))
	}
	return res, err
}

// also adds an error to another one. Each may be nil.
func also(err, more error) error {
	if more == nil {
		return err
	}
	return errors.Join(err, more)
}

func (r *Runner) there() error {
	if r.There == nil {
		return nil
	}
	return r.There()
}

// Force makes the actions that run end at once, by KILL without grace, and keeps others from being started. It
// does not wait for them. The results are of no use.
func (r *Runner) Force() {
	r.forced.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	for a := range r.busy {
		a.ring()
	}
	for _, end := range r.calls {
		end(errForced)
	}
}

// Close closes what ended actions left behind: their processes continue, but get SIGPIPE if they print. Those
// of actions in a sandbox are ended.
// It is called once, when no action runs any more.
func (r *Runner) Close() error {
	r.mu.Lock()
	left, spare := r.left, r.spare
	r.left, r.spare = nil, nil
	r.mu.Unlock()
	for _, f := range left {
		_ = f.Close()
	}
	r.draining.Wait()
	r.vars.Close()
	for _, s := range spare {
		s.alarm.close()
	}
	r.endStaying()
	r.unconfine(spare...)
	for _, box := range r.boxes {
		box.Close()
	}
	if r.null != nil {
		return r.null.Close()
	}
	return nil
}

// envReferenceRunID is the name that little-loops has for LOOPS_RUN_ID.
const envReferenceRunID = "LL_LOOP_RUN_ID"

// envScheduledAt has the time of the schedule that the run was started for.
const envScheduledAt = "LOOPS_SCHEDULED_AT"

// envControl has the socket of the run, in a sandbox.
const envControl = "LOOPS_CONTROL"

// envTrace has the span that an action is in, as W3C Trace Context writes it.
const envTrace = "TRACEPARENT"

// own are the variables that environ drops and environment sets.
var own = []string{
	envReferenceRunID, "LOOPS_RUN_ID", "LOOPS_RUN_DIR", "LOOPS_STATE", "LOOPS_STEP", "LOOPS_ATTEMPT",
	envScheduledAt, envControl, sandbox.Variable, Variable,
}

// environ prepares what all actions share.
func (r *Runner) environ() {
	env := r.Env
	if env == nil {
		env = os.Environ()
	}
	r.base = make([]string, 0, len(env))
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case Variable:
			if value != "" {
				r.outer = value + ";"
			}
		case "PATH":
			r.search = value
		case "PWD":
			r.pwd = value
			continue
		}
		if slices.Contains(own, name) || isTextVar(name) || name == envTrace && r.Trace != nil {
			continue
		}
		r.base = append(r.base, e)
	}
	if dir, err := filepath.Abs(r.Dir); err == nil && r.Dir != "" {
		r.pwd = dir
	}
}

// directory returns the working directory of an action; "" is the current one.
func (r *Runner) directory(a fsm.Action) (string, error) {
	if a.Dir == "" {
		return r.Dir, nil
	}
	if filepath.IsAbs(a.Dir) {
		return a.Dir, nil
	}
	dir, err := filepath.Abs(filepath.Join(r.Dir, a.Dir))
	if err != nil {
		return "", fmt.Errorf("the working directory %s of state %q: %w", a.Dir, a.State, err)
	}
	return dir, nil
}

// environment returns the environment of an action that runs in dir, without its Vars.
func (r *Runner) environment(a fsm.Action, dir string) []string {
	env := make([]string, 0, len(r.base)+len(own)+1+len(a.Vars))
	env = append(env, r.base...)
	pwd := r.pwd
	if a.Dir != "" {
		pwd = dir
	}
	if pwd != "" {
		env = append(env, "PWD="+pwd)
	}
	if r.ScheduledAt != "" {
		env = append(env, envScheduledAt+"="+r.ScheduledAt)
	}
	if r.Trace != nil && a.At != "" {
		env = append(env, envTrace+"="+r.Trace(a))
	}
	return append(env,
		"LOOPS_RUN_ID="+r.RunID,
		envReferenceRunID+"="+r.RunID,
		"LOOPS_RUN_DIR="+r.RunDir,
		"LOOPS_STATE="+a.State,
		"LOOPS_STEP="+strconv.Itoa(a.Step),
		"LOOPS_ATTEMPT="+strconv.Itoa(cmp.Or(a.Started, a.Attempt)),
		Variable+"="+r.outer+r.markers(a),
	)
}

// marker is the element of [Variable] that only the processes of this action carry.
func (r *Runner) marker(a fsm.Action) string {
	return r.Mark + a.Outer + fsm.AttemptMark(a.Step, a.Attempt) + a.Item
}

// markers are the marker of an action and, if its step or one around it has several, that of all of them.
func (r *Runner) markers(a fsm.Action) string {
	text := ""
	for _, mark := range fsm.OuterMarks(a.Outer) {
		text += r.Mark + mark + ";"
	}
	if a.Item != "" {
		all := a
		all.Item = ""
		text += r.marker(all) + ";"
	}
	return text + r.marker(a)
}

func (r *Runner) bashPath() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bash == "" {
		path, err := lookPath("bash", r.search, r.Dir)
		if err != nil {
			return "", errors.New("bash was not found in PATH: install bash, or add the directory it is in to PATH")
		}
		r.bash = path
	}
	return r.bash, nil
}

// lookPath finds a program in the directories of search, of which relative ones are relative to dir.
func lookPath(name, search, dir string) (string, error) {
	for _, d := range filepath.SplitList(search) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		path, err := filepath.Abs(filepath.Join(d, name))
		if err != nil {
			continue
		}
		if st, err := os.Stat(path); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", os.ErrNotExist
}
