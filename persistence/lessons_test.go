package persistence_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"loops/fsm"
	"loops/internal/testenv"
	"loops/persistence"
)

// Many write at once, each fact is there once, and what is forgotten stays so.
func TestLessonFolder(t *testing.T) {
	t.Parallel()
	f := persistence.ProjectLessons(t.TempDir())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 10 {
				if err := f.Write(t.Context(), "m",
					fsm.Lesson{ID: fmt.Sprintf("r%d/%d", i%4, k), Run: fmt.Sprintf("r%d", i%4), Text: "x"}); err !=
					nil {
					t.Error(err)
				}
			}
			if err := f.Ended(t.Context(), "m",
				fsm.LessonUse{Run: fmt.Sprintf("r%d", i%4), Saw: []string{}, Ended: "terminal"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	load := func() persistence.Memory {
		m, err := f.Load("m")
		testenv.Must(t, err)
		return m
	}
	if m := load(); len(m.Facts) != 40 || len(m.Uses) != 4 || m.Damaged != 0 {
		t.Fatalf("%d facts, %d runs, %d damaged lines", len(m.Facts), len(m.Uses), m.Damaged)
	}
	before, err := os.ReadFile(f.Path("m"))
	testenv.Must(t, err)
	removed, err := f.Forget(t.Context(), "m", func(l fsm.Lesson) bool { return l.Run == "r1" })
	testenv.Must(t, err)
	testenv.Must(t, f.Write(t.Context(), "m", removed[0]))
	testenv.Must(t, f.Join(t.Context(), "m", before))
	if m := load(); len(removed) != 10 || len(m.Facts) != 30 || len(m.Forgotten) != 10 {
		t.Errorf("%d removed, %d facts, %d forgotten", len(removed), len(m.Facts), len(m.Forgotten))
	}
	testenv.Must(t, f.Ended(t.Context(), "m", fsm.LessonUse{Run: "r1", Saw: []string{"r2/1"}, Ended: "error"}))
	if m := load(); len(m.Uses) != 4 || m.Uses[len(m.Uses)-1].Run == "" {
		t.Errorf("%+v", m.Uses)
	}
}

// A memory has a bound: the oldest facts go.
func TestLessonsAreBounded(t *testing.T) {
	t.Parallel()
	f := persistence.ProjectLessons(t.TempDir())
	var b strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&b, "{\"id\":\"r/%d\",\"run\":\"r\",\"state\":\"s\",\"at\":\"t\",\"fact\":\"f\"}\n", i)
	}
	testenv.Must(t, f.Join(t.Context(), "m", []byte(b.String())))
	testenv.Must(t, f.Write(t.Context(), "m", fsm.Lesson{ID: "r/new", Run: "r", Text: "new"}))
	m, err := f.Load("m")
	testenv.Must(t, err)
	if n := len(m.Facts); n != 1000 || m.Facts[n-1].ID != "r/new" || m.Facts[0].ID != "r/201" {
		t.Errorf("%d facts, from %s", n, m.Facts[0].ID)
	}
	for _, name := range []string{"", ".x", "a/b", "a\nb", strings.Repeat("x", 300)} {
		if persistence.LessonName(name) == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
}
