package cli

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/config"
	"loops/internal/phrase"
	"loops/internal/retention"
	"loops/internal/ui/progress"
	"loops/persistence"
)

// retainPatience is how long a run that has ended waits for what retention removes meanwhile.
const retainPatience = 3 * time.Second

// retain removes what the retention of the config lets go, at most once a day in a project, beside the run that this
// process is about to carry on. It has a store of its own, and is nothing that could keep the run from going on or
// change how it ends: what goes wrong is a note. The function it returns ends it: after a while if patient, else as
// soon as the run it is at is whole or gone. What is left then, a later run goes on with.
func (a *app) retain(ctx context.Context, p *project.Project, run persistence.ID, print progress.Printer, quiet bool) (end func(patient bool)) {
	conf, _ := p.Declared() // the run began, so there are no mistakes in it
	policy, wanted := retentionPolicy(conf)
	if !wanted {
		return func(bool) {}
	}
	claim, err := claimRetention(p.RetentionStamp(), time.Now())
	if err != nil {
		print.Note("loops: retention: nothing was removed: " + oneLine(err))
	}
	if claim == nil {
		return func(bool) {}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // the end of the run is not its end
	var late atomic.Bool                                        // the run has ended, and there was more to remove than it waits for
	done := make(chan struct{})
	go func() {
		defer close(done)
		gone, err := a.applyRetention(ctx, p, policy, run)
		short := ctx.Err() != nil
		if short {
			err = nil // that it was ended is no mistake
		}
		if text := retainedText(gone, short && late.Load()); text != "" && !quiet {
			print.Note(text)
			a.treesLeft(context.WithoutCancel(ctx), p, gone, func(lines []string) { progress.NoteLines(print, "", lines) })
		}
		if err = errors.Join(err, claim.release(time.Now(), !short)); err != nil {
			print.Note("loops: retention: " + oneLine(err))
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

// retentionPolicy is what the config says of runs that may go, and whether it says anything.
func retentionPolicy(c *config.Config) (p retention.Policy, wanted bool) {
	r := c.Retention
	if r == (config.Retention{}) {
		return p, false
	}
	p = retention.Policy{KeepLast: r.KeepLast, OlderThan: r.OlderThan, MaxSize: -1}
	if r.MaxSize > 0 {
		p.MaxSize = r.MaxSize
	}
	return p, true
}

// configuredRetention is what the config says of runs that may go, for a command that carries on no run.
func (a *app) configuredRetention() (policy retention.Policy, wanted bool, err error) {
	p, err := a.project()
	if err != nil {
		return policy, false, err
	}
	c, wrong := p.Declared()
	if about := wrong.About("retention"); len(about) > 0 {
		return policy, false, &project.SettingsError{Project: p, About: "retention", Problems: about}
	}
	policy, wanted = retentionPolicy(c)
	return policy, wanted, nil
}

// applyRetention removes what a policy lets go and returns it. The run of this process, which may not be on record yet, does
// not count.
func (a *app) applyRetention(ctx context.Context, p *project.Project, policy retention.Policy, except persistence.ID) ([]removal, error) {
	store, err := p.Records(ctx, false)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	_, unfinished := engine.FinishRemovals(ctx, store)
	choice, err := chooseRuns(ctx, store, policy, except)
	if err != nil {
		return nil, joined([]error{unfinished, err})
	}
	gone, err := removeInTurn(ctx, store, removals(choice), policy.MaxSize < 0)
	return gone, joined([]error{unfinished, err})
}

// removeInTurn removes runs one after the other, and measures each just before where its size is not known: what is cut
// short has got somewhere then.
func removeInTurn(ctx context.Context, store *project.Records, todo []removal, unknown bool) (gone []removal, _ error) {
	var errs []error
	for i := range todo {
		one := todo[i : i+1]
		if unknown {
			if err := measure(ctx, store, one); err != nil {
				return gone, joined(append(errs, store.Failed(err)))
			}
		}
		went, err := removeRuns(ctx, one, store)
		gone = append(gone, went...)
		if err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return gone, joined(errs)
}

// chooseRuns applies a policy to the runs that are recorded, but for one. Their sizes are found out only where it asks for
// them.
func chooseRuns(ctx context.Context, store *project.Records, policy retention.Policy, except persistence.ID) (retention.Choice, error) {
	recorded, err := store.Runs(ctx, persistence.Query{})
	if err != nil {
		return retention.Choice{}, store.Failed(err)
	}
	var runs []retention.Run
	for _, r := range project.Current(recorded) {
		if r.ID == except {
			continue
		}
		run := retention.Run{Run: r, Live: project.Alive(r) || r.Held}
		if policy.MaxSize >= 0 {
			if run.Bytes, err = store.Size(ctx, r.ID); err != nil && !errors.Is(err, persistence.ErrNotFound) {
				return retention.Choice{}, store.Failed(err)
			}
		}
		runs = append(runs, run)
	}
	return policy.Choose(runs, time.Now()), nil
}

// removals are the runs that a choice lets go.
func removals(c retention.Choice) (todo []removal) {
	for _, r := range c.Go {
		todo = append(todo, removal{r.Run, r.Bytes})
	}
	return todo
}

// retainedText says what went and, where the time was too short, who removes the rest; "" where there is nothing to say.
func retainedText(gone []removal, late bool) string {
	const rest = "loops prune does it at once, a later run goes on with it."
	switch {
	case len(gone) == 0 && late:
		return "Retention had no time to remove anything: " + rest
	case len(gone) == 0:
		return ""
	}
	text := fmt.Sprintf("Retention removed %s, %s.", phrase.Count(len(gone), "run"), phrase.Bytes(total(gone)))
	if late {
		text += " There may be more: " + rest
	}
	return text
}
