package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loops/internal/config"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// A wallet is a purse whose clock and settings the test sets.
func wallet(run persistence.ID, now *time.Time, settings *config.Spend, project, user persistence.Ledger) *Purse {
	p := NewPurse(run, func() config.Spend { return *settings }, project, user)
	p.now = func() time.Time { return *now }
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestFull: what several runs spent in the last hour and day counts, of this project and of all, until it is
// that long ago.
func TestFull(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 21, 10, 2, 0, 0, time.UTC)
	now := begin
	settings := config.Spend{Project: config.SpendRate{PerHour: 10, PerDay: 30}, All: config.SpendRate{PerHour: 12}}
	shop, api, user := dirstore.LedgerOf(t.TempDir()), dirstore.LedgerOf(t.TempDir()), dirstore.LedgerOf(t.TempDir())
	one, two, other := wallet("one", &now, &settings, shop, user), wallet("two", &now, &settings, shop, user),
		wallet("other", &now, &settings, api, user)
	full := func(p *Purse, want string, until time.Time) {
		t.Helper()
		if why, at := p.Full(t.Context()); why != want || !at.Equal(until) {
			t.Errorf("at %s: %q until %s, want %q until %s", now.Format(time.TimeOnly), why, at, want, until)
		}
	}
	full(one, "", time.Time{})
	must(t, one.Spent(4))
	must(t, two.Spent(5.99))
	full(one, "", time.Time{})
	now = begin.Add(20 * time.Minute)
	must(t, two.Spent(0.01))
	why := "this project spent $10.0000 in the last hour, and may spend $10.0000"
	full(one, why, begin.Add(3*time.Minute+time.Hour)) // 10:05, when the first part of an hour ended, and an hour
	full(two, why, begin.Add(3*time.Minute+time.Hour))
	full(other, "", time.Time{})
	must(t, other.Spent(2))
	full(other, "all your runs on this machine spent $12.0000 in the last hour, and may spend $12.0000",
		begin.Add(3*time.Minute+time.Hour))

	settings.Project.PerHour, settings.All = 11, config.SpendRate{} // raised while they wait
	full(one, "", time.Time{})
	now = begin.Add(2 * time.Hour)
	full(one, "", time.Time{})
	// another process of the same run, in the same part of an hour
	must(t, wallet("one", &now, &settings, shop, user).Spent(9))
	must(t, one.Spent(1))
	now = begin.Add(4 * time.Hour)
	must(t, one.Spent(10))
	full(one, "this project spent $30.0000 in the last day, and may spend $30.0000",
		begin.Add(3*time.Minute+24*time.Hour))
	now = begin.Add(26 * time.Hour)
	must(t, one.Spent(1))
	entries, err := shop.Entries(t.Context(), list)
	if must(t, err); len(entries) != 3 { // those of the first hour are too old
		t.Errorf("there are %d entries", len(entries))
	}
}

// TestTenTimesTenCents: what is spent in small amounts reaches a limit, as one sum does.
func TestTenTimesTenCents(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 2, 0, 0, time.UTC)
	p := wallet("one", &now, &config.Spend{Project: config.SpendRate{PerHour: 1}}, dirstore.LedgerOf(t.TempDir()), nil)
	for range 10 {
		if why, _ := p.Full(t.Context()); why != "" {
			t.Fatal("too early:", why)
		}
		must(t, p.Spent(0.1))
	}
	if why, _ := p.Full(t.Context()); why == "" {
		t.Error("one dollar is spent, and more may be")
	}
}

// TestDamaged: where it cannot be known what was spent nothing is.
func TestDamaged(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 2, 0, 0, time.UTC)
	settings := config.Spend{Project: config.SpendRate{PerHour: 10}}
	dir := t.TempDir()
	p := wallet("one", &now, &settings, dirstore.LedgerOf(dir), nil)
	must(t, p.Spent(1))
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.json"))
	if must(t, err); len(files) != 1 {
		t.Fatalf("the files are %v", files)
	}
	must(t, os.WriteFile(files[0], []byte(`{"rev": 1, "added": "2026-11-21T10:02:00Z", "body": {}}`), 0o600))
	if why, until := p.Full(t.Context()); !strings.HasPrefix(why, "what this project spent cannot be read: ") ||
		!until.Equal(now.Add(unreadable)) {
		t.Errorf("%q until %s", why, until)
	}
	if err := errors.Join(os.Remove(files[0])); err != nil {
		t.Fatal(err)
	}
	if why, _ := p.Full(t.Context()); why != "" {
		t.Errorf("without it: %s", why)
	}
}
