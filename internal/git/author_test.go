package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLastAuthor: git says who wrote a file only where it has it as it is, and others could have written it.
func TestLastAuthor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := Command(append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_EMAIL=eve@x", "GIT_AUTHOR_NAME=n",
		"GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=c@x"), time.Minute)
	must := func(args ...string) {
		t.Helper()
		if _, err := run(t.Context(), dir, nil, args...); err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
	}
	file := filepath.Join(dir, "[a] :(glob).yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when, want string) {
		t.Helper()
		a, err := LastAuthor(t.Context(), run, file)
		got := ""
		if a != nil {
			got = a.Email
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", when, got, err, want)
		}
	}
	write("one\n")
	check("without a repository", "")
	must("init", "-q")
	check("in a new one", "")
	must("remote", "add", "origin", filepath.Join(dir, "nowhere"))
	check("before the first commit", "")
	must("add", "-A")
	must("commit", "-qm", "one")
	check("as it was committed", "eve@x")
	write("two\n")
	check("changed since", "")
	must("commit", "-qam", "two", "--author", "ann <ann@x>")
	check("of another author", "ann@x")
	must("remote", "remove", "origin")
	check("in a repository that nothing was fetched into", "")
	must("remote", "add", "origin", filepath.Join(dir, "nowhere"))
	if err := os.WriteFile(filepath.Join(dir, ".mailmap"), []byte("me <me@x> <ann@x>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	must("config", "log.mailmap", "true")
	check("whose address a checkout would change", "ann@x")
	must("config", "user.email", "me@x")
	emails := Emails(t.Context(), run, dir, func(name string) (string, bool) {
		return map[string]string{"EMAIL": "e@x"}[name], true
	})
	if got := strings.Join(emails, " "); got != "e@x me@x" {
		t.Errorf("the user is %q", got)
	}
}
