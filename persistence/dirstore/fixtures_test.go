package dirstore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
	"loops/persistence/dirstore"
)

const fixtures = "../../cmd/loops/testdata/conformance/dirs"

// Directories written by little-loops are read unchanged: every run once, what it says, and whether it can be
// resumed and where.
func TestReferenceDirectories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir  string
		runs []string // newest first
	}{
		{
			"background/1-running",
			[]string{"sleeper-20261121T091052 2026-11-21T091053 running s2 2 resumable s2/acting/2"},
		},
		{"background/2-after", []string{"sleeper-20261121T091052 2026-11-21T091053 completed done 3"}},
		{
			"cycle-and-stall/2-stall",
			[]string{
				"stall-20261121T090825 2026-11-21T090825 failed a 2",
				"2026-11-21T090824-pingpong 2026-11-21T090824 failed a 5 archived",
			},
		},
		{"failed-terminal/after", []string{"failing-20261121T090731 2026-11-21T090731 failed failed 1"}},
		{"fresh-run/after", []string{"sleeper-20261121T090720 2026-11-21T090720 completed done 3"}},
		{
			"handoff-pause/1-handed-off",
			[]string{"hand-20261121T090807 2026-11-21T090807 awaiting_continuation work 2 resumable work/acting/2 " +
				"after handoff, handler ran: false"},
		},
		{"handoff-pause/2-resumed", []string{
			"hand-20261121T090807 2026-11-21T090809 completed done 3",
			"2026-11-21T090807-hand 2026-11-21T090807 awaiting_continuation work 2 archived",
		}},
		{
			"legacy-bare-name/1-bare-interrupted",
			[]string{"sleeper 2026-11-21T090857 interrupted oops 2 resumable oops/pending/2 after interrupted, " +
				"handler ran: false"},
		},
		{
			"max-steps/1-capped",
			[]string{"capped-20261121T090818 2026-11-21T090818 interrupted a 3 resumable a/pending/3 after " +
				"max_steps, handler ran: false"},
		},
		{
			"max-steps-summary/after",
			[]string{"capsum-20261121T090820 2026-11-21T090820 interrupted summarize 3 resumable summarize/acting/3 " +
				"after max_steps, handler ran: true"},
		},
		{"nan-and-unicode/after", []string{
			"unicode-20261121T090923 2026-11-21T090923 completed done 1",
			"2026-11-21T090922-nan 2026-11-21T090922 completed done 1 archived",
		}},
		{"prompt-and-judge/after", []string{"meta-20261121T091121 2026-11-21T091121 completed done 2"}},
		{"second-run-sweeps-first/2-second", []string{
			"other-20261121T090730 2026-11-21T090730 completed done 1",
			"2026-11-21T090728-other 2026-11-21T090728 completed done 1 archived",
		}},
		{
			"seed-era-state/1-old-files",
			[]string{"sleeper-20261121T090911 2026-11-21T090911 running s2 2 resumable s2/acting/2"},
		},
		{
			"sigint-once/2-after",
			[]string{"sleeper-20261121T090735 2026-11-21T090735 interrupted oops 2 resumable oops/pending/2 after " +
				"interrupted, handler ran: false"},
		},
		{"sigint-once/3-resumed", []string{
			"sleeper-20261121T090735 2026-11-21T090741 completed done 3",
			"2026-11-21T090735-sleeper 2026-11-21T090735 interrupted oops 2 archived",
		}},
		{
			"sigkill-then-status/1-reconciled-by-status",
			[]string{"sleeper-20261121T090751 2026-11-21T090751 interrupted s2 2 resumable s2/acting/2"},
		},
		{
			"sigkill-then-status/2-other-run-leaves-it",
			[]string{
				"other-20261121T090754 2026-11-21T090754 completed done 1",
				"sleeper-20261121T090751 2026-11-21T090751 interrupted s2 2 resumable s2/acting/2",
			},
		},
		{
			"sigkill-then-sweep/1-killed",
			[]string{"sleeper-20261121T090746 2026-11-21T090746 running s2 2 resumable s2/acting/2"},
		},
		{"sigkill-then-sweep/2-after-next-run", []string{
			"other-20261121T090747 2026-11-21T090747 completed done 1",
			"2026-11-21T090746-sleeper 2026-11-21T090746 running s2 2 archived",
		}},
		{"sub-loop/after", []string{"parent-20261121T090827 2026-11-21T090827 completed done 3"}},
		{
			"sub-loop-killed/1-killed",
			[]string{"parent-20261121T090831 2026-11-21T090831 running sub 2 resumable sub/acting/2"},
		},
		{
			"suffix-names/after",
			[]string{
				"b-20261121T090938 2026-11-21T090938 completed done 1",
				"2026-11-21T090936-a-b 2026-11-21T090936 completed done 1 archived",
			},
		},
		{
			"torn-last-line/1-torn",
			[]string{"sleeper-20261121T090930 2026-11-21T090930 running s2 2 resumable s2/acting/2"},
		},
	} {
		t.Run(c.dir, func(t *testing.T) {
			d, _ := fixture(t, c.dir)
			runs, err := d.Runs(t.Context(), persistence.Query{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range runs {
				r.Bytes = 0 // which only a listing looks at
				if one, err := d.Runs(t.Context(), persistence.Query{ID: r.ID}); err != nil || len(one) != 1 ||
					!reflect.DeepEqual(one[0], r) {
					t.Errorf("%s is found as %+v, %v", r.ID, one, err)
				}
				s := fmt.Sprint(r.ID, " ", r.RunID, " ", r.Status, " ", r.State, " ", r.Step)
				if r.Archived {
					s += " archived"
				}
				if len(r.Damage) > 0 {
					s += " " + strings.Join(r.Damage, "; ")
				}
				if _, err := d.Snapshot(t.Context(), r.ID); err != nil {
					t.Errorf("snapshot of %s: %v", r.ID, err)
				}
				last := 0
				var events []string
				for e, err := range d.Events(t.Context(), r.ID, 0) {
					if err != nil || e.Seq != uint64(last+1) {
						t.Errorf("event %d of %s: %v", last+1, r.ID, err)
					}
					last++
					e.Seq = 0
					events = append(events, string(e.AppendJSON(nil)))
				}
				var back []string
				for e, err := range d.Tail(t.Context(), r.ID) {
					if err != nil {
						t.Error(err)
					}
					back = append(back, string(e.AppendJSON(nil)))
				}
				slices.Reverse(back)
				if !slices.Equal(back, events) {
					t.Errorf("read backwards, %s has the events\n%s\nwant\n%s", r.ID, strings.Join(back, "\n"),
						strings.Join(events, "\n"))
				}
				if last == 0 {
					t.Errorf("%s has no events", r.ID)
				}
				j, snap, err := d.Resume(t.Context(), r.ID, persistence.Spec{Loop: r.Loop, Definition: []byte("x")})
				var no *persistence.NotResumableError
				switch {
				case err == nil:
					s += fmt.Sprintf(" resumable %s/%s/%d", snap.Current, snap.Phase, snap.Step)
					if snap.Outcome != nil {
						s += fmt.Sprintf(" after %s, handler ran: %v", snap.Outcome.TerminatedBy, snap.StepsCapped)
					}
					if !r.Resumable {
						t.Errorf("%s was resumed, but listed as not resumable", r.ID)
					}
					goOn(t, d, j, snap)
				case !errors.As(err, &no):
					t.Errorf("resume of %s: %v", r.ID, err)
				case r.Resumable:
					t.Errorf("%s is listed as resumable: %v", r.ID, err)
				}
				got = append(got, s)
			}
			if g, w := strings.Join(got, "\n"), strings.Join(c.runs, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

// goOn ends a resumed run and expects it once in the archive, under the second it has always had.
func goOn(t *testing.T, d *dirstore.Store, j persistence.Journal, s *fsm.Snapshot) {
	t.Helper()
	before := j.Run()
	s.Outcome = &fsm.Outcome{TerminatedBy: fsm.EndTerminal}
	if err := j.Record(t.Context(),
		&fsm.Batch{
			Snapshot: s, Checkpoint: true,
			Events: []fsm.Event{{Kind: "loop_resume"}, {Kind: "loop_complete"}},
		}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	runs, err := d.Runs(t.Context(), persistence.Query{Loop: before.Loop})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range runs {
		if r.StartedAt.Equal(before.StartedAt) {
			n++
			if r.Status != persistence.Completed || !r.Archived || r.RunID != before.RunID || r.Foreign {
				t.Errorf("after it went on: %+v", r)
			}
			kinds := ""
			for e, err := range d.Events(t.Context(), r.ID, 0) {
				if err != nil {
					t.Error(err)
				}
				kinds += " " + e.Kind
			}
			if !strings.HasSuffix(kinds, " loop_resume loop_complete") ||
				!strings.HasPrefix(kinds, " loop_start state_enter") {
				t.Errorf("events: %s", kinds)
			}
		}
	}
	if n != 1 {
		t.Errorf("it is listed %d times", n)
	}
}

// fixture copies a directory of little-loops.
func fixture(t *testing.T, name string) (*dirstore.Store, string) {
	t.Helper()
	archive, folder, _ := strings.Cut(name, "/")
	c, err := testenv.ReadCase(filepath.Join(fixtures, archive+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	c.Unpack(t, folder, to, "<CWD>", to)
	root := filepath.Join(to, ".loops")
	d, err := dirstore.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return d, root
}
