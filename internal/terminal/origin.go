package terminal

import (
	"fmt"
	"path/filepath"

	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// ForkedText says in a few words where a run comes from; "" = it is no fork.
func ForkedText(o *persistence.Origin) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf("%s at step %d [%d]", o.ID, o.Step, o.Seq)
}

// AddOrigin adds to an object where a run comes from, if it is a fork, what started it, if that was not a user,
// the time of its schedule, its project, if that may be another one, and what workers do about it, if it was
// submitted and no process owns it.
func AddOrigin(m *value.Map, r persistence.Run) {
	if r.Project != "" {
		m.Set("project", r.Project)
	}
	if by := inspect.StartedBy(r); by != "" {
		m.Set("started_by", by)
	}
	if at := inspect.ScheduledAt(r); at != "" {
		m.Set("scheduled_at", at)
	}
	if r.Origin != nil {
		m.Set("forked_from", r.Origin.Map())
	}
	if text := inspect.PlacementText(r); text != "" {
		p := r.Placement
		m.Set("placement", value.NewMap("queue", p.Queue, "labels", Texts(p.Labels), "open", p.Open, "heard", p.Heard, "carried", r.Carried(), "text", text))
	}
}

// InProject says in which project a run is, if it may be another one than this.
func InProject(r persistence.Run) (note []string) {
	if r.Project != "" {
		note = append(note, "in "+r.Project)
	}
	return note
}

// AddDamage adds to an object what is known to be damaged of the record of a run, and not accepted.
func AddDamage(m *value.Map, r persistence.Run) *value.Map {
	if len(r.Damage) > 0 {
		m.Set("damage", Texts(r.Damage))
	}
	return m
}

// DamageNote returns a note for a table of runs, none where nothing is damaged.
func DamageNote(r persistence.Run) (note []string) {
	if len(r.Damage) > 0 {
		note = append(note, "damaged record (loops status says where)")
	}
	return note
}

// ElsewhereText says whose run it is, and how to get at it.
func ElsewhereText(e *persistence.ElsewhereError) string {
	there := ""
	if filepath.IsAbs(e.Project) {
		there = ": use loops -C " + humanize.ShellWord(e.Project)
	}
	return e.Error() + there + "; to look at it from here, give --all-projects; to continue it in this project: loops resume --here " + humanize.ShellWord(string(e.ID))
}

// ObstacleObject is what a waiter waits for.
func ObstacleObject(o persistence.Obstacle) any {
	return value.NewMap("loop", OrNull(o.Loop), "instance_id", OrNull(string(o.Run)), "queue_id", OrNull(o.Waiter), "path", OrNull(o.Path), "since", Stamp(o.Since))
}
