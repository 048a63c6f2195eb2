package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/config"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// What a loop says of itself wins over the files, limit by limit, and a flag over both.
func TestConfigured(t *testing.T) {
	files := &config.Config{
		Delay:  2 * time.Second,
		Budget: config.Budget{Cost: 5, Tokens: 9, Wall: time.Hour, Steps: 7, Prompts: 3},
	}
	var flag project.Budget
	if err := flag.Set("steps=none,cost=8"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		loop    fsm.Loop
		over    project.Overrides
		backoff time.Duration
		budget  fsm.Budget
	}{
		{
			"a loop that says nothing",
			fsm.Loop{},
			project.Overrides{Config: files},
			2 * time.Second,
			fsm.Budget{CostUSD: 5, Tokens: 9, Wall: time.Hour, Steps: 7, Prompts: 3},
		},
		{
			"a loop that says something",
			fsm.Loop{Backoff: time.Minute, Budget: &fsm.Budget{Steps: 100, AllowUnknown: true}},
			project.Overrides{Config: files},
			time.Minute,
			fsm.Budget{CostUSD: 5, Tokens: 9, Wall: time.Hour, Steps: 100, Prompts: 3, AllowUnknown: true},
		},
		{
			"flags",
			fsm.Loop{},
			project.Overrides{Config: files, DelaySet: true, Budget: flag},
			0,
			fsm.Budget{CostUSD: 8, Tokens: 9, Wall: time.Hour, Prompts: 3},
		},
		{"no files", fsm.Loop{Budget: &fsm.Budget{Steps: 1}}, project.Overrides{}, 0, fsm.Budget{Steps: 1}},
		{"files that say nothing", fsm.Loop{}, project.Overrides{Config: &config.Config{}}, 0, fsm.Budget{}},
	} {
		l, recorded := c.over.Apply(&c.loop)
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
		over       project.Overrides
		own, wants time.Duration
	}{
		{project.Overrides{Config: &config.Config{Delay: time.Minute}}, 0, time.Minute},
		{project.Overrides{Config: &config.Config{Delay: time.Minute}}, time.Second, time.Second},
		{
			project.Overrides{Config: &config.Config{Delay: time.Minute}, DelaySet: true, Delay: 3},
			time.Second,
			3 * time.Second,
		},
		{project.Overrides{}, 0, 0},
	} {
		if got := project.NewLibrary(&project.Project{}).Subloops(c.over, nil).Overridden(&fsm.Loop{Backoff: c.own}).
			Backoff; got != c.wants {
			t.Errorf("with %v of its own: %v, want %v", c.own, got, c.wants)
		}
	}
}

// How durably runs are recorded: the flag, then the files, then what the store does, in files and in a database.
func TestConfiguredDurability(t *testing.T) {
	for _, location := range []string{project.StoreFiles, "sqlite:runs.db"} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, project.Folder), 0o755); err != nil {
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
			if err := os.WriteFile(filepath.Join(dir, project.Folder, config.Name), []byte(c.file), 0o644); err != nil {
				t.Fatal(err)
			}
			a := &program{IO: IO{Dir: dir, Env: []string{}}, store: location}
			p, err := a.project()
			if err != nil {
				t.Fatal(err)
			}
			conf, err := p.Config()
			if err != nil {
				t.Fatal(err)
			}
			store, err := p.Records(t.Context(), true)
			if err != nil {
				t.Fatal(err)
			}
			store.SetDurability(project.Overrides{Durability: c.flag, Config: conf}.Level())
			got := persistence.Durability(-1)
			switch s := store.Store.(type) {
			case *dirstore.Store:
				got = s.Durability
			case project.Database:
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
	if err := os.MkdirAll(filepath.Join(dir, project.Folder), 0o755); err != nil {
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
		if err := os.WriteFile(filepath.Join(dir, project.Folder, config.Name), []byte("color: "+c.file),
			0o644); err != nil {
			t.Fatal(err)
		}
		a := &program{IO: IO{Dir: dir, Env: []string{c.env}}, color: c.flag, colorGiven: c.given}
		if got := a.coloured(&bytes.Buffer{}); got != c.want {
			t.Errorf("%+v: coloured %t", c, got)
		}
	}
}
