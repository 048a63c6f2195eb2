package app

import (
	"context"
	"fmt"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/view"
	"loops/persistence"
)

// Secrets looks for secrets in what is recorded of all runs: tokens by their shape, and the values of names that the
// settings and the recorded loops declare and no command prints. env has their variables.
func (x *Examination) Secrets(ctx context.Context, env []string) {
	const check = "secrets"
	store, err := x.Project.Records(ctx, false)
	if err != nil {
		x.add(Finding{Check: check, Level: FindingProblem, Text: x.Said(err)})
		return
	}
	defer store.Close() //nolint:errcheck // it was only read
	runs, err := store.Runs(ctx, persistence.Query{})
	if err != nil {
		x.add(Finding{Check: check, Level: FindingProblem, Text: x.Said(store.Failed(err))})
		return
	}
	found := 0
	for _, r := range project.Current(runs) {
		if ctx.Err() != nil {
			return
		}
		if all := (engine.SecretSearch{Project: x.Project, Env: env}).Look(ctx, store, r); len(all) > 0 {
			found++
			x.add(Finding{
				Check: check, Level: FindingWarning,
				Text: fmt.Sprintf("run %s has %s", r.ID, view.SecretsText(x.Project, all)),
				Todo: "replace what was recorded by a new one where it comes from, then " +
					x.Command("scrub "+string(r.ID)),
			})
		}
	}
	if found == 0 {
		x.add(Finding{Check: check, Level: FindingOK, Text: "none found in " + humanize.Count(len(runs), "run")})
	}
}
