package view

import (
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// ListRows returns loops as lines of a table, with the last run of each by the name in its file, and what live
// runs wait for.
func ListRows(entries []loopfile.Entry, last map[string]persistence.Run, waits map[persistence.ID]*fsm.Wait) [][]string {
	out := [][]string{{"LOOP", "LAST RUN", "DESCRIPTION"}}
	for _, e := range entries {
		ran := "-"
		if r, ok := last[e.Loop]; ok {
			ran = inspect.OutcomeNow(r, waits[r.ID]) + " " + strings.Join(append([]string{Since(cmp.Or(r.UpdatedAt, r.StartedAt))}, terminal.DamageNote(r)...), ", ")
		}
		about := humanize.FirstLine(e.Title)
		if e.Problem != "" {
			about = "cannot run: " + humanize.FirstLine(e.Problem)
		}
		if e.Category != "" {
			about = "[" + e.Category + "] " + about
		}
		out = append(out, []string{e.Name, ran, about})
	}
	return out
}

// LastRunObject is the last run of a loop for a program.
func LastRunObject(r persistence.Run, waits *fsm.Wait) any {
	return terminal.AddDamage(value.NewMap("instance_id", string(r.ID), "run_id", r.RunID, "status", terminal.OrNull(string(r.Status)), "outcome", inspect.OutcomeNow(r, waits),
		"reason", terminal.OrNull(inspect.Reason(r)), "ignored_failures", terminal.OrNull(r.Ignored), "merge", terminal.OrNull(r.Merge), "started_at", terminal.Stamp(r.StartedAt), "updated_at", terminal.Stamp(r.UpdatedAt)), r)
}

// EntryObject is a loop of a library for a program.
func EntryObject(e loopfile.Entry) *value.Map {
	m := value.NewMap(
		"name", e.Name, "loop", cmp.Or(e.Loop, e.Name), "path", e.Path, "file", e.Path, "description", e.Title, "category", terminal.OrNull(e.Category), "labels", terminal.Texts(e.Labels),
		"visibility", terminal.OrNull(e.Visibility),
	)
	if e.Problem != "" {
		m.Set("problem", e.Problem)
	}
	return m
}

// Since is how long ago a time was, for a table.
func Since(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return humanize.Ago(time.Since(t))
}

// StatusObject is a run as one flat JSON object, in the words of the state file.
func StatusObject(p *project.Project, store *project.Records, v *inspect.Status) *value.Map {
	r := v.Run
	held := project.Alive(r)
	var pid any
	if r.Owner.PID != 0 {
		pid = int64(r.Owner.PID)
	}
	m := value.NewMap(
		"loop", r.Loop, "loop_name", r.Loop, "run_id", r.RunID, "instance_id", string(r.ID), "status", terminal.OrNull(string(r.Status)), "outcome", v.StatusText(),
		"current_state", r.State, "iteration", int64(r.Step), "iteration_count", int64(r.Passes), "max_steps", OrNone(r.MaxSteps),
		"started_at", terminal.Stamp(r.StartedAt), "updated_at", terminal.Stamp(r.UpdatedAt), "elapsed_ms", inspect.Elapsed(r).Milliseconds(),
		"duration_ms", inspect.Elapsed(r).Milliseconds(),
		"pid", pid, "alive", held, "owner", ownerObject(r.Owner), "archived", r.Archived, "resumable", r.Resumable && !held,
		"terminated_by", terminal.OrNull(r.Ended), "error", terminal.OrNull(r.Error), "message", terminal.OrNull(r.Message), "continuation_prompt", terminal.OrNull(r.Continuation),
		"reconciled_at", terminal.Stamp(r.Reconciled), "file", terminal.OrNull(r.File), "events_file", terminal.OrNull(r.Events),
		"run_dir", filepath.Join(p.Loops, "runs", string(r.ID))+"/",
	)
	terminal.AddOrigin(m, r)
	AddTree(m, r)
	if !store.Files {
		m.Set("store", store.Name)
	}
	terminal.AddDamage(m, r)
	return m
}

// AddState sets what the state file of a run says besides [StatusObject], with the same names, and what little-loops
// shows of a run that it lists. What is not known is null.
func AddState(m *value.Map, store *project.Records, v *inspect.Status) {
	m.Set("captured", nil)
	m.Set("prev_result", nil)
	m.Set("last_result", nil)
	if s := v.Memory; s != nil {
		m.Set("captured", orEmpty(s.Captured))
		m.Set("prev_result", orNull(s.PrevResult))
		m.Set("last_result", orNull(s.LastResult))
	}
	m.Set("accumulated_ms", v.Run.Elapsed.Milliseconds())
	m.Set("log_file", terminal.OrNull(store.LogOf(v.Run)))
	m.Set("pid_source", terminal.OrNull(store.OwnerFrom(v.Run)))
	m.Set("last_event", nil)
	if e := v.Glance.Newest; e != nil {
		m.Set("last_event", strings.TrimSpace(e.Kind+"  "+EventDetail(inspect.Honest(*e, v.Run), terminal.Paint(false), false)))
	}
}

func orEmpty(m *value.Map) *value.Map {
	if m == nil {
		return value.NewMap()
	}
	return m
}

func orNull(m *value.Map) any {
	if m == nil {
		return nil
	}
	return m
}

func ownerObject(o persistence.Owner) any {
	if o.PID == 0 {
		return nil
	}
	m := value.NewMap("pid", int64(o.PID), "host", terminal.OrNull(o.Host), "boot", terminal.OrNull(o.Boot), "start", nil)
	if o.Start != 0 {
		m.Set("start", o.Start)
	}
	return m
}

// OrNone returns a number, or nil for 0, which stands for no limit.
func OrNone(n int) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}
