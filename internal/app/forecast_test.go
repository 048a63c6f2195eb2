package app

import (
	"bytes"
	"testing"

	"loops/internal/api"
)

// TestForecastOfUses: ten runs say something, nine do not, and the ranks are those of the nearest run.
func TestForecastOfUses(t *testing.T) {
	t.Parallel()
	used := []float64{10, 9, 8, 7, 6, 5, 4, 3, 2}
	if u := forecast("tokens", used, 50); u.P50 != nil || u.P95 != nil || u.Worst != nil || *u.Budget != 50 ||
		u.Reached {
		t.Errorf("nine runs: %+v", u)
	}
	u := forecast("tokens", append(used, 1), 10)
	if *u.P50 != 5 || *u.P95 != 10 || *u.Worst != 10 || !u.Reached || u.Runs != 10 {
		t.Errorf("ten runs: %v %v %v, reached %t", *u.P50, *u.P95, *u.Worst, u.Reached)
	}
	var out bytes.Buffer
	cost, wall := 0.25, 90.0
	err := PrintForecast(&out, &api.Forecast{Loop: "fix", Runs: 12, Needed: 10, Unpriced: 1, Uses: []api.ForecastUse{
		u, {Kind: "cost_usd", Runs: 11, P50: &cost, P95: &cost, Worst: &cost}, {Kind: "wall", Budget: &wall},
	}})
	want := `12 runs of fix ended

A RUN USES  P50      P95      WORST    BUDGET
tokens      5        10       10       10
cost        $0.2500  $0.2500  $0.2500  -
time        unknown  unknown  unknown  1m30s

The cost of 1 run is not known, and left out.

The budget of tokens was reached: without it, a run may use more.
`
	if err != nil || out.String() != want {
		t.Errorf("%v:\n%s", err, out.String())
	}
}
