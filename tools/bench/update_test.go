package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The table of the documentation left out rows that are measured, and had targets of its own.
func TestPageHasEveryRow(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _, err := cutTable(string(doc))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	for i, m := range measures {
		if i >= len(rows) || !strings.HasPrefix(rows[i], m.promise()) {
			t.Fatalf("row %d of docs/performance.md is not %q; make bench", i+1, m.promise())
		}
	}
	if len(rows) > len(measures) {
		t.Errorf("docs/performance.md has a row that is not measured: %s", rows[len(measures)])
	}
}

// TestReadmeNumbers: the README has three of the rows, with the figures of docs/performance.md.
func TestReadmeNumbers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), tableHead)
	rows, _, _ := strings.Cut(rest, "\n\n")
	if n := strings.Count(rows, "\n") + 1; !found || n != 3 {
		t.Fatalf("the README has %d rows of numbers, want 3", n)
	}
	for row := range strings.Lines(rows) {
		if row = strings.TrimSuffix(row, "\n"); !strings.Contains(string(page), "\n"+row+"\n") {
			t.Errorf("docs/performance.md lacks this row of the README: %s", row)
		}
	}
}

func TestUpdateTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "doc.md")
	const before, after = "# a\n\n| what | target | measured |\n|---|---|---|\n| other | | |\n\nMeasured on this.\n" +
		"\n## Numbers\n\nMeasured on A.\ntext\n\n" + tableHead, "\nmore | text\n\n| x |\n"
	if err := os.WriteFile(path,
		[]byte(before+"| old | ≤ 1 | 2 |\n| older | | |\n| long | ≤ 20.0 MB | **32.0 MB** |\n"+after),
		0o600); err != nil {
		t.Fatal(err)
	}
	taken := []result{
		{measure{name: "fast", limit: 0.015, unit: millis}, "10.0 ms", false, false},
		{measure{name: "slow", limit: 1.3, unit: times}, "1.31×", true, false},
		{measure{name: "absent", limit: 20, unit: mega}, "not measured", false, false},
		{measure{name: "long", limit: 20, unit: mega}, "not measured", false, true}, // without -long
		{measure{name: "new", limit: 20, unit: mega}, "not measured", false, true},
	}
	if err := updateTable(path, "B", taken); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	want := strings.Replace(before, "Measured on A.", "Measured on B.", 1) +
		"| fast | ≤ 15.0 ms | 10.0 ms |\n| slow | ≤ 1.30× | **1.31×** |\n| absent | ≤ 20.0 MB | not measured |\n" +
		"| long | ≤ 20.0 MB | **32.0 MB** |\n| new | ≤ 20.0 MB | not measured |\n" + after
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const front = "| fast | ≤ 15.0 ms | 12.0 ms |\n| long | ≤ 20.0 MB | **32.0 MB** |\n| other | ≤ 1 | 2 |\n"
	if err := os.WriteFile(path, []byte(front), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := updateRows(path, taken); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != strings.Replace(front, "12.0 ms", "10.0 ms", 1) {
		t.Errorf("got\n%s", got)
	}
	for doc, want := range map[string]string{
		"# a\n":                       "has no section Numbers",
		"\n## Numbers\n\n| a | b |\n": "has no table",
	} {
		if _, _, _, err := cutTable(doc); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", doc, err, want)
		}
	}
}
