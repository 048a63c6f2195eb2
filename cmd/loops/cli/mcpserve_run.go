package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/handover"
	"loops/internal/humanize"
	"loops/internal/mcpserver"
	"loops/internal/mcptools"
)

// recordWait is how long a run may take until it is on record. A database can be slow.
const recordWait = time.Minute

// A startedRun is a run that an agent started: a process of this program.
type startedRun struct {
	process *os.Process
	ended   chan struct{} // closed when the process has
	code    int           // of its end; valid when ended is closed, as is
	said    []byte        // the end of what it said
}

// startedRuns are the runs that end with the server. It may be used by several goroutines at once.
type startedRuns struct {
	mu    sync.Mutex
	bound []*startedRun // guarded by mu
}

// run starts a run, in a process of its own.
func (s *served) run(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	r := &engine.StartRequest{Loop: v.Text("name"), Context: mcptools.ContextPairs(v), Lock: projectLock}
	r.Over.MaxSteps = v.Number("max_steps")
	r.Over.Agents = project.Agents{Host: v.Text("host"), Model: v.Text("model"), Permissions: v.Text("permissions")}
	if err := setText(&r.Over.Budget, "budget", v); err != nil {
		return nil, err
	}
	if err := checkPermissions(r.Over.Agents.Permissions, ""); err != nil {
		return nil, err
	}
	words := append(overWords("run", v), "--", r.Loop)
	if v.Has("input") {
		input := v.Text("input")
		r.Input, words = &input, append(words, input)
	}
	return s.begin(ctx, v, engine.Request{Start: r}, words)
}

// resume continues a run, in a process of its own as well.
func (s *served) resume(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	r := &engine.ResumeRequest{Run: v.Text("run"), Context: mcptools.ContextPairs(v), Force: v.Flag("force"), Rerun: v.Flag("rerun"), Lock: projectLock}
	r.Over.MaxSteps = v.Number("max_steps")
	if err := setText(&r.Extend, "extend", v); err != nil {
		return nil, err
	}
	if r.Over.MaxSteps > 0 && r.Extend.By["steps"] > 0 {
		return nil, extendsAndSets("steps", "--max-steps", "")
	}
	return s.begin(ctx, v, engine.Request{Resume: r}, append(overWords("resume", v), "--", r.Run))
}

// projectLock is what a run locks where nobody says.
var projectLock = lockFlags{limit: -1}.lock()

// setText reads an argument in the notation of the flag of the same name, if it is there.
func setText(to pflag.Value, name string, v mcpserver.Values) error {
	text := v.Text(name)
	if text == "" {
		return nil
	}
	if err := to.Set(text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// overWords is the command that would do the same, with its flags, for messages.
func overWords(command string, v mcpserver.Values) []string {
	words := []string{command}
	for _, name := range []string{"budget", "host", "model", "permissions", "extend"} {
		if value := v.Text(name); value != "" {
			words = append(words, "--"+name+"="+value)
		}
	}
	if n := v.Number("max_steps"); n > 0 {
		words = append(words, "--max-steps="+strconv.Itoa(n))
	}
	for _, name := range []string{"force", "rerun"} {
		if v.Flag(name) {
			words = append(words, "--"+name)
		}
	}
	for _, pair := range mcptools.ContextPairs(v) {
		words = append(words, "--context="+pair)
	}
	return words
}

// begin starts the process of a run, and tells of the run when it is on record, or has ended.
func (s *served) begin(ctx context.Context, v mcpserver.Values, request engine.Request, words []string) (json.RawMessage, error) {
	r, info, err := s.start(ctx, request, words, v.Flag("stop_with_server"), false)
	if err != nil {
		return nil, err
	}
	if wait := v.Number("wait_seconds"); wait > 0 {
		timer := time.NewTimer(time.Duration(wait) * time.Second)
		defer timer.Stop()
		select {
		case <-r.ended:
		case <-timer.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("the call was cancelled; run %s is still running", info.ID)
		}
	}
	ended := false
	select {
	case <-r.ended:
		ended = true
	default:
	}
	status, err := s.statusOf(ctx, info.ID)
	if err != nil {
		return nil, fmt.Errorf("run %s was started (pid %d), but how it stands cannot be told: %w", info.ID, r.process.Pid, err)
	}
	answer := value.NewMap("instance_id", info.ID, "run_id", info.RunID, "pid", int64(r.process.Pid), "ended", ended, "status", status)
	if ended {
		answer.Set("exit_code", int64(r.code))
		answer.Set("exit_meaning", exitText(r.code))
		if text := bytes.TrimSpace(r.said); len(text) > 0 {
			answer.Set("notes", said(string(text), r.code))
		}
	}
	return value.AppendJSON(nil, answer), nil
}

// start starts a run and returns when it is on record. bound has it end with this server, and log has what it says kept as run -b does.
func (s *served) start(ctx context.Context, request engine.Request, words []string, bound, log bool) (*startedRun, backgroundStart, error) {
	p, err := s.app.project()
	if err != nil {
		return nil, backgroundStart{}, err
	}
	h := s.app.handOver(p, viewFlags{json: true}, request)
	h.Words, h.Log = s.command(words...), log
	c, err := h.Spawn(s.runEnv(bound))
	if err != nil {
		return nil, backgroundStart{}, fmt.Errorf("a process for the run cannot be started: %w", err)
	}
	r := &startedRun{process: c.Cmd.Process, ended: make(chan struct{})}
	recorded := make(chan backgroundStart, 1)
	go r.watch(c, recorded) // until the run ends, or this process

	ctx, cancel := context.WithTimeout(ctx, recordWait)
	defer cancel()
	select {
	case start, ok := <-recorded:
		if ok {
			if bound {
				s.runs.bind(r)
			}
			return r, start, nil
		}
		<-r.ended
		return nil, start, errors.New(said(string(r.said), r.code))
	case <-ctx.Done():
		_ = r.process.Signal(syscall.SIGTERM) // before it is on record that undoes it
		return nil, backgroundStart{}, fmt.Errorf("the run was not on record within %s and was stopped", humanize.Duration(recordWait))
	}
}

// watch tells when the run is on record, and reads what its process says until it has ended.
func (r *startedRun) watch(c *handover.Process, recorded chan<- backgroundStart) {
	defer close(r.ended)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(recorded)
		var start backgroundStart
		if json.NewDecoder(c.Report).Decode(&start) == nil { // what ends without a line was refused
			recorded <- start
		}
		_ = c.Report.Close()
	}()
	tail := &mcptools.LastBytes{Most: 8 << 10}
	_, _ = io.Copy(tail, c.Messages)
	<-read
	r.said, r.code = tail.Kept, c.Wait()
	_ = c.Messages.Close()
}

func (s *startedRuns) bind(r *startedRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound = append(s.bound, r)
}

// stopBound stops the runs that are to end with the server, and waits for them as long as loops stop does.
func (s *served) stopBound() {
	s.runs.mu.Lock()
	defer s.runs.mu.Unlock()
	for _, r := range s.runs.bound {
		select {
		case <-r.ended:
		default:
			_ = r.process.Signal(syscall.SIGTERM) // it may end just now
		}
	}
	limit := time.After(engine.StopGrace)
	for _, r := range s.runs.bound {
		select {
		case <-r.ended:
		case <-limit:
			return
		}
	}
}
