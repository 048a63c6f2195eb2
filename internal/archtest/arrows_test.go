package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"loops/internal/testenv"
)

// arrowsFile says what each package imports, tests and the standard library aside, a line for each package, and
// which packages of the standard library it may not import, with what lies below them, and why. A new package
// or arrow is a decision: go test ./internal/archtest -run Arrows -update writes the first kind of lines, and
// the second kind is written by hand.
const arrowsFile = "internal/archtest/arrows.txt"

const maxLines = 600

func TestArrows(t *testing.T) {
	t.Parallel()
	file, err := fs.ReadFile(root, arrowsFile)
	if err != nil {
		t.Fatal(err)
	}
	text, problems := arrows(string(file), packages(t))
	for _, problem := range problems {
		t.Error(problem)
	}
	testenv.Golden(t, rootDir+arrowsFile, text)
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
		problems = append(problems, fmt.Sprintf("%s says what %s may not import, which does not exist", arrowsFile,
			name))
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
	p := goPackage{
		ImportPath: "loops/x", GoFiles: []string{"x.go"},
		Imports: []string{"fmt", "os/exec", "loops/y", "gopkg.in/yaml.v3"},
	}
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

// goList asks go for the packages of the module, once for all tests. No test may change one.
var goList = sync.OnceValues(func() (list []goPackage, err error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports", "./...")
	cmd.Dir = rootDir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
})

func packages(t *testing.T) []goPackage {
	t.Helper()
	list, err := goList()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFileLength wants a reason, in the first comment, of every file over 600 lines that is not a test.
func TestFileLength(t *testing.T) {
	t.Parallel()
	reason := regexp.MustCompile(`\b(file|table) is long\b`)
	for _, f := range sources(t) {
		if strings.HasSuffix(f.name, "_test.go") {
			continue
		}
		n := strings.Count(f.src, "\n")
		if n > maxLines && (len(f.file.Comments) == 0 || !reason.MatchString(f.file.Comments[0].Text())) {
			t.Errorf("%s has %d lines: split it, or say in its first comment why it is so long", f.name, n)
		}
	}
}
