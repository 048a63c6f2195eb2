package simulate

import (
	"math/rand/v2"
	"slices"

	"loops/fsm"
	"loops/internal/humanize"
)

// A reply is what an action or a judge is made to come to.
type reply struct {
	code    int    // exit code
	verdict string // of the state; "" = as the evaluator or the code has it
}

// Replies make up results, one after the other. They are for one simulation, and one goroutine.
type Replies interface {
	// next returns what the state that the run is in comes to. An error ends the simulation.
	next(st *fsm.State) (reply, error)
	// rest is called when the run has ended. It says what is wrong with what was not used.
	rest() error
}

// Scenarios are the names of the scenarios.
func Scenarios() []string {
	return []string{"all-pass", "all-fail", "all-error", "first-fail", "alternating"}
}

// A scenario gives exit codes by how many actions came before.
type scenario struct {
	code func(n int) int
	n    int
}

// Scenario returns the exit codes of a scenario: all-pass 0; all-fail 1; all-error 2; first-fail 1, then 0;
// alternating 1, 0, 1 and so on. It reports false if it has no such name.
func Scenario(name string) (Replies, bool) {
	codes := map[string]func(int) int{
		"all-pass":  func(int) int { return 0 },
		"all-fail":  func(int) int { return 1 },
		"all-error": func(int) int { return 2 },
		"first-fail": func(n int) int {
			if n == 0 {
				return 1
			}
			return 0
		},
		"alternating": func(n int) int { return 1 - n%2 },
	}
	if !slices.Contains(Scenarios(), name) {
		return nil, false
	}
	return &scenario{code: codes[name]}, true
}

func (s *scenario) next(*fsm.State) (reply, error) {
	s.n++
	return reply{code: s.code(s.n - 1)}, nil
}

func (s *scenario) rest() error { return nil }

// Random returns results that choose each way out of a state as often as any other. The same seed gives the same ones.
func Random(seed uint64) Replies { return random{rand.New(rand.NewPCG(seed, 0))} } //nolint:gosec // it is to be repeatable

type random struct{ *rand.Rand }

func (r random) next(st *fsm.State) (reply, error) {
	ways := choices(st)
	verdict := ways[r.IntN(len(ways))]
	return reply{codeFor(st, verdict), verdict}, nil
}

func (r random) rest() error { return nil }

// unknownVerdict says what is wrong with a verdict that a state never comes to, or "".
func unknownVerdict(st *fsm.State, verdict string) string {
	known := declared(st)
	for _, usual := range []string{"yes", "no", "error"} {
		if !slices.Contains(known, usual) {
			known = append(known, usual)
		}
	}
	if slices.Contains(known, verdict) || verdict == "cannot_judge" || open(st) || takes(st, verdict) {
		return ""
	}
	return "the state " + humanize.Quote(st.Name) + " has no transition for verdict " + humanize.Quote(verdict) +
		" (it knows " + humanize.And(known) + ")" +
		humanize.DidYouMean(verdict, known)
}
