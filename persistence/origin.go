package persistence

import (
	"fmt"

	"loops/fsm/value"
	"loops/persistence/snapshot"
)

// An Origin says which run another one was forked from, and where. It never changes.
type Origin struct {
	ID    ID
	RunID string
	Step  int    // with which the fork began
	Seq   uint64 // of the last event before that step
}

// Map is the origin as it is recorded.
func (o *Origin) Map() *value.Map {
	return value.NewMap("instance_id", string(o.ID), "run_id", o.RunID, "step", int64(o.Step), "seq", int64(o.Seq))
}

// ParseOrigin reads what Map made; nil is no origin.
func ParseOrigin(v any) (*Origin, error) {
	if v == nil {
		return nil, nil //nolint:nilnil // most runs have none
	}
	o := &Origin{}
	return o, snapshot.TakeParts(v, map[string]func(any) error{
		"instance_id": func(v any) error { return snapshot.TakeText(&o.ID, v) },
		"run_id":      func(v any) error { return snapshot.TakeText(&o.RunID, v) },
		"step":        func(v any) error { return snapshot.TakeInt(&o.Step, v) },
		"seq":         func(v any) error { return snapshot.TakeInt(&o.Seq, v) },
	})
}

func (o *Origin) String() string { return fmt.Sprintf("%s at step %d", o.ID, o.Step) }
