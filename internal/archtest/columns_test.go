package archtest

import (
	"fmt"
	"go/scanner"
	"go/token"
	"strings"
	"testing"
)

// maxColumns is how wide a line of Go may be, with tabs of 4.
const maxColumns = 120

// TestColumns wants no wider line. What cannot be broken may be wider: a raw string, the tag of a field, a word such
// as an address, and a line with a directive.
func TestColumns(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		for _, problem := range wide(f.name, f.src) {
			t.Error(problem)
		}
	}
}

// wide returns the lines of a source that are too wide.
func wide(path, src string) (problems []string) {
	lines := strings.Split(src, "\n")
	raw := map[int]bool{}
	fset := token.NewFileSet()
	file := fset.AddFile(path, -1, len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.STRING && text[0] == '`' || tok == token.COMMENT && strings.HasPrefix(text, "/*") {
			for line := range strings.Count(text, "\n") + 1 {
				raw[file.Line(pos)+line] = true
			}
		}
	}
	for i, line := range lines {
		text := strings.TrimSpace(line)
		switch n := columns(line); {
		case n <= maxColumns, raw[i+1], strings.Contains(line, "//nolint"), strings.HasPrefix(text, "//go:"):
		case !strings.Contains(strings.TrimPrefix(text, "// "), " "):
		default:
			problems = append(problems, fmt.Sprintf("%s:%d: %d columns", path, i+1, n))
		}
	}
	return problems
}

// columns returns how wide a line is.
func columns(line string) (n int) {
	for _, r := range line {
		if n++; r == '\t' {
			n += 3 - (n-1)%4
		}
	}
	return n
}

func TestWide(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 24)
	src := "package a\n\n// " + long + "\n// " + strings.ReplaceAll(long, " ", "/") + "\nvar a = `" +
		long + "`\n\nvar b = \"" + long + "\"\n"
	want := []string{"a.go:3: 123 columns", "a.go:7: 130 columns"}
	if got := wide("a.go", src); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := columns("\t\tab\tc"); n != 13 {
		t.Errorf("%d columns, want 13", n)
	}
}
