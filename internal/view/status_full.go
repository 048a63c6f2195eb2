package view

import (
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// FullStatusObject is what status shows of a run as one JSON object. What is not known is null.
func (page *Page) FullStatusObject(p *project.Project, store *project.Records, v *inspect.Status, waiting []persistence.Waiter) *value.Map {
	m := StatusObject(p, store, v)
	AddState(m, store, v)
	if v.Run.Limited {
		m.Set("error", terminal.OrNull(inspect.HonestError(v.Run)))
	}
	m.Set("elapsed_ms", v.Elapsed().Milliseconds())
	m.Set("duration_ms", v.Elapsed().Milliseconds())
	m.Set("path", terminal.List(v.Levels(), func(l inspect.Level) any {
		return value.NewMap("loop", l.Loop, "state", l.State, "step", int64(l.Step), "max_steps", OrNone(l.Most))
	}))
	m.Set("lease_until", nil)
	if !v.Run.Leased.IsZero() {
		m.Set("lease_until", terminal.Stamp(v.Run.Leased))
	}
	m.Set("idle_ms", nil)
	if v.Alive {
		m.Set("idle_ms", v.Idle().Milliseconds())
	}
	m.Set("action", ActionObject(v))
	if v.Git != "" {
		m.Set("git", value.NewMap("doing", v.Git, "since", terminal.Stamp(v.GitSince)))
	}
	if left := v.LeftFiles(); left != "" {
		m.Set("files_left", left)
	}
	if p := v.Items(); p != nil {
		m.Set("items", value.NewMap("count", int64(p.Items), "done", int64(p.Done), "failed", int64(p.Failed), "running", int64(p.Running), "left_ms", p.Left.Milliseconds()))
	}
	if branches := v.Branches(); branches != nil {
		m.Set("branches", terminal.List(branches, func(b inspect.BranchState) any {
			return value.NewMap("name", b.Name, "begun", b.Begun, "state", terminal.OrNull(b.At), "verdict", terminal.OrNull(b.Verdict))
		}))
	}
	m.Set("used", UsedObject(v))
	m.Set("verdict", VerdictObject(v))
	m.Set("way", RouteObject(v))
	m.Set("limits", terminal.List(v.Limits, LimitObject))
	m.Set("reason", terminal.OrNull(inspect.Reason(v.Run)))
	m.Set("ignored_failures", terminal.OrNull(v.Run.Ignored))
	m.Set("merge", terminal.OrNull(v.Run.Merge))
	m.Set("why", terminal.OrNull(v.Why()))
	m.Set("owner_elsewhere", OutOfSight(v.Run))
	m.Set("queued", terminal.List(waiting, func(w persistence.Waiter) any { return WaiterObject(w) }))
	word, command := page.next(v)
	m.Set("next", terminal.OrNull(word))
	m.Set("next_command", terminal.OrNull(command))
	addWaits(m, v)
	if len(v.Answers) > 0 {
		m.Set("answers", AnswersObject(v.Answers))
	}
	if !v.PausedAt.IsZero() {
		m.Set("pause_asked_at", terminal.Stamp(v.PausedAt))
	}
	return m
}
