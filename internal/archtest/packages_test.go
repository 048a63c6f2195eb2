package archtest

import (
	"bytes"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// packagesPage lists the packages for readers. It is made by go test ./internal/archtest -run PackagesPage -update.
const packagesPage = "docs/packages.md"

// TestPackagesPage wants a first sentence of every package, and a page with all of them.
func TestPackagesPage(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString("<!-- Made of the comments of the packages by go test ./internal/archtest -run PackagesPage " +
		"-update. -->\n\n# Packages\n\n" +
		"[ARCHITECTURE.md](../ARCHITECTURE.md) says how they work together, internal/archtest/arrows.txt which may " +
		"import which.\n\n| package | what it does |\n|---|---|\n")
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		about := firstSentence(t, p)
		if about == "" {
			t.Errorf("%s has no comment that says what it does", p.ImportPath)
		}
		fmt.Fprintf(&page, "| `%s` | %s |\n", short(p.ImportPath), strings.ReplaceAll(about, "|", `\|`))
	}
	testenv.Golden(t, rootDir+packagesPage, page.String())
}

// firstSentence returns the first sentence of the comment of a package without "Package x" or "Command x", ""
// if it has none.
func firstSentence(t *testing.T, p goPackage) string {
	t.Helper()
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil,
			parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc == nil {
			continue
		}
		_, about, _ := strings.Cut(new(doc.Package).Synopsis(f.Doc.Text()), " ")
		_, about, _ = strings.Cut(about, " ")
		return strings.NewReplacer("[", "", "]", "").Replace(about)
	}
	return ""
}

const maxPackage = 4500

// longest are how long packages that have a reason to be long may get.
var longest = map[string]int{"cmd/loops/cli": 14_000}

// longFile says why packages are longer than that, a line for each.
const longFile = "internal/archtest/long.txt"

// TestPackageLength wants a reason, in long.txt, of every package over 4,500 lines, tests aside, and of no other.
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
	for _, problem := range packageLengths(lines, read(t, longFile)) {
		t.Error(problem)
	}
}

// packageLengths returns which packages are too long without a line in the file of reasons, and which lines are
// of packages that are not.
func packageLengths(lines map[string]int, file string) (problems []string) {
	reasons := map[string]bool{}
	for line := range strings.Lines(file) {
		p, why, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(p, "#") {
			continue
		}
		reasons[p] = why != ""
		if n := lines[p]; n <= maxPackage {
			problems = append(problems, fmt.Sprintf("%s says why %s is long, and it has %d lines: remove the line",
				longFile, p, n))
		}
	}
	for _, p := range slices.Sorted(maps.Keys(lines)) {
		if most, set := longest[p]; set && lines[p] > most {
			problems = append(problems,
				fmt.Sprintf("%s has %d lines, and may have %d: move what other faces would call below it", p,
					lines[p], most))
		}
		if lines[p] > maxPackage && !reasons[p] {
			problems = append(problems, fmt.Sprintf("%s has %d lines: split it, or say in %s why it is so long", p,
				lines[p], longFile))
		}
	}
	return problems
}

// TestPackageLengths makes sure that TestPackageLength can fail.
func TestPackageLengths(t *testing.T) {
	t.Parallel()
	file := "# Why.\n\na/b: it is one table\nc:\ncmd/loops/cli: a file for each command\nd: it was long\n"
	got := packageLengths(map[string]int{"a/b": 4501, "c": 4501, "cmd/loops/cli": 14_001, "d": 4500, "f": 4500}, file)
	want := []string{
		longFile + " says why d is long, and it has 4500 lines: remove the line",
		"c has 4501 lines: split it, or say in " + longFile + " why it is so long",
		"cmd/loops/cli has 14001 lines, and may have 14000: move what other faces would call below it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
