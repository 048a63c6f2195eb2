package app

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/humanize"
	"loops/internal/mask"
	"loops/persistence"
)

// Secrets looks for secrets in what is recorded of all runs: tokens by their shape, and the values of names that the
// settings declare and no command prints. getenv looks up their variables.
func (x *Examination) Secrets(ctx context.Context, getenv func(string) (string, bool)) {
	const check = "secrets"
	store, err := x.Project.Records(ctx, false)
	if err != nil {
		x.add(Finding{Check: check, Level: FindingProblem, Text: x.Said(err)})
		return
	}
	defer store.Close() //nolint:errcheck // it was only read
	m := mask.New()
	if c, err := x.Project.Config(); err == nil {
		declareSecrets(m, c, getenv)
	}
	runs, err := store.Runs(ctx, persistence.Query{})
	if err != nil {
		x.add(Finding{Check: check, Level: FindingProblem, Text: x.Said(store.Failed(err))})
		return
	}
	found := 0
	for _, r := range project.Current(runs) {
		if ctx.Err() != nil {
			return
		}
		if f, has := x.secretsOf(ctx, store, r.ID, m); has {
			found++
			x.add(f)
		}
	}
	if found == 0 {
		x.add(Finding{Check: check, Level: FindingOK, Text: "none found in " + humanize.Count(len(runs), "run")})
	}
}

// declareSecrets has the values of names masked that can be read without starting anything.
func declareSecrets(m *mask.Masker, c *config.Config, getenv func(string) (string, bool)) {
	for _, s := range c.Secrets {
		switch {
		case s.File != "":
			if text, err := (config.Secret{File: s.File}).Read(getenv); err == nil {
				m.Add(s.Name, text)
			}
		case s.Env != "":
			text, _ := getenv(s.Env)
			m.Add(s.Name, text)
		}
	}
}

// mostSearched is how long a file may be that is searched.
const mostSearched = 256 << 20

// secretsOf returns what was found of one run: which kinds, and where the first is.
func (x *Examination) secretsOf(ctx context.Context, store *project.Records, id persistence.ID, m *mask.Masker) (f Finding, has bool) {
	var kinds []string
	where := ""
	note := func(b []byte, at func() string) {
		for _, name := range m.Names(b) {
			if !slices.Contains(kinds, name) {
				kinds = append(kinds, name)
			}
			if where == "" {
				where = at()
			}
		}
	}
	for ev, err := range store.Events(ctx, id, 0) {
		if err != nil {
			break // views of the run report damage
		}
		note(ev.AppendJSON(nil), func() string { return fmt.Sprintf("event %d", ev.Seq) })
	}
	if control, ok := store.Store.(persistence.Controller); ok {
		commands, _ := control.Commands(ctx, id, 0)
		for _, c := range commands {
			note(value.AppendJSON(nil, c.Args), func() string { return fmt.Sprintf("the %s that was sent to it", c.Kind) })
		}
	}
	_ = filepath.WalkDir(x.Project.RunDir(id), func(file string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == persistence.SealedFile {
			return nil //nolint:nilerr // what cannot be read is looked at by others
		}
		if info, err := e.Info(); err != nil || info.Size() > mostSearched {
			return nil //nolint:nilerr // it went
		}
		if b, err := os.ReadFile(file); err == nil {
			note(b, func() string { return x.Project.Short(file) })
		}
		return nil
	})
	if len(kinds) == 0 {
		return f, false
	}
	return Finding{
		Check: "secrets", Level: FindingWarning, Text: fmt.Sprintf("run %s has %s; the first is in %s", id, strings.Join(kinds, ", "), where),
		Todo: "replace what was recorded by a new one where it comes from, then " + x.Command("rm "+string(id)),
	}, true
}
