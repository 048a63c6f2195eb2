package live

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
)

// What branches print at once is under the action that printed it.
func TestBranchesPrintAtOnce(t *testing.T) {
	t.Parallel()
	event := func(kind string, depth int, branch string, fields ...any) fsm.Event {
		e := fsm.Event{Kind: kind, Depth: depth}
		for i := 0; i < len(fields); i += 2 {
			e.Fields = append(e.Fields, fsm.Field{Key: fields[i].(string), Value: fields[i+1]})
		}
		if branch != "" {
			e.Fields = append(e.Fields, fsm.Field{Key: "branch", Value: branch})
		}
		return e
	}
	events := []fsm.Event{
		event(fsm.EventStateEnter, 0, "", "state", "both", "iteration", int64(1)),
		event(fsm.EventItemStart, 0, "", "item", int64(2), "key", "b.txt"),
		event(fsm.EventStateEnter, 1, "lint", "state", "lint", "iteration", int64(1)),
		event(fsm.EventActionStart, 1, "lint", "action", "make lint"),
		event(fsm.EventStateEnter, 1, "#2", "state", "check", "iteration", int64(1)),
		event(fsm.EventActionStart, 1, "#2", "action", "check it"),
		event(fsm.EventActionOutput, 1, "#2", "line", "checking"),
		event(fsm.EventActionOutput, 1, "lint", "line", "linting"),
		event(fsm.EventActionOutput, 1, "#2", "line", "checked"),
		event(fsm.EventActionComplete, 1, "#2", "exit_code", int64(0)),
		event(fsm.EventStateEnter, 1, "#2", "state", "fix", "iteration", int64(2)),
		event(fsm.EventActionOutput, 1, "lint", "line", "linted"),
		event(fsm.EventActionComplete, 1, "lint", "exit_code", int64(0)),
		event(fsm.EventActionStart, 1, "#2", "action", "fix it"),
	}
	for _, c := range []struct {
		o    ActionLogOptions
		want string
	}{
		{ActionLogOptions{}, `==> step 1/#2/1, both > #2 b.txt > check: check it
checking
checked
==> step 1/lint/1, both > lint: make lint
linting
linted
==> step 1/#2/2, both > #2 b.txt > fix: fix it
`},
		{ActionLogOptions{Follow: true}, `==> step 1/#2/1, both > #2 b.txt > check: check it
checking
==> step 1/lint/1, both > lint: make lint
linting
==> step 1/#2/1, both > #2 b.txt > check: check it
checked
==> step 1/lint/1, both > lint: make lint
linted
==> step 1/#2/2, both > #2 b.txt > fix: fix it
`},
		{ActionLogOptions{State: "lint", Bare: true}, "linting\nlinted\n"},
	} {
		var out strings.Builder
		l := NewActionLog(c.o, &out, &project.Project{}, "x", false)
		for _, e := range events {
			l.Event(e)
		}
		l.End()
		if got := out.String(); got != c.want {
			t.Errorf("%+v: got\n%s\nwant\n%s", c.o, got, c.want)
		}
	}
}

// A line of any length is printed as it is, and is never in memory as a whole.
func TestLongLines(t *testing.T) {
	// Not parallel: the test measures the memory of the process.
	for _, text := range []string{
		"", "a", "a\n", "\n", "a\n\nb", "\n\n", strings.Repeat("x", pieceSize), strings.Repeat("x", pieceSize) + "\n",
		strings.Repeat("x", pieceSize) + "\ny\n",
		strings.Repeat("long ", 100_000) + "\nshort\n" + strings.Repeat("y", 3*pieceSize+7),
	} {
		for _, raw := range []bool{true, false} {
			var out strings.Builder
			l := &ActionLog{out: &out, ActionLogOptions: ActionLogOptions{Raw: raw}}
			if err := eachPiece(strings.NewReader(text), l.piece); err != nil {
				t.Fatal(err)
			}
			want := text
			if want != "" && !strings.HasSuffix(want, "\n") {
				want += "\n"
			}
			if out.String() != want {
				t.Errorf("of %d bytes, %.20q…, %d are printed", len(want), want, out.Len())
			}
		}
	}
	// A colour is not cut in two.
	for n := pieceSize - 8; n < pieceSize+2; n++ {
		var out strings.Builder
		w := humanize.NewPlainWriter(&out)
		l := &ActionLog{out: w}
		if err := eachPiece(strings.NewReader(strings.Repeat("x", n)+"\x1b[1;31mred\x1b[0m\n"), l.piece); err != nil {
			t.Fatal(err)
		}
		if got := out.String()[n:]; !strings.HasPrefix(got, "\x1b[1;31m") || strings.Contains(got, `\x1b`) {
			t.Errorf("behind %d bytes: %q", n, got)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	most := uint64(0)
	err := eachPiece(io.LimitReader(zeros{}, 1<<28), func(string, bool) {
		runtime.ReadMemStats(&after)
		most = max(most, after.HeapAlloc)
	})
	if err != nil || most > before.HeapAlloc+(16<<20) {
		t.Errorf("%v; %d MiB for a line of 256", err, (most-before.HeapAlloc)>>20)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
