package app

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/persistence"
)

// Nothing matches a name that is mistyped, which must not look like a run in which nothing happened. These are
// asked only where nothing matched.

// UnknownState is an error where neither the run nor its loop has a state of this name. The help on see says more.
func UnknownState(ctx context.Context, f project.Finder, run persistence.Run, name string, see engine.Operation) error {
	main := RulebookOf(ctx, f, run).Main()
	if main == nil {
		return nil // its states are not known
	}
	states := slices.Clone(main.Order)
	nests := false // states of sub-loops that were never entered are not known
	for _, s := range main.States {
		nests = nests || s.Loop != ""
	}
	for e, err := range f.Store.EventsOf(ctx, run, 0) {
		if state, ok := e.Get("state").(string); err == nil && ok && !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	suggestion := humanize.DidYouMean(name, states)
	if slices.Contains(states, name) || nests && suggestion == "" {
		return nil
	}
	if suggestion == "" {
		suggestion = "; it has " + humanize.List(states)
	}
	return engine.Misuse(see, "%s: loop %s has no such state%s",
		engine.Setting{Name: "state", Value: humanize.Quote(name)}, run.Loop, suggestion)
}

// UnknownStateOfAny is an error where no loop of the project, none of whose runs are recorded, and no run that
// was looked at has a state of this name. recorded are the states that those runs are in.
func UnknownStateOfAny(ctx context.Context, f project.Finder, recorded []string, name string,
	see engine.Operation,
) error {
	states := slices.Clone(recorded)
	lib, err := f.Project.Library()
	if err != nil {
		return err
	}
	entries, err := lib.Files.List(f.Project.Loops)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.Project.CannotOpen(err)
	}
	more, err := CatalogOnly(lib, entries)
	if err != nil {
		return err
	}
	unread, files := false, map[string]bool{} // states of files that cannot be read are not known
	for _, e := range append(entries, more...) {
		l := lib.Files.Draft(e.Path)
		if files[e.Loop] = l != nil; l == nil {
			unread = true
			continue
		}
		states = append(states, l.Order...)
	}
	runs, err := f.Store.Runs(ctx, persistence.Query{Last: true})
	if err != nil {
		return f.Store.Failed(err)
	}
	for _, r := range project.Current(runs) {
		if files[r.Loop] {
			continue // of its definition only the states that are gone would be new
		}
		if main := RulebookOf(ctx, f, r).Main(); main != nil {
			states = append(states, main.Order...)
		}
	}
	slices.Sort(states)
	states = slices.Compact(states)
	hint := humanize.DidYouMean(name, states)
	if len(states) == 0 || slices.Contains(states, name) || unread && hint == "" {
		return nil
	}
	return engine.Misuse(see, "%s: no loop and no run has such a state%s",
		engine.Setting{Name: "state", Value: humanize.Quote(name)}, hint)
}

// UnknownEvent is an error where there is no such kind of event. Runs of little-loops may have kinds of their own.
func UnknownEvent(ctx context.Context, f project.Finder, run persistence.Run, kind string, see engine.Operation) error {
	var recorded []string // kinds of this run, in the order in which they came
	for e, err := range f.Store.EventsOf(ctx, run, 0) {
		if err == nil && !slices.Contains(recorded, e.Kind) {
			recorded = append(recorded, e.Kind)
		}
	}
	kinds := slices.Concat(fsm.EventKinds, recorded)
	if slices.Contains(kinds, kind) {
		return nil
	}
	hint := humanize.DidYouMean(kind, kinds)
	if hint == "" && len(recorded) > 0 {
		hint = "; run " + string(run.ID) + " has " + humanize.List(recorded)
	}
	return engine.Misuse(see, "%s: there is no such kind of event%s",
		engine.Setting{Name: "event", Value: humanize.Quote(kind)}, hint)
}

// PastTheEnd is an error where a run has no event with a number as high as this one.
func PastTheEnd(ctx context.Context, f project.Finder, run persistence.Run, after uint64, see engine.Operation) error {
	var last uint64
	err := f.Store.Newest(ctx, run.ID, func(e fsm.Event) bool {
		last = e.Seq
		return last == 0
	})
	if err != nil || last == 0 || after <= last {
		return nil //nolint:nilerr // reading the events reports it
	}
	return engine.Misuse(see, "%s: the last event of run %s is %d",
		engine.Setting{Name: "after", Value: strconv.FormatUint(after, 10)}, run.ID, last)
}
