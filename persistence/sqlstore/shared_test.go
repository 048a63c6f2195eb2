package sqlstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"loops/persistence"
	"loops/persistence/sqlstore"
)

// TestTwoMachinesInOneMount: two machines had one folder mounted, and runs that change the same files of it ran
// on both at once.
func TestTwoMachinesInOneMount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, location func(testing.TB) string) {
		at := with(location(t), "lease=60s")
		in := func(project string) *sqlstore.Store {
			s := opened(t, at)
			s.Folder = filepath.Join(project, ".loops", "runs")
			return s
		}
		one, two, third := filepath.Join(t.TempDir(), "here"), filepath.Join(t.TempDir(), "mounted", "there"),
			t.TempDir()
		run := func(s *sqlstore.Store, host string, scope ...string) (persistence.Journal, error) {
			sp := spec(persistence.Owner{Host: host, PID: 77})
			sp.Scope = scope
			return s.Create(t.Context(), sp)
		}
		first, err := run(in(one), "a", filepath.Join(one, "src", "cart"))
		must(t, err)
		word, err := os.ReadFile(filepath.Join(one, ".loops", "runs", ".place"))
		must(t, err)
		must(t, os.MkdirAll(filepath.Join(two, ".loops", "runs"), 0o755))
		// one folder has one word, wherever it is mounted
		must(t, os.WriteFile(filepath.Join(two, ".loops", "runs", ".place"), word, 0o644))
		for name, c := range map[string]struct {
			project, host string
			scope         []string
			conflict      bool
		}{
			"the folder itself":         {two, "b", []string{two}, true},
			"a folder above":            {two, "b", []string{filepath.Dir(filepath.Dir(two))}, true},
			"the same files":            {two, "b", []string{filepath.Join(two, "src")}, true},
			"the same machine":          {one, "a", []string{filepath.Join(one, "src")}, true},
			"other files":               {two, "b", []string{filepath.Join(two, "docs")}, false},
			"beside the folder":         {two, "b", []string{filepath.Join(filepath.Dir(two), "src")}, false},
			"another folder":            {third, "b", []string{filepath.Join(third, "src")}, false},
			"a path of another machine": {third, "b", []string{filepath.Join(one, "src")}, false},
		} {
			j, err := run(in(c.project), c.host, c.scope...)
			var conflict *persistence.ConflictError
			if errors.As(err, &conflict) != c.conflict || err != nil && !c.conflict {
				t.Errorf("%s: %v", name, err)
			}
			if c.conflict && conflict != nil && (conflict.Holder != first.Run().ID || conflict.Owner.Host != "a") {
				t.Errorf("%s: the conflict is with %+v", name, conflict)
			}
			if j != nil {
				must(t, j.Close(t.Context()))
			}
		}
		must(t, first.Close(t.Context()))
	})
}
