package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/confine"
	"loops/fsm/value"
	"loops/internal/api"
)

// run starts a run, in a process of its own.
func (h *Host) run(ctx context.Context, v Values) (json.RawMessage, error) {
	if err := h.checkNames(v); err != nil {
		return nil, err
	}
	r := &engine.StartRequest{Loop: v.Text("name"), Context: ContextPairs(v), Lock: projectLock}
	r.Over.MaxSteps = v.Number("max_steps")
	r.Over.Agents = project.Agents{Host: v.Text("host"), Model: v.Text("model"), Permissions: v.Text("permissions")}
	if r.Over.Sandbox = v.Text("sandbox"); r.Over.Sandbox != "" {
		if _, err := confine.Parse(r.Over.Sandbox); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	if err := setText(&r.Over.Budget, "budget", v); err != nil {
		return nil, err
	}
	switch p := r.Over.Agents.Permissions; p {
	case "", fsm.PermissionsSkip, project.PermissionsHost:
	default:
		return nil, fmt.Errorf("permissions %q: expected %s or %s", p, fsm.PermissionsSkip, project.PermissionsHost)
	}
	words := append(overWords("run", v), "--", r.Loop)
	if v.Has("input") {
		input := v.Text("input")
		r.Input, words = &input, append(words, input)
	}
	return h.begin(ctx, v, engine.Request{Start: r}, words)
}

// resume continues a run, in a process of its own as well.
func (h *Host) resume(ctx context.Context, v Values) (json.RawMessage, error) {
	if err := h.checkNames(v); err != nil {
		return nil, err
	}
	r := &engine.ResumeRequest{
		Run: v.Text("run"), Context: ContextPairs(v), Force: v.Flag("force"), Rerun: v.Flag("rerun"), Lock: projectLock,
		RetryFailed: v.Flag("retry_failed"), From: v.Text("from"), Definition: v.Text("definition"),
	}
	if r.Definition != "" && r.Definition != engine.RecordedDefinition {
		return nil, fmt.Errorf("definition: %q; expected %s", r.Definition, engine.RecordedDefinition)
	}
	r.Over.MaxSteps = v.Number("max_steps")
	if err := setText(&r.Extend, "extend", v); err != nil {
		return nil, err
	}
	if r.Over.MaxSteps > 0 && r.Extend.By["steps"] > 0 {
		return nil, errors.New("extend steps and max_steps exclude each other: one raises the limit, the other sets it")
	}
	return h.begin(ctx, v, engine.Request{Resume: r}, append(overWords("resume", v), "--", r.Run))
}

// checkNames refuses names of loops that lead out of the project.
func (h *Host) checkNames(v Values) error {
	s, err := h.Session()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.checkNames(v); err != nil {
		return s.InWords(err)
	}
	return nil
}

// projectLock is what a run locks by default.
var projectLock = engine.Lock{Limit: -1}

// setText reads an argument in the notation of the flag of the same name, if it is there.
func setText(to interface{ Set(text string) error }, name string, v Values) error {
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
func overWords(command string, v Values) []string {
	words := []string{command}
	for _, name := range []string{"budget", "host", "model", "permissions", "sandbox", "extend", "from", "definition"} {
		if value := v.Text(name); value != "" {
			words = append(words, "--"+name+"="+value)
		}
	}
	if n := v.Number("max_steps"); n > 0 {
		words = append(words, "--max-steps="+strconv.Itoa(n))
	}
	for _, name := range []string{"force", "rerun", "retry_failed"} {
		if v.Flag(name) {
			words = append(words, "--"+strings.ReplaceAll(name, "_", "-"))
		}
	}
	for _, pair := range ContextPairs(v) {
		words = append(words, "--context="+pair)
	}
	return words
}

// begin starts the process of a run, and returns the run when it is on record, or has ended.
func (h *Host) begin(ctx context.Context, v Values, request engine.Request, words []string) (json.RawMessage, error) {
	r, info, err := h.Begin(ctx, request, words, v.Flag("stop_with_server"))
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
	status, err := h.statusOf(ctx, info.ID)
	if err != nil {
		return nil, fmt.Errorf("run %s was started (pid %d), but its status cannot be read: %w", info.ID,
			r.Process.Pid, err)
	}
	answer := api.StartedRun{Instance: info.ID, RunID: info.RunID, PID: r.Process.Pid, Ended: ended, Status: status}
	if ended {
		code, text := r.End()
		meaning, notes := h.Ended(code, string(bytes.TrimSpace(text)))
		answer.ExitCode, answer.Meaning, answer.Notes = &code, &meaning, notes
	}
	return value.AppendJSON(nil, answer), nil
}

// statusOf returns the status of a run.
func (h *Host) statusOf(ctx context.Context, run string) (any, error) {
	session, err := h.Session()
	if err != nil {
		return nil, err
	}
	defer session.Close()
	status, err := session.Status(ctx, run)
	if err == nil {
		err = status.Unread()
	}
	if err != nil {
		return nil, session.InWords(err)
	}
	return status.Object(), nil
}
