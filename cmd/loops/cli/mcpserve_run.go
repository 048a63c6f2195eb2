package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/handover"
	"loops/internal/mcpserver"
	"loops/internal/mcptools"
)

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
		case <-r.Ended:
		case <-timer.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("the call was cancelled; run %s is still running", info.ID)
		}
	}
	ended := false
	select {
	case <-r.Ended:
		ended = true
	default:
	}
	status, err := s.statusOf(ctx, info.ID)
	if err != nil {
		return nil, fmt.Errorf("run %s was started (pid %d), but how it stands cannot be told: %w", info.ID, r.Process.Pid, err)
	}
	answer := value.NewMap("instance_id", info.ID, "run_id", info.RunID, "pid", int64(r.Process.Pid), "ended", ended, "status", status)
	if ended {
		code, text := r.End()
		answer.Set("exit_code", int64(code))
		answer.Set("exit_meaning", exitText(code))
		if text = bytes.TrimSpace(text); len(text) > 0 {
			answer.Set("notes", said(string(text), code))
		}
	}
	return value.AppendJSON(nil, answer), nil
}

// start starts a run and returns when it is on record. bound has it end with this server, and log has what it says kept as run -b does.
func (s *served) start(ctx context.Context, request engine.Request, words []string, bound, log bool) (*handover.Child, handover.Start, error) {
	p, err := s.app.project()
	if err != nil {
		return nil, handover.Start{}, err
	}
	h := s.app.handOver(p, viewFlags{json: true}, request)
	h.Words, h.Log = s.command(words...), log
	c, start, err := h.Begin(ctx, s.runEnv(bound))
	if early, ok := errors.AsType[*handover.EarlyError](err); ok {
		return nil, start, errors.New(said(string(early.Said), early.Code))
	}
	if err == nil && bound {
		s.runs.Add(c)
	}
	return c, start, err
}
