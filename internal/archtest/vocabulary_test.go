package archtest

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// vocabulary are wordings that docs/glossary.md replaces, and what is said instead. One is entered here when it
// is gone everywhere.
var vocabulary = []struct{ not, instead string }{
	{`\bsays whether\b`, "reports whether"},
	{`\bgone on with\b`, "resumed"},
	{`\bthe reference tool\b`, "little-loops"},
	{`\b(is|was|be|are|were|been) mended\b`, "fixed"},
	{`\bno run goes on\b`, "no run is running, or: no active runs"},
	{`\bruns? that goe?s? on\b`, "running run"},
	{`\blast words\b`, "last lines"},
	{`\bmatter of habit\b`, "style rule"},
	{`\b(is|are) told unasked\b`, "on by default"},
	{`\bno way out\b`, "no transition"},
	{`\bof room\b`, "free"},
	{`\bTime of these\b`, "duration"},
	{`\bsomebody\b`, "a user, a waiter, another process"},
	{`\bmends\b`, "fixes"},
	{`\brefuse[sd] for its rate\b`, "rate-limited"},
	{`\bGo on with it\b`, "Next, or: Resume with"},
	{`\bstands here twice\b`, "occurs twice"},
	{`\broom that made\b`, "the space that was freed"},
	{`\bis said where there are more\b`, "says when there are more"},
	{`\bnobody knows the price\b`, "the price is not known"},
	{`\b(dies|died) halfway\b`, "is killed"},
	{`\beverybody (of|there)\b`, "every waiter"},
}

// TestVocabulary holds code, help and documentation to the words of docs/glossary.md.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "*.go", "*.md", "*.yaml", "Makefile", ".ci/run")
	list.Dir = rootDir
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var literals []string
	for _, word := range vocabulary {
		literals = append(literals, literalOf(t, word.not))
	}
	looked := 0
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		if path == "internal/archtest/vocabulary_test.go" || path == "docs/glossary.md" ||
			path == "docs/CHANGELOG.md" || strings.Contains(filepath.ToSlash(path), "testdata/") {
			continue
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			t.Fatal(err)
		}
		looked++
		lower := strings.ToLower(string(text))
		for i, word := range vocabulary {
			if !strings.Contains(lower, literals[i]) {
				continue
			}
			for _, at := range regexp.MustCompile(`(?i)`+word.not).FindAllIndex(text, -1) {
				line := 1 + strings.Count(string(text[:at[0]]), "\n")
				t.Errorf("%s:%d: %q; say: %s", path, line, text[at[0]:at[1]], word.instead)
			}
		}
	}
	if looked < 500 {
		t.Errorf("only %d files were looked at", looked)
	}
}

// literalOf returns the longest text that is in whatever a pattern matches. Looking for it first spares most
// searches for patterns.
func literalOf(t *testing.T, pattern string) (longest string) {
	t.Helper()
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parsed.Sub {
		if text := string(part.Rune); parsed.Op == syntax.OpConcat && part.Op == syntax.OpLiteral &&
			len(text) > len(longest) {
			longest = text
		}
	}
	if longest == "" {
		t.Fatalf("%s has no text of its own", pattern)
	}
	return strings.ToLower(longest)
}
