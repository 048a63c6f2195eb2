package worker

import (
	"encoding/json"
	"errors"
	"fmt"

	"loops/engine"
	"loops/internal/config"
	"loops/persistence"
)

// requestOf is what is asked of the process that carries a run, and where its files begin. unaccepted is why
// the definition that came with the run is not used, nil if none came or it is: then that of the checkout has
// to do.
func (w *worker) requestOf(p persistence.Placed) (r engine.Request, files *engine.FilesRequest, unaccepted, err error) {
	var start engine.StartRequest
	if err := json.Unmarshal(p.Request, &start); err != nil {
		return r, nil, nil, fmt.Errorf("what was submitted as run %s cannot be read: %w", p.Run, err)
	}
	// loops submit records both; without them any definition that is here would do
	if p.Hash == "" || start.Hash != p.Hash {
		return r, nil, nil,
			fmt.Errorf("what was submitted as run %s does not say which definition it is about: submit it again", p.Run)
	}
	start.Shipped, unaccepted, err = w.shipped(start.Shipped)
	if err != nil {
		return r, nil, nil, err
	}
	if f := start.Fork; f != nil && p.State.Status == persistence.Queued {
		f.Queued, f.Shipped, f.Lock, f.Over.Park = p.Run, start.Shipped, start.Lock, true
		return engine.Request{Fork: f}, start.Files, unaccepted, nil
	}
	if p.State.Status == persistence.Queued {
		start.Queued, start.Over.Park = p.Run, true
		return engine.Request{Start: &start}, start.Files, unaccepted, nil
	}
	again := &engine.ResumeRequest{Run: string(p.Run), Lock: start.Lock, Placed: true, Shipped: start.Shipped}
	again.Over.Park = true
	return engine.Request{Resume: again}, start.Files, unaccepted, nil
}

// shipped returns the definition that came with a run if this worker accepts it, and otherwise why not. One
// whose signature is of another definition is an error: nothing of the run is begun.
func (w *worker) shipped(s *engine.Shipped) (accepted *engine.Shipped, unaccepted, err error) {
	if s == nil {
		return nil, nil, nil
	}
	err = s.Signature.Verify([]byte(s.Text), w.accept.Keys)
	switch {
	case errors.Is(err, config.ErrForged):
		return nil, nil, errors.New("the definition that came with it was changed after it was signed")
	case w.accept.Mode != config.AcceptSigned:
		return nil, errors.New("it came signed by " + s.Signature.Key +
			", and dispatch.accept of this worker is not signed"), nil
	case err != nil:
		return nil, errors.New("it came signed by " + s.Signature.Key +
			", which is not in dispatch.keys of this worker"), nil
	}
	return s, nil, nil
}
