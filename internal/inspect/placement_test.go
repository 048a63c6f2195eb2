package inspect_test

import (
	"testing"

	"loops/fsm"
	"loops/internal/inspect"
	"loops/persistence"
)

// TestPlacementText: a drained run is not said to be its user's, and one that no worker takes says why.
func TestPlacementText(t *testing.T) {
	t.Parallel()
	drained := persistence.Run{
		Status: persistence.Interrupted, Ended: fsm.EndInterrupted, State: "work",
		Resumable: true,
	}
	parked := persistence.Run{Status: persistence.Awaiting, Ended: fsm.EndParked, Resumable: true}
	queued := persistence.Run{Status: persistence.Queued}
	timedOut := persistence.Run{Status: persistence.TimedOut, Ended: fsm.EndTimeout, Resumable: true}
	owned := drained
	owned.Held = true
	place := func(change func(p *persistence.Placement)) *persistence.Placement {
		p := &persistence.Placement{Queue: "q", Labels: []string{"gpu"}, Open: true, Heard: true}
		change(p)
		return p
	}
	as := func(p *persistence.Placement) {}
	unheard := func(p *persistence.Placement) { p.Heard = false }
	for name, c := range map[string]struct {
		run     persistence.Run
		change  func(p *persistence.Placement)
		want    string
		carried bool
	}{
		"a worker takes it": {drained, as, "a worker of queue q with gpu continues it", true},
		"none has the label": {
			drained, unheard,
			"it waits for a worker of queue q with gpu, and none is heard of", false,
		},
		"another definition": {
			drained, func(p *persistence.Placement) { p.Note = "it is another loop here." },
			"no worker could take it yet, and it is tried again: it is another loop here", true,
		},
		"workers gave up": {drained, func(p *persistence.Placement) {
			p.Open, p.Note = false, "it is not idempotent"
		}, "no worker takes it any more: it is not idempotent", false},
		"a user stopped it": {drained, func(p *persistence.Placement) { p.Open = false }, "", false},
		"a process has it":  {owned, as, "", false},
		"it waits for an answer": {
			parked, func(p *persistence.Placement) { p.Waits = true },
			"a worker of queue q with gpu continues it when what it waits for has come", true,
		},
		"it was answered": {parked, as, "a worker of queue q with gpu continues it", true},
		"it is new":       {queued, as, "it waits for a worker of queue q with gpu", true},
		"it is new, for none": {
			queued, unheard, "it waits for a worker of queue q with gpu, and none is heard of",
			false,
		},
		"its time is over": {timedOut, as, "", false},
	} {
		c.run.Placement = place(c.change)
		if got := inspect.PlacementText(c.run); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := c.run.Carried(); got != c.carried {
			t.Errorf("%s: carried is %v", name, got)
		}
	}
	drained.Placement = place(as)
	if got, want := inspect.Reason(drained),
		"interrupted in state work; a worker of queue q with gpu continues it"; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
}
