package archtest

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pages name the tests that show what they promise, as TestName, package.TestName, package.TestScript/name of a script,
// or `storetest: name of the case`.
var pages = []string{
	"docs/files.md", "docs/databases.md", "docs/checkpoint.md", "docs/security.md",
	"docs/protection.md", "docs/trust.md", "persistence/doc.go", "persistence/checkpoint/doc.go", "ARCHITECTURE.md",
}

var (
	citedTest  = regexp.MustCompile(`(?:([a-z]+(?:/[a-z]+)*)\.)?\b((?:Test|Fuzz)[A-Z]\w*)(/\w+)?`)
	citedCase  = regexp.MustCompile("`storetest: ([^`]+)`")
	aTest      = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
	promiseRow = regexp.MustCompile(`(?m)^(?:\| ([a-f]) \||//   - \(([a-f])\) )`)
)

// tests returns the folders that have a test of a name.
func tests(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := fs.WalkDir(root, ".", func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && file != "." && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		for _, m := range aTest.FindAllStringSubmatch(read(t, file), -1) {
			found[m[1]] = append(found[m[1]], filepath.ToSlash(filepath.Dir(file)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := fs.ReadFile(root, file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// missing returns the citations in a text that refer to nothing.
func missing(text string, found map[string][]string, cases string) []string {
	var bad []string
	for _, m := range citedTest.FindAllStringSubmatch(text, -1) {
		there := false
		for _, dir := range found[m[2]] {
			there = there || m[1] == "" || dir == m[1] || strings.HasSuffix(dir, "/"+m[1])
		}
		if there && m[2] == "TestScript" && m[3] != "" {
			_, err := fs.Stat(root, path.Join("cmd/loops/testdata/script", m[3]+".txtar"))
			there = err == nil
		}
		if !there {
			bad = append(bad, m[0])
		}
	}
	for _, m := range citedCase.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(cases, "\t{\""+m[1]+"\", func(") {
			bad = append(bad, m[1])
		}
	}
	return bad
}

// TestCitedTests: every test that a page names to show what it promises exists, in the package that it names.
func TestCitedTests(t *testing.T) {
	t.Parallel()
	found, cases := tests(t), ""
	suite, err := fs.Glob(root, "persistence/storetest/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range suite {
		cases += read(t, file)
	}
	for _, page := range pages {
		for _, name := range missing(read(t, page), found, cases) {
			t.Errorf("%s names %s, and there is no such test", page, name)
		}
	}
	for _, text := range []string{
		"`TestNothere`", "`reconcile.TestCrash`", "`TestScript/nothere`", "`storetest: nothing is lost ever`",
		"`FuzzNothere`",
	} {
		if len(missing(text, found, cases)) != 1 {
			t.Errorf("%s is not noticed", text)
		}
	}
}

// TestEachLineOfSecurity: docs/security.md is two pages, and each line of its table and lists names a test, or
// a program of the tests of sandboxes in quotation marks.
func TestEachLineOfSecurity(t *testing.T) {
	t.Parallel()
	programs, found := "", tests(t)
	files, err := fs.Glob(root, "internal/sandbox/*_linux_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		programs += read(t, file)
	}
	text := read(t, "docs/security.md")
	lines := strings.Split(text, "\n")
	if len(lines) > 125 {
		t.Errorf("it has %d lines", len(lines))
	}
	n := 0
	for _, line := range securityLine.FindAllString(text, -1) {
		if strings.HasPrefix(line, "| what") || strings.HasPrefix(line, "|--") {
			continue
		}
		n++
		shown := citedTest.MatchString(line) && len(missing(line, found, "")) == 0
		for _, m := range quotedProgram.FindAllStringSubmatch(strings.Join(strings.Fields(line), " "), -1) {
			if shown = strings.Contains(programs, "\t\""+m[1]+"\":"); !shown {
				t.Errorf("there is no program %q", m[1])
			}
		}
		if !shown {
			t.Errorf("no test shows: %s", line)
		}
	}
	if n < 40 {
		t.Errorf("it has %d lines of a table or a list", n)
	}
}

var (
	securityLine  = regexp.MustCompile(`(?m)^\|.*|^\* .*(?:\n  .*)*`)
	quotedProgram = regexp.MustCompile(`"([^"]+)"`)
)

// TestPromises: the six promises stand in both places, in their order, and each names a test.
func TestPromises(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"docs/files.md", "persistence/doc.go"} {
		text, letters := read(t, page), ""
		rows := promiseRow.FindAllStringSubmatchIndex(text, -1)
		for i, at := range rows {
			end := len(text)
			if i+1 < len(rows) {
				end = rows[i+1][0]
			} else if n := strings.Index(text[at[0]:], "\n\n"); n >= 0 {
				end = at[0] + n
			}
			row := text[at[0]:end]
			letter := strings.Trim(text[at[0]:at[1]], "|/- ()")
			letters += letter
			if !citedTest.MatchString(row) {
				t.Errorf("%s: promise (%s) names no test", page, letter)
			}
		}
		if letters != "abcdef" {
			t.Errorf("%s has the promises %q", page, letters)
		}
	}
}

var (
	citedRule = regexp.MustCompile(`\bD([0-9]{1,2})\b`)
	ruleRow   = regexp.MustCompile(`(?m)^\| (D[0-9]+) \|`)
	comment   = regexp.MustCompile(`(?m)//.*$`)
	citedPage = regexp.MustCompile(`[\w./-]*\w\.md\b`)
)

// TestDecisions: every decision is in docs/decisions.md once, none is left out, and code refers to those alone.
func TestDecisions(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, m := range ruleRow.FindAllStringSubmatch(read(t, "docs/decisions.md"), -1) {
		if known[m[1]] {
			t.Errorf("docs/decisions.md has %s twice", m[1])
		}
		known[m[1]] = true
	}
	for i := range len(known) {
		if name := "D" + strconv.Itoa(i+1); !known[name] {
			t.Errorf("docs/decisions.md lacks %s", name)
		}
	}
	eachComment(t, func(file, text string) {
		for _, name := range citedRule.FindAllString(text, -1) {
			if !known[name] {
				t.Errorf("%s refers to %s, which docs/decisions.md lacks: %s", file, name, text)
			}
		}
	})
}

// TestCommentsNameFilesThatExist: a comment refers to a page of this repository, by its path from the root,
// from its own folder, or from a folder above it.
func TestCommentsNameFilesThatExist(t *testing.T) {
	t.Parallel()
	eachComment(t, func(file, text string) {
		for _, name := range citedPage.FindAllString(text, -1) {
			if !exists(path.Dir(file), name) && !strings.Contains(text, "\""+name+"\"") &&
				!strings.Contains(text, "`"+name+"`") {
				t.Errorf("%s refers to %s, which does not exist: %s", file, name, text)
			}
		}
	})
}

// exists reports whether a file of this name lies in the folder or in one above it.
func exists(dir, name string) bool {
	for ; ; dir = path.Dir(dir) {
		if _, err := fs.Stat(root, path.Join(dir, name)); err == nil {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// eachComment calls f with each line comment of our Go files.
func eachComment(t *testing.T, f func(file, text string)) {
	t.Helper()
	n := 0
	err := fs.WalkDir(root, ".", func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() &&
			(e.Name() == "testdata" || e.Name() == "bin" || len(e.Name()) > 1 && strings.HasPrefix(e.Name(), ".")):
			return fs.SkipDir
		case path.Ext(file) != ".go":
			return nil
		}
		for _, text := range comment.FindAllString(read(t, file), -1) {
			n++
			f(filepath.ToSlash(file), text)
		}
		return nil
	})
	if err != nil || n < 1000 {
		t.Errorf("%d comments, %v", n, err)
	}
}
