package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/config"
	"loops/persistence"
)

// What a loop says of itself wins over the files, limit by limit, and a flag over both.
func TestConfigured(t *testing.T) {
	files := &config.Config{Delay: 2 * time.Second, Budget: config.Budget{Cost: 5, Tokens: 9, Wall: time.Hour, Steps: 7, Prompts: 3}}
	var flag budgetFlag
	if err := flag.Set("steps=none,cost=8"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		loop    fsm.Loop
		over    overrides
		backoff time.Duration
		budget  fsm.Budget
	}{
		{"a loop that says nothing", fsm.Loop{}, overrides{config: files}, 2 * time.Second, fsm.Budget{CostUSD: 5, Tokens: 9, Wall: time.Hour, Steps: 7, Prompts: 3}},
		{
			"a loop that says something",
			fsm.Loop{Backoff: time.Minute, Budget: &fsm.Budget{Steps: 100, AllowUnknown: true}},
			overrides{config: files},
			time.Minute,
			fsm.Budget{CostUSD: 5, Tokens: 9, Wall: time.Hour, Steps: 100, Prompts: 3, AllowUnknown: true},
		},
		{"flags", fsm.Loop{}, overrides{config: files, delaySet: true, budget: flag}, 0, fsm.Budget{CostUSD: 8, Tokens: 9, Wall: time.Hour, Prompts: 3}},
		{"no files", fsm.Loop{Budget: &fsm.Budget{Steps: 1}}, overrides{}, 0, fsm.Budget{Steps: 1}},
		{"files that say nothing", fsm.Loop{}, overrides{config: &config.Config{}}, 0, fsm.Budget{}},
	} {
		l, recorded := c.over.apply(&c.loop)
		var budget fsm.Budget
		if l.Budget != nil {
			budget = *l.Budget
		}
		if l.Backoff != c.backoff || budget != c.budget {
			t.Errorf("%s: backoff %v, budget %+v", c.name, l.Backoff, budget)
		}
		if _, is := recorded.Get("budget"); is != (c.name == "flags") {
			t.Errorf("%s: what is recorded is %v: files are read anew by a resume", c.name, recorded)
		}
	}
}

// The pause of the files holds in sub-loops that have none.
func TestConfiguredPauseOfSubloops(t *testing.T) {
	for _, c := range []struct {
		over       overrides
		own, wants time.Duration
	}{
		{overrides{config: &config.Config{Delay: time.Minute}}, 0, time.Minute},
		{overrides{config: &config.Config{Delay: time.Minute}}, time.Second, time.Second},
		{overrides{config: &config.Config{Delay: time.Minute}, delaySet: true, delay: 3}, time.Second, 3 * time.Second},
		{overrides{}, 0, 0},
	} {
		if got := newLibrary(project{}).subloops(c.over, nil).overridden(&fsm.Loop{Backoff: c.own}).Backoff; got != c.wants {
			t.Errorf("with %v of its own: %v, want %v", c.own, got, c.wants)
		}
	}
}

// How durably runs are recorded: the flag, then the files, then what the store does, in files and in a database.
func TestConfiguredDurability(t *testing.T) {
	for _, location := range []string{storeFiles, "sqlite:runs.db"} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			file, flag string
			want       persistence.Durability
		}{
			{"", "", persistence.Strict},
			{"run: {durability: none}", "", persistence.None},
			{"run: {durability: grouped}", "", persistence.Grouped},
			{"run: {durability: none}", "strict", persistence.Strict},
			{"", "grouped", persistence.Grouped},
		} {
			if err := os.WriteFile(filepath.Join(dir, folder, config.Name), []byte(c.file), 0o644); err != nil {
				t.Fatal(err)
			}
			a := &app{IO: IO{Dir: dir, Env: []string{}}, store: location}
			p, err := a.project()
			if err != nil {
				t.Fatal(err)
			}
			conf, err := a.config(p)
			if err != nil {
				t.Fatal(err)
			}
			store, err := a.records(t.Context(), p, true)
			if err != nil {
				t.Fatal(err)
			}
			store.setDurability(overrides{durability: c.flag, config: conf}.level())
			got := persistence.Durability(-1)
			switch s := store.Store.(type) {
			case *persistence.Dir:
				got = s.Durability
			case database:
				got = s.Durability
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			if got != c.want {
				t.Errorf("%s: with %q in the file and the flag %q: %v, want %v", location, c.file, c.flag, got, c.want)
			}
		}
	}
}

// Colours: the command line, then the environment, then the files, then whether it is a terminal.
func TestConfiguredColor(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, flag string
		given      bool
		env        string
		want       bool
	}{
		{"always", "auto", false, "", true},
		{"always", "auto", true, "", false},
		{"always", "never", true, "", false},
		{"always", "auto", false, "NO_COLOR=1", false},
		{"always", "auto", false, "TERM=dumb", false},
		{"never", "always", true, "NO_COLOR=1", true},
		{"never", "auto", false, "", false},
	} {
		if err := os.WriteFile(filepath.Join(dir, folder, config.Name), []byte("color: "+c.file), 0o644); err != nil {
			t.Fatal(err)
		}
		a := &app{IO: IO{Dir: dir, Env: []string{c.env}}, color: c.flag, colorGiven: c.given}
		if got := a.coloured(&bytes.Buffer{}); got != c.want {
			t.Errorf("%+v: coloured %t", c, got)
		}
	}
}
