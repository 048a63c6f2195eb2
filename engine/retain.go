package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"loops/engine/project"
	"loops/persistence"
)

// retainPatience is how long retention may take when the run beside which it works has ended.
const retainPatience = 3 * time.Second

// Retained says what the retention of the settings removed beside a run, at most once a day in a project.
type Retained struct {
	Run     persistence.ID // of this process
	Removed []Removed
	Late    bool  // the run has ended, and there was more to remove than there was time
	Err     error // what went wrong; nil = nothing. The run is as it would have been
}

func (n Retained) about() persistence.ID { return n.Run }

// retain begins to remove what the settings select, beside a run that this process carries. It has a store of its own,
// and is nothing that could keep the run from continuing or change how it ends. The function that it returns ends it:
// after a while if patient, else as soon as the run that it removes is whole or gone. The rest then is for a later
// run.
func (e *Engine) retain(run persistence.ID, tell func(Notice)) (end func(patient bool)) {
	conf, _ := e.p.Declared() // the run began, so there are no mistakes in it
	policy, wanted := configured(conf)
	if !wanted {
		return func(bool) {}
	}
	ctx, stop := context.WithCancel(context.Background())
	var late atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		if n := e.retention(ctx, policy, run, &late); n.Late || len(n.Removed) > 0 || n.Err != nil {
			tell(n)
		}
	}()
	return func(patient bool) {
		if patient {
			select {
			case <-done:
			case <-time.After(retainPatience):
				late.Store(true)
			}
		}
		stop()
		<-done
	}
}

// retention applies a policy if that is due, and returns what there is to report. Its end is no mistake, and neither is
// that there was too little time; late is set when there is no more.
func (e *Engine) retention(ctx context.Context, policy Policy, run persistence.ID, late *atomic.Bool) Retained {
	claim, err := claimRetention(e.p.RetentionStamp(), time.Now())
	if err != nil {
		err = fmt.Errorf("nothing was removed: %w", err)
	}
	if claim == nil {
		return Retained{Run: run, Err: err}
	}
	gone, err := e.applyPolicy(ctx, policy, run)
	short := ctx.Err() != nil
	if short {
		err = nil
	}
	released := claim.release(time.Now(), !short && err == nil)
	return Retained{Run: run, Removed: gone, Late: short && late.Load(), Err: several(err, released)}
}

// applyPolicy removes what a policy selects and returns it. The run of this process, which may not be on record yet,
// does not count.
func (e *Engine) applyPolicy(ctx context.Context, policy Policy, except persistence.ID) ([]Removed, error) {
	store, err := e.p.Records(ctx, false)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	_, unfinished := FinishRemovals(ctx, store)
	choice, err := choose(ctx, store, policy, except)
	if err != nil {
		return nil, several(unfinished, err)
	}
	gone, err := e.removeInTurn(ctx, store, chosen(choice), policy.MaxSize < 0)
	return gone, several(unfinished, err)
}

// removeInTurn removes runs one after the other, and measures each just before where its size is not known: what is cut
// short has got somewhere then.
func (e *Engine) removeInTurn(ctx context.Context, store *project.Records, todo []Removed,
	unknown bool,
) (gone []Removed, _ error) {
	var errs []error
	for i := range todo {
		one := todo[i : i+1]
		if unknown {
			if err := measure(ctx, store, entries(one)); err != nil {
				return gone, several(append(errs, store.Failed(err))...)
			}
		}
		went, err := e.remove(ctx, store, one)
		gone, errs = append(gone, went...), append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return gone, several(errs...)
}
