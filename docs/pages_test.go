package docs_test

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"text/template"

	"loops/docs"
)

// sections are those of the language, with places for the tables of keys, evaluators and rules that the program itself
// reads and checks loop files by.
//
//go:embed gen/sections/*.md
var sections embed.FS

// pages returns all pages by their paths below docs.
func pages() (map[string]string, error) {
	json, err := jsonPage()
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

// language returns the page of the loop language: the sections in the order of their names. It fails if a key of
// the language has no row in any table, so that a new key cannot be forgotten.
func language() ([]byte, error) {
	t := newTables()
	names, err := fs.Glob(sections, "gen/sections/*.md")
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
