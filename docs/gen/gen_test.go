package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"loops/fsm/loopfile"
	"loops/internal/api"
)

// TestPageIsCurrent fails when docs/language.md is not what the key table and the sections make.
func TestPageIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := language()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../language.md")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), want) {
		return
	}
	old := strings.Split(string(got), "\n")
	shown := 0
	for _, line := range strings.Split(string(want), "\n") {
		if !slices.Contains(old, line) && shown < 10 {
			t.Errorf("docs/language.md lacks: %s", line)
			shown++
		}
	}
	t.Error("docs/language.md is out of date: run make generate")
}

// TestJSONPageIsCurrent fails when docs/json.md is not what the types of JSON output make.
func TestJSONPageIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := api.Page()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../json.md")
	if err != nil || !bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), want) {
		t.Errorf("docs/json.md is out of date: run make generate (%v)", err)
	}
}

func TestForgottenKey(t *testing.T) {
	t.Parallel()
	tables := newTables()
	tables.keys = append(tables.keys, loopfile.Key{Name: "new", In: loopfile.InState})
	if _, err := tables.all("state"); err != nil {
		t.Fatal(err)
	}
	if err := tables.complete(); err == nil || strings.Contains(err.Error(), "state new") || !strings.Contains(err.Error(), "loop name") {
		t.Errorf("got %v", err)
	}
	if _, err := tables.some("state", "nosuch"); err == nil {
		t.Error("a key that does not exist has a row")
	}
	if _, err := tables.some("state", "action"); err == nil {
		t.Error("a key has two rows")
	}
}
