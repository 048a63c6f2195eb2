package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// raceFile lists the packages that CI tests under the race detector, and raceSkip the tests in them that do
// much with one goroutine, in which it finds nothing.
const (
	raceFile = "internal/testenv/race.txt"
	raceSkip = "internal/testenv/race_skip.txt"
)

// concurrent finds comments that promise use by several goroutines at once.
var concurrent = regexp.MustCompile(`\bmay be (called|used)( at once| by (several (goroutines|runs)|any))\b`)

// TestRaceList wants the race detector for each package with tests that starts goroutines, or whose comments
// promise that several may use it at once. -update rewrites the list.
func TestRaceList(t *testing.T) {
	t.Parallel()
	tested, listed := map[string]bool{}, map[string]bool{}
	eachGoFile(t, func(name string, _ *token.FileSet, f *ast.File) {
		if strings.HasPrefix(name, "tools/") { // modules of their own
			return
		}
		if strings.HasSuffix(name, "_test.go") {
			tested[path.Dir(name)] = true
		} else if startsGoroutine(f) || promisesConcurrency(f) {
			listed[path.Dir(name)] = true
		}
	})
	var list []string
	for dir := range listed {
		if tested[dir] {
			list = append(list, "./"+dir+"\n")
		}
	}
	slices.Sort(list)
	testenv.Golden(t, rootDir+raceFile, strings.Join(list, ""))
}

// TestRaceSkip wants each test that the race detector leaves out to exist, in the order of their names.
func TestRaceSkip(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	eachGoFile(t, func(name string, _ *token.FileSet, f *ast.File) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(name, "_test.go") {
				names[fn.Name.Name] = true
			}
		}
	})
	skipped := strings.Fields(read(t, raceSkip))
	if !slices.IsSorted(skipped) {
		t.Errorf("%s is not in order", raceSkip)
	}
	for _, name := range skipped {
		if !names[name] {
			t.Errorf("%s: there is no %s", raceSkip, name)
		}
	}
}

// startsGoroutine reports whether a file has a go statement, or has a group start one with its method Go.
func startsGoroutine(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Go" {
				found = true
			}
		}
		return !found
	})
	return found
}

func promisesConcurrency(f *ast.File) bool {
	return slices.ContainsFunc(f.Comments, func(g *ast.CommentGroup) bool {
		return concurrent.MatchString(strings.Join(strings.Fields(g.Text()), " "))
	})
}

// uninstrumented finds what the race detector leaves out.
var uninstrumented = regexp.MustCompile(`-gcflags=(\S+)=-race=false|local out=(\S+) `)

// A package that the race detector leaves out may instantiate no generic function: the linker may take its copy of
// sync.Map for the whole program, whose atomics the detector does not see. With modernc.org/... it reported races in
// encoding/json that are none. CI looks into the object of the one that is left out; a pattern would let in others.
func TestRaceDetectorLeavesOutSQLiteAlone(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"Makefile", ".ci/run"} {
		found := 0
		for _, m := range uninstrumented.FindAllStringSubmatch(read(t, file), -1) {
			if out := m[1] + m[2]; out != "$out" {
				found++
				if out != "modernc.org/sqlite/lib" {
					t.Errorf("%s leaves out %s", file, out)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s leaves out nothing", file)
		}
	}
}
