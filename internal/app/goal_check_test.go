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

// What a check runs in turn decides it as well: scripts that scripts run or include, scripts of package.json, and
// targets that a target of make needs.
func TestScriptsOfScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"package.json": `{"scripts": {"pretest": "npm run lint", "lint": "./scripts/lint",
			"test": "sh scripts/test.sh"}}`,
		"scripts/lint":     "#!/usr/bin/env bash\nexec node scripts/rules.js\n",
		"scripts/rules.js": "", "scripts/test.sh": ". scripts/lib.sh\n" + `source "$(dirname "$0")/more.sh"` + "\n" +
			`[ "$(sh sum.sh 1 1)" = 2 ]` + "\nif ! sh scripts/deep.sh > /dev/null 2>&1; then exit 1; fi\n# sh not.sh\n",
		"scripts/lib.sh": ". scripts/test.sh\n", "scripts/more.sh": "", "scripts/deep.sh": "cd sub && ./end.sh\n",
		"sub/end.sh": "sh ../../outside.sh; sh $NAME.sh; sh none.sh", "sum.sh": "", "not.sh": "",
		"Makefile": "SH = sh\n.PHONY: test\ntest: unit check\n\t@$(MAKE) more\nunit: ; sh a.sh\ncheck: unit test\n" +
			"\tsh b.sh\nmore:\n\t./c.sh\nother:\n\tsh sum.sh\n",
		"a.sh": "", "b.sh": "", "c.sh": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]string{
		"npm test": "scripts/lint scripts/rules.js scripts/test.sh scripts/lib.sh scripts/more.sh scripts/deep.sh " +
			"sub/end.sh",
		"make test": "c.sh a.sh b.sh",
		"make more": "c.sh",
	} {
		var found []string
		for _, p := range NewCheck(dir, "", command).Protect {
			if !strings.ContainsAny(p, "*{") {
				found = append(found, p)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
