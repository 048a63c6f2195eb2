package glob_test

import (
	"testing"

	"loops/fsm/glob"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"Makefile", "Makefile", true},
		{"Makefile", "sub/Makefile", false},
		{"**/Makefile", "Makefile", true},
		{"**/Makefile", "a/b/Makefile", true},
		{"**/*_test.go", "a/x_test.go", true},
		{"**/*_test.go", "a/x_test.go.txt", false},
		{"**/*_test.go", ".hidden/x_test.go", true},
		{".github/**", ".github/workflows/ci.yml", true},
		{".github/**", ".github", false},
		{".github", ".github/workflows/ci.yml", true},
		{"src/", "src/a/b", true},
		{"./src/**", "src/.env", true},
		{"src/*", "src/a/b", true}, // it is below src/a
		{"src/*.go", "src/a/b.go", false},
		{"src/**/*.go", "src/b.go", true},
		{"src/**/gen/**/x", "src/a/gen/b/c/x", true},
		{"src/**/gen/**/x", "src/a/b/x", false},
		{"{a,b}/[xy]?.c", "b/y1.c", true},
		{"{a,b}/[xy]?.c", "c/y1.c", false},
		{`a\*b`, "a*b", true},
		{`a\*b`, "axb", false},
		{"line\nend*", "line\nend\n", true},
		{"**", "a", true},
		{`\[a`, "[a", true},
		{`\{a`, "{a", true},
		{"a]", "a]", true},
		{"a}", "a}", true},
		{"{a}", "{a}", true},
		{"[]a]", "]", true},
		{"[{]", "{", true},
		{"*", ".env", true},
	} {
		p, err := glob.Compile(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Covers(c.path); got != c.want {
			t.Errorf("%q covers %q: %v, want %v", c.pattern, c.path, got, c.want)
		}
	}
	for _, bad := range []string{
		"", "/etc", "../x", "a//b", "a/./b", "a/{1..3}", "a/..", "[", "a[1", "[a/b]", "[]",
		"{a", "{a,{b}", "a/{b,c",
	} {
		if _, err := glob.Compile(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if (glob.Pattern{}).Covers("a") {
		t.Error("the zero Pattern matches")
	}
}
