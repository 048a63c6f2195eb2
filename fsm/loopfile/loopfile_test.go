package loopfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
	"loops/internal/testenv"
)

// TestProblems holds one mistake a case: a file NAME.yaml, or a folder NAME of a project whose loop is main.yaml, and
// in NAME.out the problems that are reported.
func TestProblems(t *testing.T) {
	// Not parallel: the test changes the working directory.
	entries, err := os.ReadDir("testdata/problems")
	if err != nil {
		t.Fatal(err)
	}
	files, folders := 0, 0
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".yaml")
		switch {
		case e.IsDir():
			folders++
			t.Run(name, func(t *testing.T) { testFolder(t, name) })
		case ok:
			files++
			t.Run(name, func(t *testing.T) {
				data, err := os.ReadFile("testdata/problems/" + name + ".yaml")
				if err != nil {
					t.Fatal(err)
				}
				loop, problems := Parse(name+".yaml", data, nil)
				checkProblems(t, "testdata/problems/"+name+".out", loop, problems, func(string) []byte { return data })
			})
		}
	}
	if files < 100 || folders < 50 {
		t.Errorf("only %d files and %d folders", files, folders)
	}
}

func testFolder(t *testing.T, name string) {
	out, err := filepath.Abs("testdata/problems/" + name + ".out")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("testdata/problems/" + name)
	loop, problems, err := (&Loader{Loops: ".", Catalog: "catalog"}).Load("main.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checkProblems(t, out, loop, problems, func(file string) []byte {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		return data
	})
}

func checkProblems(t *testing.T, out string, loop *fsm.Loop, problems []fsm.Problem, source func(string) []byte) {
	t.Helper()
	if len(problems) == 0 {
		t.Error("no problem found")
	}
	failed := false
	for _, p := range problems {
		failed = failed || p.Severity == fsm.SeverityError
		if source(p.Pos.File) == nil || p.Pos.Line < 1 || p.Pos.Col < 1 || p.Rule == "" || p.Message == "" {
			t.Errorf("incomplete: %+v", p)
		}
	}
	if failed != (loop == nil) {
		t.Errorf("loop == nil is %v with errors %v", loop == nil, failed)
	}
	got := Render(problems, source, false)
	testenv.Golden(t, out, got)
}
