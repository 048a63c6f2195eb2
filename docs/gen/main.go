// Command gen writes docs/json.md, docs/language.md and a page for each chapter below docs/language: the
// sections of this folder, with the tables of keys, evaluators and rules filled in from the tables that the
// program itself reads and checks loop files by.
package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"loops/docs"
	"loops/internal/api"
)

//go:generate go run . ..

//go:embed sections/*.md
var sections embed.FS

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: gen FOLDER"))
	}
	all, err := pages()
	if err != nil {
		fail(err)
	}
	if err := os.RemoveAll(filepath.Join(os.Args[1], "language")); err != nil { // with chapters that are none any more
		fail(err)
	}
	if err := os.Mkdir(filepath.Join(os.Args[1], "language"), 0o755); err != nil {
		fail(err)
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o644); err != nil {
			fail(err)
		}
	}
}

// pages returns all pages by their paths below docs.
func pages() (map[string]string, error) {
	json, err := api.Page()
	if err != nil {
		return nil, err
	}
	whole, err := language()
	if err != nil {
		return nil, err
	}
	index, chapters, err := split(string(whole))
	if err != nil {
		return nil, err
	}
	all := map[string]string{"json.md": string(json), "language.md": index}
	for name, text := range chapters {
		all["language/"+name] = text
	}
	return all, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "gen:", err)
	os.Exit(1)
}

// language returns the page of the loop language: the sections in the order of their names. It fails if a key of
// the language has no row in any table, so that a new key cannot be forgotten.
func language() ([]byte, error) {
	t := newTables()
	names, err := fs.Glob(sections, "sections/*.md")
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	page.WriteString(generated)
	for i, name := range names {
		if i > 0 {
			page.WriteByte('\n')
		}
		text, err := fs.ReadFile(sections, name)
		if err != nil {
			return nil, err
		}
		tmpl, err := template.New(name).Funcs(t.funcs()).Parse(string(text))
		if err != nil {
			return nil, err
		}
		if err := tmpl.Execute(&page, nil); err != nil {
			return nil, err
		}
	}
	text := strings.Replace(page.String(), "<!-- contents -->\n", contents(page.String()), 1)
	return []byte(text), t.complete()
}

// contents returns links to the chapters of a page and to their parts, a line a chapter.
func contents(page string) string {
	var b strings.Builder
	before := "\n* "
	for _, h := range docs.Headings(page) {
		separator := "\n* "
		if h.Level == 3 {
			separator = map[bool]string{true: ": ", false: ", "}[before == "\n* "]
		}
		fmt.Fprintf(&b, "%s[%s](#%s)", separator, h.Title, anchorOf(h.Title))
		before = separator
	}
	return strings.TrimPrefix(b.String(), "\n") + "\n"
}
