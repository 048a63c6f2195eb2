package inspect

import (
	"fmt"
	"slices"
	"testing"

	"loops/persistence"
)

// A store is asked for the runs of a word by the statuses that they are recorded with: none may be left out.
func TestRecordedAsLeavesNoneOut(t *testing.T) {
	t.Parallel()
	for _, status := range statuses {
		for _, end := range append(slices.Clone(endings), "odd") {
			for flags := range 4 {
				r := persistence.Run{Status: status, Ended: end, Limited: flags&1 != 0, Unowned: flags&2 != 0}
				seen := []persistence.Run{r}
				if status == persistence.Running && !r.Unowned { // its process may be dead
					r.Status = persistence.Interrupted
					seen = append(seen, r)
				}
				for _, r := range seen {
					for _, word := range []string{StatusWord(r), Outcome(r)} {
						if all, ends := RecordedAs("nonsense", word); !slices.Contains(all, status) || ends != nil &&
							!slices.Contains(ends, end) {
							t.Errorf("a run that is recorded as %q and %q is %s, and is not looked for", status, end,
								word)
						}
						if !slices.Contains(Words(), word) {
							t.Errorf("%q is among no words", word)
						}
					}
				}
			}
		}
	}
	for word, want := range map[string]string{
		"stopped":  "[user_stopped] []",
		"capped":   "[ failed interrupted queued running starting timed_out] [max_iterations_reached max_steps]",
		"nonsense": "[] []",
	} {
		all, ends := RecordedAs(word)
		if got := fmt.Sprint(all, " ", ends); got != want {
			t.Errorf("runs that are %s are recorded as %s, want %s", word, got, want)
		}
	}
}
