package simtest

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// Items begin before their own start is durable. Whatever a loss of power takes with it, each is told how often
// it was started, and the list has the results of the undisturbed run: alone, in a branch and in a sub-loop.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	keys := []string{
		"for_each: [" + strings.Repeat("a, ", 60) + "]", "parallel: 2", "action: " + quick, "capture: c",
		"on_item_failure: continue", "on_error: done", "on_no: done", "on_yes: done",
	}
	list := &State{Name: "s0", Keys: keys}
	around := func(s *State) []*Loop {
		return []*Loop{{Name: "l0", States: []*State{s}}, {Name: "l1", States: []*State{list}}}
	}
	ends := []string{"join: settled", "on_error: done", "on_no: done", "on_yes: done"}
	for _, d := range []*Definition{
		{around(list)[:1]},
		{around(&State{Name: "s0", Keys: append([]string{"loop: l1"}, ends[1:]...)})},
		{around(&State{
			Name: "s0", Keys: ends,
			Branches: []*State{{Name: "a", Keys: []string{"loop: l1"}}, {Name: "b", Keys: []string{"loop: l1"}}},
		})},
	} {
		for seed := range *seeds / 4 {
			r := rand.New(rand.NewPCG(seed, 2))
			kinds := []What{PowerCut, PowerCut, CrashOver}[seed%2*2:] // each other loses no power
			var plan []Disturbance
			for at := 0; len(plan) < 5; {
				at += 1 + r.IntN(30)
				plan = append(plan, Disturbance{at, time.Duration(1 + r.IntN(200_000_000)), kinds[r.IntN(len(kinds))]})
			}
			undisturbed, disturbed, err := both(t, seed, d, plan)
			if err != nil {
				t.Fatal(err)
			}
			if text := disturbed.Differs(undisturbed, false); text != "" {
				t.Fatalf("seed %d: %s\n%s%s\n%s", seed, text, d.Text(), plan, story(t, seed, d, plan, false))
			}
		}
	}
}
