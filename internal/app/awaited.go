package app

import (
	"context"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/persistence"
)

// AwaitedEvents returns the names of the events that states of a run's loop wait for; nil where that is not
// known: one of them is made by a template, or a sub-loop may wait for others.
func AwaitedEvents(ctx context.Context, f project.Finder, run persistence.Run) []string {
	l := RulebookOf(ctx, f, run).Main()
	if l == nil {
		return nil
	}
	names := []string{}
	var add func(st *fsm.State) bool
	add = func(st *fsm.State) bool {
		if st.Loop != "" || st.Await != nil && strings.Contains(st.Await.Event, "${") {
			return false
		}
		if st.Await != nil && st.Await.Event != "" && !slices.Contains(names, st.Await.Event) {
			names = append(names, st.Await.Event)
		}
		return st.Branches == nil || !slices.ContainsFunc(st.Branches.List, func(b *fsm.Branch) bool {
			return !add(b.State)
		})
	}
	for _, st := range l.States {
		if !add(st) {
			return nil
		}
	}
	slices.Sort(names)
	return names
}
