package docs_test

import (
	"os"
	"strings"
	"testing"

	"loops/docs"
	"loops/fsm/loopfile"
	"loops/internal/testenv"
)

// TestPagesAreCurrent fails when a page of docs is not what the key table, the sections and the types of JSON
// output make.
func TestPagesAreCurrent(t *testing.T) {
	t.Parallel()
	want, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		testenv.Golden(t, name, text)
	}
	chapters, err := os.ReadDir("language")
	if err != nil || len(chapters)+2 != len(want) {
		t.Errorf("docs/language has %d pages, want %d (%v)", len(chapters), len(want)-2, err)
	}
}

// TestLanguageIsOnePage: what the program prints of the language is all of it, with the links of one page.
func TestLanguageIsOnePage(t *testing.T) {
	t.Parallel()
	want, err := language()
	if err != nil {
		t.Fatal(err)
	}
	if got := docs.Language(); got != string(want) {
		for i, line := range strings.Split(got, "\n") {
			if line != strings.Split(string(want), "\n")[i] {
				t.Fatalf("line %d: %s", i+1, line)
			}
		}
		t.Error("a part is missing")
	}
}

// TestOldAnchors: a link to a part of the page that the language was leads to a line of the index.
func TestOldAnchors(t *testing.T) {
	t.Parallel()
	all, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range docs.Headings(docs.Language()) {
		if n := strings.Count(all["language.md"], `<a id="`+anchorOf(h.Title)+`"></a>[`+h.Title+`](language/`); n != 1 {
			t.Errorf("%s is %d times in the index", h.Title, n)
		}
	}
}

func TestForgottenKey(t *testing.T) {
	t.Parallel()
	tables := newTables()
	tables.keys = append(tables.keys, loopfile.Key{Name: "new", In: loopfile.InState})
	if _, err := tables.all("state"); err != nil {
		t.Fatal(err)
	}
	if err := tables.complete(); err == nil || strings.Contains(err.Error(), "state new") ||
		!strings.Contains(err.Error(), "loop name") {
		t.Errorf("got %v", err)
	}
	if _, err := tables.some("state", "nosuch"); err == nil {
		t.Error("a key that does not exist has a row")
	}
	if _, err := tables.some("state", "action"); err == nil {
		t.Error("a key has two rows")
	}
}
