package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/phrase"
	"loops/persistence"
)

// goOn is the command that goes on with a run as it is recorded: with a higher limit if it ended at one.
func (a *app) goOn(ctx context.Context, store *project.Records, r persistence.Run) string {
	if r.Ended != fsm.EndBudget {
		return a.resumeCommand(r.Ended, string(r.ID), r.MaxSteps, 0)
	}
	limit := "LIMIT=MORE"
	_ = store.Newest(ctx, r.ID, func(e fsm.Event) bool {
		if e.Kind != fsm.EventBudgetExceeded {
			return e.Kind != fsm.EventStateEnter || e.Depth > 0 // it is told in the state that ended the run
		}
		limit = raisedLimit(e)
		return false
	}) // what cannot be read leaves the words as they are
	return a.command("resume --budget "+limit, string(r.ID))
}

// A usedUp is a limit that leaves a run nothing, with the flags that would.
type usedUp struct {
	inForce
	flags string
}

// overLimits returns the limits that hold in l and are used up, of a run that remembers m.
func overLimits(l *fsm.Loop, m *fsm.Snapshot) []usedUp {
	var out []usedUp
	for _, limit := range limitsInForce(l, m) {
		budget := limit.of != "" || limit.name == "cost" || limit.name == "tokens" || limit.name == "prompts"
		flag := "--budget " + limit.name + "="
		switch {
		case limit.used < limit.most, limit.name == "time" && !budget:
			continue
		case limit.name == "time":
			flag = "--budget wall="
		case limit.name == "steps" && !budget:
			flag = "-n "
		case limit.name == "passes":
			flag = "--max-iterations "
		}
		more := limit.used
		if limit.name == "time" {
			more = math.Ceil(more)
		}
		out = append(out, usedUp{limit, flag + twice(more)})
	}
	return out
}

// twice is an amount that is enough to go on where so much is used, as flags are written.
func twice(used float64) string { return plainAmount(math.Round(2e6*used) / 1e6) }

// checkLimits refuses a limit on the command line that is used up already, and a run that ended at a limit which holds
// still: it would end again at once. l has the overrides in it.
func (o *resumeOptions) checkLimits(a *app, run persistence.Run, l *fsm.Loop, m *fsm.Snapshot) error {
	for _, limit := range overLimits(l, m) {
		given, flag := false, ""
		switch {
		case limit.of == "" && limit.name == "steps":
			// An interrupted last step may still be brought to its end.
			given, flag = o.over.MaxSteps > 0 && (limit.used > limit.most || run.Ended == fsm.EndMaxSteps), "--max-steps "
		case limit.name == "passes":
			given, flag = o.over.MaxIterations > 0, "--max-iterations "
		default:
			_, given = o.over.Budget.Limits[budgetKey(limit.name)]
			flag = "--budget " + strings.ReplaceAll(limit.name, "time", "wall") + "="
		}
		if given {
			return failure(exitUsage, "%s%s is not above what is used: %s; go on with more: %s", flag, plainAmount(limit.most), limit.text(), a.command("resume "+limit.flags, string(run.ID)))
		}
	}
	if o.from != "" {
		return nil // another state may need nothing of what is used up
	}
	for _, limit := range overLimits(l, m) {
		code := exitOK
		switch run.Ended {
		case fsm.EndMaxSteps:
			if limit.of == "" && limit.name == "steps" {
				code = exitCapped
			}
		case fsm.EndMaxIterations:
			if limit.name == "passes" {
				code = exitCapped
			}
		case fsm.EndBudget:
			if limit.of != "" || limit.name != "steps" && limit.name != "passes" {
				code = exitHost
			}
		}
		if code != exitOK {
			return failure(code, "run %s cannot go on: %s; go on with more: %s", run.ID, limit.text(), a.command("resume "+limit.flags, string(run.ID)))
		}
	}
	return nil
}

// text says how much is used: "10 of 10 steps are used".
func (l usedUp) text() string {
	amounts := extendText(l.name, l.used) + " of " + extendText(l.name, l.most)
	switch {
	case l.of != "":
		return fmt.Sprintf("%s of the %s%s are used", amounts, l.of, l.name)
	case l.name == "cost":
		return amounts + " is used"
	}
	return fmt.Sprintf("%s %s are used", amounts, l.name)
}

func plainAmount(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// budgetKey is the key of a kind of limit in a budget.
func budgetKey(name string) string {
	for _, k := range extendKinds {
		if k.name == name {
			return cmp.Or(k.key, name)
		}
	}
	return name
}

// unpauseResumed takes away the pause of a run that nobody carried on: who resumes it wants it to go on. One asked for
// since then stays.
func unpauseResumed(p *project.Project, id persistence.ID, began time.Time) (note string) {
	at, paused := p.PausedSince(id)
	if !paused || at.After(began) {
		return ""
	}
	if err := os.Remove(p.PauseFile(id)); err != nil {
		return fmt.Sprintf("loops: run %s stays paused: %v", id, err)
	}
	return "The pause of " + phrase.Clock(at) + " is lifted."
}

// tellUnpaused says that a pause was lifted: in the background to whoever started the run.
func (a *app) tellUnpaused(note string, print printer, quiet bool) {
	switch {
	case note == "" || quiet:
	case a.detached != nil:
		sayLine(a.Err, note)
	default:
		print.note(note)
	}
}
