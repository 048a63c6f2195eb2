package inspect

import (
	"strings"

	"loops/persistence"
)

// SuspendedBy returns what a run waits for until a person does something, as loops unblock is given it; "" =
// nothing, or it is not known. A submitted run whose files no worker could fetch because of that is queued still.
func SuspendedBy(r persistence.Run) string {
	if r.Status != persistence.Queued {
		return r.SuspendedBy
	}
	if r.Placement == nil {
		return ""
	}
	return UnfetchedBy(r.Placement.Note)
}

// PlacementText returns what workers do about a submitted run that no process owns; "" = nothing.
func PlacementText(r persistence.Run) string {
	p := r.Placement
	if p == nil || r.Held && !r.Lapsed {
		return ""
	}
	worker := "worker of queue " + p.Queue
	if len(p.Labels) > 0 {
		worker += " with " + strings.Join(p.Labels, ", ")
	}
	note := strings.TrimRight(p.Note, ".")
	switch {
	case !p.Open && (note == "" || !r.Resumable):
		return ""
	case !p.Open:
		return "no worker takes it any more: " + note
	case !r.Due():
		return ""
	case !p.Heard:
		return "it waits for a " + worker + ", and none is heard of"
	case p.Waits:
		return "a " + worker + " continues it when what it waits for has come"
	case UnfetchedBy(p.Note) != "":
		return p.Note
	case note != "":
		return "no worker could take it yet, and it is tried again: " + note
	case r.Status == persistence.Queued:
		return "it waits for a " + worker
	}
	return "a " + worker + " continues it"
}
