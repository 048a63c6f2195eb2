package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The table of the README left out rows that are measured, and had targets of its own.
func TestReadmeHasEveryRow(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../README.md")
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
			t.Fatalf("row %d of the README is not %q; go run ./bench -write README.md", i+1, m.promise())
		}
	}
	if len(rows) > len(measures) {
		t.Errorf("the README has a row that is not measured: %s", rows[len(measures)])
	}
}

func TestUpdateTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "doc.md")
	const before, after = "# a\n\n| what | target | measured |\n|---|---|---|\n| other | | |\n\n## Numbers\n\ntext\n\n" + tableHead, "\nmore | text\n\n| x |\n"
	if err := os.WriteFile(path, []byte(before+"| old | ≤ 1 | 2 |\n| older | | |\n| long | ≤ 20.0 MB | **32.0 MB** |\n"+after), 0o600); err != nil {
		t.Fatal(err)
	}
	taken := []result{
		{measure{name: "fast", limit: 0.015, unit: millis}, "10.0 ms", false, false},
		{measure{name: "slow", limit: 1.3, unit: times}, "1.31×", true, false},
		{measure{name: "absent", limit: 20, unit: mega}, "not measured", false, false},
		{measure{name: "long", limit: 20, unit: mega}, "not measured", false, true}, // without -long
		{measure{name: "new", limit: 20, unit: mega}, "not measured", false, true},
	}
	if err := updateTable(path, taken); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	want := before + "| fast | ≤ 15.0 ms | 10.0 ms |\n| slow | ≤ 1.30× | **1.31×** |\n| absent | ≤ 20.0 MB | not measured |\n| long | ≤ 20.0 MB | **32.0 MB** |\n| new | ≤ 20.0 MB | not measured |\n" + after
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for doc, want := range map[string]string{"# a\n": "has no section Numbers", "\n## Numbers\n\n| a | b |\n": "has no table"} {
		if _, _, _, err := cutTable(doc); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", doc, err, want)
		}
	}
}
