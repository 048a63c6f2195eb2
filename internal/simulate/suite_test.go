package simulate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/testenv"
)

// TestCases runs the cases of each archive of testdata/cases. The file beside it has the differences that come of them.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, c := range testenv.Cases(t, "testdata/cases/*.txtar") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.Unpack(t, "loops", dir, "", "")
			testenv.Golden(t, "testdata/cases/"+c.Name+".out", casesOf(t, dir, "x"))
		})
	}
}

// TestOurLoops runs the tests of our patterns and examples. Each loop has some.
func TestOurLoops(t *testing.T) {
	t.Parallel()
	n := 0
	for _, pattern := range []string{"../app/patterns/*.yaml", "../../.loops.example/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, loop := strings.CutSuffix(filepath.Base(file), ".yaml")
			if !loop || loopfile.IsSuite(file) {
				continue
			}
			n++
			dir, err := filepath.Abs(filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			out := casesOf(t, dir, name)
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "  ") || !strings.HasSuffix(line, " steps\n") {
					t.Errorf("%s:\n%s", file, out)
					break
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d loops were looked at", n)
	}
}

// casesOf runs the cases of NAME.test.yaml in a folder.
func casesOf(t *testing.T, dir, name string) string {
	t.Helper()
	loader := &loopfile.Loader{Loops: dir}
	l, problems, err := loader.Load(filepath.Join(dir, name+".yaml"))
	if err != nil || l == nil {
		t.Fatal(err, problems)
	}
	s, problems, err := loopfile.LoadSuite(filepath.Join(dir, name+loopfile.SuiteSuffix))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	say := func(format string, args ...any) {
		fmt.Fprintf(&out, "%s\n", strings.ReplaceAll(fmt.Sprintf(format, args...), dir+"/", ""))
	}
	lib := loaded{loader}
	if s != nil {
		for _, c := range s.Cases {
			problems = append(problems, checkCase(c, namesOf(l, lib))...)
		}
	}
	for _, p := range problems {
		say("%s: %s: %s", p.Pos, p.Rule, p.Message)
	}
	if s == nil || len(problems) > 0 {
		return out.String()
	}
	p := testProject(t, dir)
	for _, c := range s.Cases {
		res, err := rehearseCase(context.Background(), p, c, l, lib, nil)
		if err != nil {
			t.Fatal(err)
		}
		say("%s: %d steps", c.Name, res.Steps)
		for _, line := range res.Differences {
			say("  %s", line)
		}
	}
	return out.String()
}

// loaded is the library of a loader.
type loaded struct{ *loopfile.Loader }

func (l loaded) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	path, err := l.Child(name, from)
	if err != nil {
		return nil, err
	}
	loop, problems, err := l.Load(path)
	if err == nil && loop == nil {
		err = fmt.Errorf("%v", problems)
	}
	return loop, err
}

func testProject(_ *testing.T, dir string) *project.Project {
	return &project.Project{Dir: dir, Cwd: dir, Loops: dir}
}
