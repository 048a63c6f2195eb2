package simulate_test

import (
	"os"
	"path/filepath"
	"testing"

	"loops/internal/simulate"
	"loops/internal/testenv"
)

// The two lines that validate has of a loop.
func TestSummary(t *testing.T) {
	t.Parallel()
	const ends = "  done: {terminal: true}\n"
	for _, c := range []struct{ states, uses, way string }{
		{
			"  a: {action: x, next: done}\n", "ends after at most 1 step; sends no prompt",
			"no state leads back to itself",
		},
		{
			"  a: {action: x, on_yes: done, on_no: a, max_retries: 3, on_retry_exhausted: done}\n",
			"ends after at most 4 steps; sends no prompt", "repeats a until max_retries is used up",
		},
		{
			"  a: {action: x, on_yes: done, on_no: b}\n  b: {action: y, next: a}\n",
			"ends after at most 9 steps (max_steps); sends no prompt", "repeats a → b → a until max_steps ends it",
		},
		{
			"  a: {action_type: prompt, action: x, evaluate: {type: exit_code}, on_yes: done, on_no: a}\n",
			"ends after at most 9 steps (max_steps); sends at most 9 prompts (max_steps), and no budget limits " +
				"what they cost",
			"repeats a → a until max_steps ends it",
		},
	} {
		dir := t.TempDir()
		testenv.Must(t, os.WriteFile(filepath.Join(dir, "main.yaml"),
			[]byte("name: main\ninitial: a\nmax_steps: 9\nstates:\n"+c.states+ends), 0o600))
		l, lib := load(t, dir)
		if got := simulate.Prove(l, lib).Summary(); got != [2]string{c.uses, c.way} {
			t.Errorf("%s%q", c.states, got)
		}
	}
}
