package cli

import (
	"context"
	"errors"
	"strings"

	"loops/engine"
	"loops/internal/worker"
)

// projectLock is what a run locks by default.
var projectLock = lockFlags{limit: -1}.lock()

// begin starts a run for an agent.
func (s *served) begin(ctx context.Context, request engine.Request, words []string, bound bool) (*worker.Child,
	worker.ChildStart, error,
) {
	return s.start(ctx, request, words, bound, false)
}

// ended reports the result of the process of a run.
func ended(code int, text string) (meaning, notes string) {
	if text != "" {
		notes = said(text, code)
	}
	return exitText(code), notes
}

// start starts a run and returns when it is on record. bound has it end with this server, and log has what it
// says kept as run -b does.
func (s *served) start(ctx context.Context, request engine.Request, words []string, bound, log bool) (*worker.Child,
	worker.ChildStart, error,
) {
	p, err := s.app.project()
	if err != nil {
		return nil, worker.ChildStart{}, err
	}
	h := s.app.handOver(p, viewFlags{json: true}, request)
	h.Words, h.Log = s.command(words...), log
	c, start, err := h.Begin(ctx, s.runEnv(bound))
	if early, ok := errors.AsType[*worker.EarlyError](err); ok {
		text := engine.Lines{Texts: strings.Split(said(early.Text(), early.Code), "\n")}
		return nil, start, &engine.Refusal{
			Kind: engine.Failed, Text: engine.Text{Format: "%s", Args: []any{text}},
			Err: early,
		}
	}
	if err == nil && bound {
		s.runs.Add(c)
	}
	return c, start, err
}
