package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"loops/engine/project"
	"loops/internal/config"
	"loops/persistence"
)

// ErrNoPolicy means that the settings of a project do not say which runs may go.
var ErrNoPolicy = errors.New("the settings have no retention")

// A PruneRequest asks that runs go which ended long ago, or the oldest.
type PruneRequest struct {
	Policy *Policy // nil = what the settings of the project say
	DryRun bool    // remove nothing
}

// Pruned is what Prune removed, and what stays.
type Pruned struct {
	Policy Policy
	Gone   []Removed // or those that would go
	Stay   int
	Bytes  int64 // that those take that stay; known where the policy has a MaxSize
	Kept   Kept
}

// Prune removes the runs that a policy selects, never one that a live process owns, that can be resumed or that cannot
// be read. It returns what was done also where something failed, and nil where nothing was chosen. Removals that
// processes which died had begun come to their end first. The error is [ErrNoPolicy] where nothing says what may go,
// and a *project.SettingsError where the settings that do have mistakes.
func (e *Engine) Prune(ctx context.Context, r PruneRequest) (*Pruned, error) {
	policy, err := e.policy(r)
	if err != nil {
		return nil, err
	}
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	var finished []Removed
	var unfinished error
	if !r.DryRun {
		finished, unfinished = finishRemovals(ctx, store)
	}
	choice, err := choose(ctx, store, policy, "")
	if err != nil {
		return nil, several(err, unfinished)
	}
	gone := chosen(choice)
	if policy.MaxSize < 0 {
		if err := measure(ctx, store, entries(gone)); err != nil {
			return nil, several(store.Failed(err), unfinished)
		}
	}
	if !r.DryRun {
		gone, err = e.remove(ctx, store, gone)
	}
	stay := choice.Stay + len(choice.Go) - len(gone)
	return &Pruned{policy, append(finished, gone...), stay, choice.Bytes, choice.Kept}, several(unfinished, err)
}

// policy is the one of a request, or that of the settings.
func (e *Engine) policy(r PruneRequest) (Policy, error) {
	if r.Policy != nil {
		return *r.Policy, nil
	}
	c, wrong := e.p.Declared()
	if about := wrong.About("retention"); len(about) > 0 {
		return Policy{}, &project.SettingsError{Project: e.p, About: "retention", Problems: about}
	}
	policy, wanted := configured(c)
	if !wanted {
		return Policy{}, ErrNoPolicy
	}
	return policy, nil
}

// configured is what the settings say of runs that may go, and whether they say anything.
func configured(c *config.Config) (p Policy, wanted bool) {
	r := c.Retention
	if r == (config.Retention{}) {
		return p, false
	}
	p = Policy{KeepLast: r.KeepLast, OlderThan: r.OlderThan, MaxSize: -1}
	if r.MaxSize > 0 {
		p.MaxSize = r.MaxSize
	}
	return p, true
}

// choose applies a policy to the runs that are recorded, but for one. Their sizes are found out only where it
// asks for them.
func choose(ctx context.Context, store *project.Records, policy Policy, except persistence.ID) (Choice, error) {
	var runs []AgedRun
	for r, err := range project.EachCurrent(store.Each(ctx, persistence.Query{})) {
		if err != nil {
			return Choice{}, store.Failed(err)
		}
		if r.ID != except {
			runs = append(runs, AgedRun{entryOf(&r), alive(r) || r.Held, r.Resumable})
		}
	}
	if policy.MaxSize >= 0 {
		all := make([]*RunEntry, len(runs))
		for i := range runs {
			all[i] = &runs[i].RunEntry
		}
		if err := measure(ctx, store, all); err != nil {
			return Choice{}, store.Failed(err)
		}
	}
	return policy.Choose(runs, time.Now()), nil
}

// entryOf returns the entry of a run, with the bytes that its listing has. It holds nothing that the run was read from.
func entryOf(r *persistence.Run) RunEntry {
	e := RunEntry{
		ID: persistence.ID(strings.Clone(string(r.ID))), Loop: strings.Clone(r.Loop), Status: r.Status,
		StartedAt: r.StartedAt, UpdatedAt: r.UpdatedAt, Bytes: r.Bytes,
	}
	if r.Options.Value(treeOption) != nil {
		e.options = r.Options
	}
	return e
}

// chosen are the runs that a choice removes.
func chosen(c Choice) (todo []Removed) {
	todo = make([]Removed, 0, len(c.Go))
	for _, r := range c.Go {
		todo = append(todo, Removed{RunEntry: r.RunEntry})
	}
	return todo
}
