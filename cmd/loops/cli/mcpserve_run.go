package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"loops/engine"
	"loops/fsm/value"
	"loops/internal/mcpserver"
	"loops/internal/phrase"
)

// recordWait is how long a run may take until it is on record. A database can be slow.
const recordWait = time.Minute

// A startedRun is a run that an agent started: a process of this program.
type startedRun struct {
	process *os.Process
	ended   chan struct{} // closed when the process has
	code    int           // of its end; valid when ended is closed, as is
	stderr  []byte
}

// startedRuns are the runs that end with the server. It may be used by several goroutines at once.
type startedRuns struct {
	mu    sync.Mutex
	bound []*startedRun // guarded by mu
}

func (s *served) run(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	return s.begin(ctx, v, s.runArguments(v))
}

// resume continues a run, in a process of its own as well.
func (s *served) resume(ctx context.Context, v mcpserver.Values) (json.RawMessage, error) {
	args := s.command("resume", "--json")
	if n := v.Number("max_steps"); n > 0 {
		args = append(args, "--max-steps="+strconv.Itoa(n))
	}
	if more := v.Text("extend"); more != "" {
		args = append(args, "--extend="+more)
	}
	for _, name := range []string{"force", "rerun"} {
		if v.Flag(name) {
			args = append(args, "--"+name)
		}
	}
	for _, pair := range contextPairs(v) {
		args = append(args, "--context="+pair)
	}
	return s.begin(ctx, v, append(args, "--", v.Text("run")))
}

// begin starts the process of a run, and tells of the run when it is on record, or has ended.
func (s *served) begin(ctx context.Context, v mcpserver.Values, args []string) (json.RawMessage, error) {
	r, info, err := s.start(ctx, v, args)
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
			return nil, fmt.Errorf("the call was cancelled; run %s goes on", info.ID)
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
	answer := value.NewMap("instance_id", info.ID, "run_id", info.Run, "pid", int64(r.process.Pid), "ended", ended, "status", status)
	if ended {
		answer.Set("exit_code", int64(r.code))
		answer.Set("exit_meaning", exitText(r.code))
		if text := bytes.TrimSpace(r.stderr); len(text) > 0 {
			answer.Set("notes", said(string(text), r.code))
		}
	}
	return object(answer, nil)
}

// A runInfo is the first line of a run with --json.
type runInfo struct {
	Event string `json:"event"`
	ID    string `json:"instance_id"`
	Run   string `json:"run_id"`
}

// runArguments is the command line of a run.
func (s *served) runArguments(v mcpserver.Values) []string {
	args := s.command("run", "--json")
	for _, name := range []string{"budget", "host", "model", "permissions"} {
		if value := v.Text(name); value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	if n := v.Number("max_steps"); n > 0 {
		args = append(args, "--max-steps="+strconv.Itoa(n))
	}
	for _, pair := range contextPairs(v) {
		args = append(args, "--context="+pair)
	}
	args = append(args, "--", v.Text("name"))
	if v.Has("input") {
		args = append(args, v.Text("input"))
	}
	return args
}

// contextText is a context value as the flag takes it: a text as it is, anything else as JSON.
func contextText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// start starts a run and returns when it is on record.
func (s *served) start(ctx context.Context, v mcpserver.Values, args []string) (*startedRun, runInfo, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, runInfo{}, fmt.Errorf("this program cannot be found to start a run: %w", err)
	}
	cmd := exec.Command(self, handedOverName) //nolint:noctx // it outlives the call
	cmd.Dir, cmd.Env = s.app.Dir, s.runEnv(v.Flag("stop_with_server"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends the agent's group or terminal is not for the run
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, runInfo{}, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, runInfo{}, err
	}
	if err := (handover{args, s.app.Dir}).start(cmd); err != nil {
		return nil, runInfo{}, fmt.Errorf("the run cannot be started: %w", err)
	}
	r := &startedRun{process: cmd.Process, ended: make(chan struct{})}
	recorded := make(chan runInfo, 1)
	go r.watch(cmd, stdout, stderr, recorded) // until the run ends, or this process

	ctx, cancel := context.WithTimeout(ctx, recordWait)
	defer cancel()
	select {
	case info, ok := <-recorded:
		if ok {
			if v.Flag("stop_with_server") {
				s.runs.bind(r)
			}
			return r, info, nil
		}
		<-r.ended
		return nil, runInfo{}, errors.New(said(string(r.stderr), r.code))
	case <-ctx.Done():
		_ = cmd.Process.Signal(syscall.SIGTERM) // before it is on record that undoes it
		return nil, runInfo{}, fmt.Errorf("the run was not on record within %s and was stopped", phrase.Duration(recordWait))
	}
}

// watch reads what a run says until it has ended. The first event that it prints is on record.
func (r *startedRun) watch(cmd *exec.Cmd, stdout io.ReadCloser, stderr io.Reader, recorded chan<- runInfo) {
	defer close(r.ended)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(recorded)
		lines := bufio.NewReader(stdout)
		var info runInfo
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var event runInfo
			if json.Unmarshal(line, &event) == nil && event.Event == "run_info" {
				info = event
				continue
			}
			recorded <- info
			_ = stdout.Close() // the rest is in the records
			return
		}
	}()
	tail := &lastBytes{most: 8 << 10}
	_, _ = io.Copy(tail, stderr)
	<-read // Wait closes what is not read yet
	err := cmd.Wait()
	r.stderr, r.code = tail.kept, cmd.ProcessState.ExitCode()
	if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && state.Signaled() {
		r.code = 128 + int(state.Signal())
	} else if err != nil && succeeded(r.code) {
		r.code = kindCode(engine.Failed)
	}
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct {
	most int
	kept []byte
	lost int64 // bytes that were written before
}

func (l *lastBytes) Write(b []byte) (int, error) {
	l.kept = append(l.kept, b...)
	if over := len(l.kept) - l.most; over > 0 {
		l.kept = slices.Delete(l.kept, 0, over)
		l.lost += int64(over)
	}
	return len(b), nil
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
