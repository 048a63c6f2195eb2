package trigger

import (
	"context"
	"errors"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/humanize"
)

// wakePause is how often a waker looks for runs that are due. A look takes longer the more runs there are; it
// takes a tenth of the time at most.
const wakePause = 5 * time.Second

// A Waker wakes the parked runs of one project when they can continue, so that a run that waits needs no process.
type Waker struct {
	Open  func() (*project.Project, error) // opens the project again
	Begin Begin
	Say   func(string) // gets each run that was woken, and what is wrong, once; nil = not called

	said string
}

// Run wakes runs until ctx ends.
func (w *Waker) Run(ctx context.Context) {
	for {
		began := time.Now()
		if err := w.wake(ctx); err != nil && ctx.Err() == nil && err.Error() != w.said {
			w.said = err.Error()
			w.say(humanize.OneLine(err))
		}
		select {
		case <-time.After(max(wakePause, 9*time.Since(began))):
		case <-ctx.Done():
			return
		}
	}
}

func (w *Waker) wake(ctx context.Context) error {
	p, err := w.Open()
	if err != nil || !p.HasRecords() {
		return err
	}
	r, err := p.Records(ctx, false)
	if _, none := errors.AsType[*project.NoDatabaseError](err); none {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	woken, err := WakeDue(ctx, r, false, w.Begin)
	for _, d := range woken {
		w.say("run " + string(d.Run.ID) + " was woken: " + d.Why)
	}
	return err
}

// WakeDue has the parked runs of a project continue that can, or with only nothing but finds them, and returns
// them; see [engine.DueRuns] and [engine.Wake].
func WakeDue(ctx context.Context, r *project.Records, only bool, begin Begin) (due []engine.Due, err error) {
	var answered []string
	if !only {
		answered, err = engine.Probe(ctx, r)
	}
	due, wrong := engine.DueRuns(ctx, r, time.Now(), answered)
	if only {
		return due, wrong
	}
	woken, failed := engine.Wake(ctx, due, func(ctx context.Context, request engine.Request) error {
		_, err := begin(ctx, request, []string{"resume", request.Resume.Run, "--park"})
		return err
	})
	return woken, errors.Join(err, wrong, failed)
}

func (w *Waker) say(text string) {
	if w.Say != nil {
		w.Say(text)
	}
}
