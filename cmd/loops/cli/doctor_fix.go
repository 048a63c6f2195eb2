package cli

import (
	"context"
	"fmt"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/terminal"
)

// ask puts a question to the user, and reports whether the answer is yes. Where no user can answer, the answer is no.
func (x *examination) ask(ctx context.Context, question string) bool {
	if x.options.json {
		return false
	}
	x.app.out.Flush()
	x.yesNo.In, x.yesNo.Err = x.app.In, x.app.Err
	return x.yesNo.Ask(ctx, question)
}

// repair looks at the machine and the project, and puts right what can be.
func (x *examination) repair(ctx context.Context) error {
	a := x.app
	x.Sweep = func(context.Context) error {
		e, err := a.engine()
		if err != nil {
			return err
		}
		defer e.Close()
		_, err = e.Reconcile(ctx)
		return a.refused(err)
	}
	x.Machine(ctx)
	failed, left := 0, 0
	done := make([]api.Repair, 0, len(x.Repairs))
	for _, r := range x.Repairs {
		state, why := "left", ""
		if x.options.yes || x.ask(ctx, "Fix: "+r.Text+"?") {
			state = "fixed"
			if err := r.Do(ctx); err != nil {
				failed++
				state, why = "failed", onOneLine(err)
			}
		} else {
			left++
		}
		done = append(done, api.Repair{Check: r.Check, Repair: r.Text, Result: state, Error: api.Text(why)})
		if x.options.json {
			continue
		}
		line := fmt.Sprintf("%-8s %-10s %s", state, r.Check, r.Text)
		if why != "" {
			line += ": " + why
		}
		terminal.SayLine(a.out, line)
	}
	switch {
	case ctx.Err() != nil:
		return failure(engine.Failed, "stopped before everything was repaired")
	case x.options.json:
		if err := terminal.WriteJSON(a.out, done); err != nil {
			return err
		}
	case len(x.Repairs) == 0:
		terminal.SayLine(a.out, "There is nothing that doctor can repair.")
	case left > 0 && !x.options.yes:
		terminal.SayLine(a.out, "To repair everything without confirmation: "+a.command("doctor --fix --yes"))
	}
	if failed > 0 || x.problems() > 0 {
		return told(engine.Failed)
	}
	return nil
}

// problems is how many findings are problems.
func (x *examination) problems() (n int) {
	for _, f := range x.findings {
		if f.Level == app.FindingProblem {
			n++
		}
	}
	return n
}
