package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
	"loops/persistence/snapshot"
)

// LiveFromMiss has actions done for real only where the record has no answer.
const LiveFromMiss = "miss"

// A Live is how a replay continues for real.
type Live struct {
	Fork   *engine.ForkRequest
	DryRun bool
}

// errReached ends a rehearsal at the step from which actions are done for real.
var errReached = errors.New("the step was reached")

// A watchpoint keeps what a replayed run remembers before each of its steps, and ends the replay at one of them.
type watchpoint struct {
	r     *replayAnswers
	step  int    // 0 = it ends at no number
	state string // "" = it ends at no state

	before int           // the newest step
	memory *fsm.Snapshot // before that
	tree   string        // the files before it; "" = not known
}

func newWatchpoint(r *replayAnswers, at string) *watchpoint {
	w := &watchpoint{r: r}
	if n, err := strconv.Atoi(at); err == nil {
		w.step = n
	} else if at != LiveFromMiss {
		w.state = at
	}
	return w
}

// see takes what the run remembers. It returns errReached where the replay ends.
func (w *watchpoint) see(m *fsm.Snapshot) error {
	step := m.Step
	switch {
	case m.Outcome != nil || m.Phase == fsm.PhaseActed:
		return nil
	case m.Phase == fsm.PhasePending:
		step++
	}
	if step == w.before {
		return nil
	}
	text, err := snapshot.NewEncoder(nil).Whole(m) // m is only lent
	if err != nil {
		return err
	}
	var d snapshot.Decoder
	if err := d.Whole(slices.Clone(text)); err != nil {
		return err
	}
	if w.memory, err = d.Snapshot(nil); err != nil {
		return err
	}
	w.before, w.tree = step, w.r.tree
	if step == w.step || m.Current == w.state {
		return errReached
	}
	return nil
}

// begin returns from what the run continues for real; nil = its first step.
func (w *watchpoint) begin() *engine.ForkBegin {
	m := w.memory
	if m == nil || w.before == 1 {
		return nil
	}
	b := &engine.ForkBegin{Step: w.before, State: m.Current, Memory: m, Tree: w.tree}
	if !m.BeforeStep(b.Step, b.State) {
		return nil
	}
	return b
}

// checkLive refuses what is not to be done for real.
func (d *Desk) checkLive(l *fsm.Loop, lib fsm.Library, o *Replay, run persistence.Run, files []engine.StepFiles) error {
	if len(files) == 0 {
		return engine.Refuse(engine.NotFound, "the files of run %s are not on record, so nothing of it can be done "+
			"for real again: that needs snapshots: git, or a run in a work tree of its own. To continue with the "+
			"files as they are now: %s",
			run.ID, engine.Do(engine.OpFork, string(run.ID), engine.Setting{Name: engine.SetAt, Value: "STEP"}))
	}
	if o.Rerun {
		return nil
	}
	for _, x := range Reachable(l, lib) {
		for _, name := range x.Order {
			if st := x.States[name]; st != nil && st.Once && st.Action != "" {
				return engine.Refuse(engine.Undecided, "state %s of %s says idempotent: false, and would be done "+
					"for real again; if that is wanted: %s",
					humanize.Quote(name), x.Name, engine.Setting{Name: engine.SetRerun})
			}
		}
	}
	return nil
}

// live says what is done for real from here on, and returns the request for it.
func (d *Desk) live(ctx context.Context, o *Replay, records *project.Records, run persistence.Run,
	w *watchpoint,
) (*Live, error) {
	b := w.begin()
	if b == nil {
		return nil, engine.Refuse(engine.Failed, "the replay ended before its second step; to do all of it again: %s",
			engine.Do(engine.OpFork, string(run.ID), engine.Setting{Name: engine.SetAt, Value: "1"}))
	}
	if b.Tree == "" {
		return nil, engine.Refuse(engine.Failed, "the files before step %d are not known: part of what is done side "+
			"by side before it is not on record", b.Step)
	}
	known, err := d.Project.Pricer()
	if err != nil {
		return nil, err
	}
	var from inspect.Cost
	sheet := inspect.NewAccount(known)
	for e, err := range records.EventsOf(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		cost, v := sheet.Take(e)
		if v != nil && topStep(v) >= b.Step {
			from.Plus(cost)
		}
	}
	terminal.Say(d.Out, "Steps 1 to %d were answered from the record. From step %d, %s, on actions are done for "+
		"real, in a work tree of git.\n", b.Step-1, b.Step, b.State)
	what := "asked no agent"
	if from.Asked() {
		what = fmt.Sprintf("used %s and %s, for %s", humanize.Count(from.Prompts, "prompt"),
			humanize.Count(from.Judges, "judge"), from.Text())
	}
	terminal.Say(d.Out, "On record, run %s %s from its step %d on.\n", run.ID, what, b.Step)
	definition := o.Definition
	if definition == "" {
		definition = engine.RecordedDefinition
	}
	return &Live{DryRun: o.DryRun, Fork: &engine.ForkRequest{
		Run: string(run.ID), At: strconv.Itoa(b.Step), Definition: definition, Rerun: o.Rerun, Files: true, Begin: b,
		Tree: engine.TreeRequest{Asked: true, End: "keep"},
	}}, nil
}

// topStep returns the step of the run itself that a visit belongs to.
func topStep(v *inspect.Visit) int {
	first, _, _ := strings.Cut(v.Number(), "/")
	n, _ := strconv.Atoi(first)
	return n
}
