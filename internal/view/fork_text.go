package view

import (
	"strings"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/terminal"
)

// PrintFork prints from where a fork would continue.
func PrintFork(page *Page, planned *engine.Plan, asJSON bool) error {
	p, l, values, f := planned.Project, planned.Loop, planned.Values, planned.Fork
	dir, own := f.Folder, f.Own
	if asJSON {
		return terminal.WriteJSON(page.Out, forkPlan(planned))
	}
	w := page.Out
	terminal.Say(w, "Fork of run %s at step %d (behind event %d)\n", f.Run.ID, f.Step, f.Origin.Seq)
	terminal.Say(w, "  loop: %s (%s)\n", l.Name, p.Short(l.File))
	terminal.Say(w, "  begins with: %s, step %d of at most %d\n", f.State, f.Step, l.MaxSteps)
	for i, line := range f.Changed {
		terminal.Say(w, "  %s%s\n", map[bool]string{true: "changed: ", false: "         "}[i == 0], line)
	}
	for _, l := range f.Items {
		terminal.Say(w, "  items: of %s, %d of %d are taken over from that run\n", l.State, l.Taken, l.Count)
	}
	switch {
	case !own:
		terminal.Say(w, "  run_dir: %s, as in that run\n", dir)
	case !f.Empty:
		terminal.Say(w, "  copies: %s/, as it is now\n", p.Short(dir))
	}
	if keys := f.Captured; len(keys) > 0 {
		terminal.Say(w, "  remembers: %s\n", strings.Join(keys, ", "))
	}
	for _, line := range f.Spent {
		terminal.Say(w, "  %s\n", page.Text(line))
	}
	terminal.Say(w, "\nContext:\n")
	shown := values.Clone()
	if own {
		shown.Delete("run_dir")
	}
	for _, line := range PlannedContext(l, shown) {
		terminal.Say(w, "  %s\n", line)
	}
	terminal.Say(w, "\nNothing was run.\n")
	return nil
}

// forkPlan returns from where a fork would continue.
func forkPlan(planned *engine.Plan) api.ForkPlan {
	l, f := planned.Loop, planned.Fork
	plan := api.ForkPlan{
		ForkedFrom: ForkOf(f.Origin), Loop: l.Name, File: l.File, State: f.State, Step: f.Step, MaxSteps: l.MaxSteps,
		Changed: f.Changed,
		Context: ownContext(l, planned.Values), Captured: f.Captured,
		Items: each(f.Items, func(l engine.ForkItems) api.ForkItems {
			return api.ForkItems{State: l.State, Count: l.Count, Taken: l.Taken}
		}),
	}
	if f.Own && !f.Empty {
		plan.Copies = api.Text(f.Folder + "/")
	}
	return plan
}
