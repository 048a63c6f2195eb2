package mcptools

import (
	"context"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/mcpserver"
	"loops/internal/ui"
	"loops/persistence"
)

// EventsPage returns events of a run, from one on.
func EventsPage(ctx context.Context, store *project.Records, run persistence.Run, v mcpserver.Values) (*value.Map, error) {
	next, size, more := int64(v.Number("after")), 0, false
	events, damage := []any{}, []any{}
	for e, problem := range store.Events(ctx, run.ID, uint64(next)) {
		if problem != nil {
			if !project.IsDamage(problem) {
				return nil, problem
			}
			if len(damage) < 10 {
				damage = append(damage, problem.Error())
			}
			continue
		}
		if kind := v.Text("event"); kind == "" || e.Kind == kind {
			if more = len(events) == v.Number("limit") || size > mcpEventBytes; more {
				break
			}
			events = append(events, ui.EventObject(e))
			size += len(value.AppendJSON(nil, events[len(events)-1]))
		}
		next = int64(e.Seq)
	}
	answer := value.NewMap("instance_id", string(run.ID), "events", events, "next_after", next, "more", more)
	if len(damage) > 0 {
		answer.Set("damage", damage)
	}
	return answer, nil
}
