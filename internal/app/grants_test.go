package app_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5" //nolint:depguard // makes the users of the database

	"loops/engine/project"
	"loops/engine/trigger"
	"loops/internal/app"
	"loops/internal/testenv"
	"loops/persistence"
)

// A member of loops_worker finds all tables there, and hands out jobs and takes them; a member of none finds nothing.
func TestWorkerNeedsNoMoreThanItsRole(t *testing.T) {
	t.Parallel()
	s, err := testenv.StartPostgres(t.Context(), testenv.QuickSettings...)
	if errors.Is(err, testenv.ErrNoPostgres) {
		testenv.Skip(t, "PostgreSQL: "+err.Error())
	}
	must(t, err)
	defer func() { must(t, s.Remove()) }()
	at := s.URL("runs")
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
	p, err := project.Open(dir, project.Options{Store: at})
	must(t, err)

	admin, err := pgx.Connect(t.Context(), at)
	must(t, err)
	defer admin.Close(t.Context())
	for _, text := range []string{"CREATE ROLE wim LOGIN", "CREATE ROLE ann LOGIN", "CREATE ROLE nobody LOGIN"} {
		_, err := admin.Exec(t.Context(), text)
		must(t, err)
	}
	dry, err := app.ApplyGrants(t.Context(), p, []string{"default=ann"}, nil, true)
	must(t, err)
	var there bool
	must(t, admin.QueryRow(t.Context(), "SELECT to_regnamespace('runs') IS NOT NULL").Scan(&there))
	if there {
		t.Error("a dry run did something")
	}
	for range 2 {
		done, err := app.ApplyGrants(t.Context(), p, []string{"default=ann"}, nil, false)
		must(t, err)
		if !slices.Equal(done, dry) {
			t.Error("what was done is not what a dry run shows")
		}
	}
	_, err = admin.Exec(t.Context(), "GRANT loops_worker TO wim")
	must(t, err)
	for _, bad := range []string{"ann", "=ann", "default=", "Not a queue=ann"} {
		if _, err := app.ApplyGrants(t.Context(), p, []string{bad}, nil, false); err == nil ||
			!strings.Contains(err.Error(), "expected QUEUE=USER") {
			t.Errorf("--allow %q: %v", bad, err)
		}
	}

	open := func(user string) *trigger.RiverQueue {
		q, err := trigger.OpenRiver(t.Context(), strings.Replace(at, "postgres://loops@", "postgres://"+user+"@", 1))
		must(t, err)
		t.Cleanup(func() { must(t, q.Close()) })
		return q
	}
	wim := open("wim")
	must(t, wim.Prepare(t.Context()))
	if _, err := wim.Place(t.Context(),
		persistence.Job{Run: "fix-20261121T103405", Queue: "default", Priority: 3}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	took := make(chan persistence.ID, 1)
	err = wim.Work(ctx, trigger.Subscription{Worker: "w", Slots: 1, Channels: []string{"default"}},
		func(_ context.Context, id persistence.ID) bool {
			took <- id
			cancel()
			return true
		})
	if len(took) != 1 || err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the worker took %d jobs: %v", len(took), err)
	}
	for _, user := range []string{"ann", "nobody"} {
		if placed, err := open(user).Place(t.Context(),
			persistence.Job{Run: "fix-20261121T103406", Queue: "default", Priority: 3}); err == nil && placed {
			t.Errorf("%s places jobs", user)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
