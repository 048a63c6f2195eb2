package fsm_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
)

// TestForkAtEveryStep forks each trace at every step it went: with the same loop and the same answers the fork
// goes the same way to the same end, with the same captures and counters.
func TestForkAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, file := range traceFiles(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if slices.ContainsFunc([]string{"stop-", "timeout-loop", "maintain-timeout", "host-", "budget", "session"},
			func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue // these end by what a fork leaves behind: time, memory, money, sessions
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop := loadTrace(t, file)
				rec := &tape{}
				cfg, _, _ := config(loop, rec)
				want, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				points := forkPoints(rec.events)
				for i, p := range points {
					if !p.Handler {
						forked(t, loop, rec, points[i:], want)
					}
				}
			})
		})
	}
}

func forked(t *testing.T, loop *fsm.Loop, rec *tape, rest []*inspect.ForkPoint, want fsm.Outcome) {
	t.Helper()
	p := rest[0]
	var before, after inspect.Recorded
	for i, n := range rec.points {
		if uint64(n) >= p.Seq {
			after = inspect.Recorded{Seq: uint64(n), Memory: clone(rec.saved[i])}
			break
		}
		before = inspect.Recorded{Seq: uint64(n), Memory: clone(rec.saved[i])}
	}
	m := p.Memory(before, after)
	if m == nil {
		t.Errorf("step %d: what was remembered before it is not known", p.Step)
		return
	}
	second := &tape{}
	cfg, runner, _ := config(loop, second)
	runner.answered(m, "")
	got, err := fsm.Fork(cfg, m, time.Now(), fsm.Field{Key: "forked_from", Value: "x"}).Run(context.Background())
	if err != nil {
		t.Errorf("step %d: %v", p.Step, err)
		return
	}
	if first := second.events[0]; first.Kind != "loop_start" || first.Get("forked_from") != "x" ||
		first.Get("from_state") != p.State || second.points[0] != 1 || !second.hard[0] {
		t.Errorf("step %d: it begins with %s, of %d events", p.Step, first.AppendJSON(nil), second.points[0])
	}
	if a, b := path(rest), path(forkPoints(second.events)); a != b {
		t.Errorf("step %d: the fork goes %s, the run went %s", p.Step, b, a)
	}
	got.Duration, want.Duration = 0, 0
	if got != want {
		t.Errorf("step %d: the fork ends %+v, the run %+v", p.Step, got, want)
	}
	w, g := rec.saved[len(rec.saved)-1], second.saved[len(second.saved)-1]
	if a, b := value.AppendJSON(nil, withoutLogs(w.Captured)),
		value.AppendJSON(nil, withoutLogs(g.Captured)); string(a) != string(b) {
		t.Errorf("step %d: want captures %s, got %s", p.Step, a, b)
	}
	if a, b := fmt.Sprint(w.Retries, w.Edges, w.Messages, w.Evaluators, w.Passes),
		fmt.Sprint(g.Retries, g.Edges, g.Messages, g.Evaluators, g.Passes); a != b {
		t.Errorf("step %d: want counters %s, got %s", p.Step, a, b)
	}
}

// forkPoints returns all places where a run with these events can be forked, oldest first.
func forkPoints(events []fsm.Event) (points []*inspect.ForkPoint) {
	var track inspect.ForkTrack
	for _, e := range events {
		if p := track.Add(e); p != nil && !slices.Contains(points, p) {
			points = append(points, p)
		}
	}
	return points
}

func path(points []*inspect.ForkPoint) string {
	var parts []string
	for _, p := range points {
		parts = append(parts, fmt.Sprintf("%d:%s", p.Step, p.State))
	}
	return strings.Join(parts, " ")
}

// A memory in which a fact of the step is on record is not one from before the step: what the state did is done.
func TestForkBeforeAFactIsFound(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		m := fsm.Snapshot{Phase: fsm.PhaseActing, Current: "a", Step: 1}
		if known {
			m.Decided = &fsm.Decided{To: "b", Remembered: true}
		}
		if m.BeforeStep(1, "a") == known {
			t.Errorf("with a fact on record %t: %t", known, !known)
		}
	}
}
