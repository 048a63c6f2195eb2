package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Rules of a Makefile with the target test, in each way that they are written, and those that are none.
func TestRuleOfAMakefile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"test:\n\tsh x\n": true, "test check:\n\tsh x\n": true, "check test: a b\n\tsh x\n": true, "test::\n": true,
		"all:\n\n.PHONY: test\ntest : all\n": true, "test:": true,
		"test := x\n": false, "test ?= x\n": false, "test = x: y\n": false, ".PHONY: test\n": false,
		"tests:\n\tx\n": false, "x: test\n": false, "# test: x\n": false, "test::= x\n": false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := len(FindChecks(dir, "")) == 1; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Scripts that a check runs for their exit code are protected; what is checked is not.
func TestScriptsOfACheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.sh", "b.py", "tests/c.sh", "sub/d.sh", "odd[1].sh"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ folder, command, want string }{
		{"", "./a.sh", "a.sh"},
		{"", "sh -eu a.sh x && python3 b.py", "a.sh **/{pyproject.toml,setup.cfg} b.py"},
		{"", "A=1 exec bash a.sh; sh tests/c.sh", "a.sh"},
		{"", "\t@sh a.sh\n\t-./sub/d.sh || exit 1", "a.sh sub/d.sh"},
		{"", `sh "odd[1].sh"`, ""},
		{"sub", "sh ../a.sh && ./d.sh", "a.sh sub/d.sh"},
		{"sub", "make lint", "sub/{GNUmakefile,makefile,Makefile} **/*.mk"},
		{"sub", "sh ../../a.sh", ""},
		{"", "sh a.sh | grep -q 2", ""},
		{"", `[ "$(sh a.sh)" = 2 ]`, ""},
		{"", "sh -c a.sh", ""},
		{"", "a.sh", ""},
		{"", "sh none.sh", ""},
		{"", "sh sub", ""},
		{"", "", ""},
	} {
		got := NewCheck(dir, c.folder, c.command)
		if text := strings.Join(got.Protect, " "); text != c.want {
			t.Errorf("%s: %s: %q, want %q", c.folder, c.command, text, c.want)
		}
		if _, err := compiled(slices.Concat(got.Protect, TestFiles())); err != nil {
			t.Errorf("%s: %v", c.command, err)
		}
	}
}
