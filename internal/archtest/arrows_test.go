package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// arrowsFile says what each package imports, tests and the standard library aside, a line for each package, and which packages of
// the standard library it may not import, with what lies below them, and why. A new package or arrow is a decision:
// go test ./internal/archtest -run Arrows -update writes the first kind of lines, and the second kind is written by hand.
const arrowsFile = "internal/archtest/arrows.txt"

const maxLines = 400

func TestArrows(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(arrowsFile)
	if err != nil {
		t.Fatal(err)
	}
	text, problems := arrows(string(file), packages(t))
	for _, problem := range problems {
		t.Error(problem)
	}
	testenv.Golden(t, arrowsFile, text)
}

// arrows returns the file of arrows as the packages are, and where they import what the file denies them.
func arrows(file string, all []goPackage) (text string, problems []string) {
	var head, lines []string
	denied := map[string]map[string]string{} // why, by package and what it may not import
	for line := range strings.Lines(file) {
		pkg, rule, isRule := strings.Cut(line, " !")
		std, why, _ := strings.Cut(strings.TrimSpace(rule), ": ")
		switch {
		case strings.HasPrefix(line, "#") || line == "\n":
			head = append(head, line)
		case isRule:
			if denied[pkg] == nil {
				denied[pkg] = map[string]string{}
			}
			denied[pkg][std] = why
			lines = append(lines, line)
		}
	}
	for _, p := range all {
		if len(p.GoFiles) == 0 {
			continue // tests only
		}
		name := short(p.ImportPath)
		line := name + ":"
		for _, imp := range p.Imports {
			first, _, _ := strings.Cut(imp, "/")
			if first == "loops" || strings.Contains(first, ".") {
				line += " " + short(imp)
			} else if why := denial(denied[name], imp); why != "" {
				problems = append(problems, fmt.Sprintf("%s may not import %s: %s", name, imp, why))
			}
		}
		lines = append(lines, line+"\n")
		delete(denied, name)
	}
	for name := range denied {
		problems = append(problems, fmt.Sprintf("%s says what %s may not import, which does not exist", arrowsFile, name))
	}
	slices.Sort(lines)
	return strings.Join(head, "") + strings.Join(lines, ""), problems
}

// short is an import path without the name of the module.
func short(importPath string) string { return strings.TrimPrefix(importPath, "loops/") }

// denial returns why a package is denied, "" if it is not.
func denial(denied map[string]string, imp string) string {
	for d, why := range denied {
		if within(imp, d) {
			return why
		}
	}
	return ""
}

func within(imp, tree string) bool { return imp == tree || strings.HasPrefix(imp, tree+"/") }

func TestArrowsOfAFile(t *testing.T) {
	t.Parallel()
	file := "# Head.\n\nx !os: it sees no disk\nx: y\ngone !net: it was quiet\n"
	p := goPackage{ImportPath: "loops/x", GoFiles: []string{"x.go"}, Imports: []string{"fmt", "os/exec", "loops/y", "gopkg.in/yaml.v3"}}
	text, problems := arrows(file, []goPackage{p, {ImportPath: "loops/tests"}})
	if want := "# Head.\n\ngone !net: it was quiet\nx !os: it sees no disk\nx: y gopkg.in/yaml.v3\n"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	want := []string{
		"x may not import os/exec: it sees no disk",
		arrowsFile + " says what gone may not import, which does not exist",
	}
	if !slices.Equal(problems, want) {
		t.Errorf("got %q, want %q", problems, want)
	}
}

type goPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// TestFileLength wants a reason, in the first comment, of every file over 400 lines that is not a test.
func TestFileLength(t *testing.T) {
	t.Parallel()
	reason := regexp.MustCompile(`\b(file|table) is long\b`)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		n := bytes.Count(src, []byte("\n"))
		if n > maxLines && !reason.MatchString(firstComment(t, name, src)) {
			t.Errorf("%s has %d lines: split it, or say in its first comment why it is so long", name, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

const maxPackage = 4500

// longest are how long packages that have a reason to be long may get.
var longest = map[string]int{"cmd/loops/cli": 11_700}

// largePackage is a row of the table in ARCHITECTURE.md that says why a package is so long.
var largePackage = regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\| [^|]*\\w[^|]* \\|$")

// TestPackageLength wants a reason, in ARCHITECTURE.md, of every package over 4,500 lines, tests aside, and of no other.
func TestPackageLength(t *testing.T) {
	t.Parallel()
	lines := map[string]int{}
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			lines[strings.TrimPrefix(p.ImportPath, "loops/")] += bytes.Count(src, []byte("\n"))
		}
	}
	for _, problem := range packageLengths(lines, read(t, "ARCHITECTURE.md")) {
		t.Error(problem)
	}
}

// packageLengths returns which packages are too long without a row in the table, and which rows are of packages that are not.
func packageLengths(lines map[string]int, page string) (problems []string) {
	_, table, _ := strings.Cut(page, "\n## Packages over 4,500 lines\n")
	table, _, _ = strings.Cut(table, "\n## ")
	reasons := map[string]bool{}
	for _, m := range largePackage.FindAllStringSubmatch(table, -1) {
		reasons[m[1]] = true
		if n := lines[m[1]]; n <= maxPackage {
			problems = append(problems, fmt.Sprintf("ARCHITECTURE.md says why %s is long, and it has %d lines: remove the row", m[1], n))
		}
	}
	for _, p := range slices.Sorted(maps.Keys(lines)) {
		if most, set := longest[p]; set && lines[p] > most {
			problems = append(problems, fmt.Sprintf("%s has %d lines, and may have %d: move what other faces would call below it", p, lines[p], most))
		}
		if lines[p] > maxPackage && !reasons[p] {
			problems = append(problems, fmt.Sprintf("%s has %d lines: split it, or say under \"Packages over 4,500 lines\" in ARCHITECTURE.md why it is so long", p, lines[p]))
		}
	}
	return problems
}

// TestPackageLengths makes sure that TestPackageLength can fail.
func TestPackageLengths(t *testing.T) {
	t.Parallel()
	page := "\n## Packages over 4,500 lines\n\n| package | why |\n|---|---|\n| `a/b` | it is one table |\n| `c` |  |\n| `d` | it was long |\n\n## More\n\n| `e` | elsewhere |\n"
	page = strings.Replace(page, "| `d` |", "| `cmd/loops/cli` | a file for each command |\n| `d` |", 1)
	got := packageLengths(map[string]int{"a/b": 4501, "c": 4501, "cmd/loops/cli": 11_701, "d": 4500, "e": 5000, "f": 4500}, page)
	want := []string{
		"ARCHITECTURE.md says why d is long, and it has 4500 lines: remove the row",
		`c has 4501 lines: split it, or say under "Packages over 4,500 lines" in ARCHITECTURE.md why it is so long`,
		"cmd/loops/cli has 11701 lines, and may have 11700: move what other faces would call below it",
		`e has 5000 lines: split it, or say under "Packages over 4,500 lines" in ARCHITECTURE.md why it is so long`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func firstComment(t *testing.T, name string, src []byte) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Comments) == 0 {
		return ""
	}
	return f.Comments[0].Text()
}
