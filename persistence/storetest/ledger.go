package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/persistence"
)

// RunLedger runs every case of the contract of [persistence.Ledger]. open opens one more ledger over the same
// records in a place, which is empty for each name.
func RunLedger(t *testing.T, open func(t *testing.T, place string) persistence.Ledger) {
	for i, c := range []struct {
		name string
		run  func(t *testing.T, a, b persistence.Ledger)
	}{
		{"an entry is read by another process as it was added", ledgerAdd},
		{"a key is of one entry", ledgerTaken},
		{"the last entry stands behind all others", ledgerLast},
		{"of changes of one revision one is made", ledgerChange},
		{"entries come in the order of their keys", ledgerOrder},
		{"of many who add a key one does", ledgerRace},
		{"what is closed and old is trimmed", ledgerTrim},
		{"names are any text", ledgerNames},
		{"a body has its limit", ledgerLong},
	} {
		t.Run(c.name, func(t *testing.T) {
			place := fmt.Sprint("place", i)
			c.run(t, open(t, place), open(t, place))
		})
	}
}

var added = time.Date(2026, 11, 21, 3, 0, 0, 5_000_000, time.UTC)

func ledgerEntry(list, key, body string) persistence.Entry {
	return persistence.Entry{List: list, Key: key, Open: true, Added: added, Body: []byte(body)}
}

func addTo(t *testing.T, l persistence.Ledger, e persistence.Entry) {
	t.Helper()
	if err := l.Add(t.Context(), e); err != nil {
		t.Fatalf("add %s: %v", e.Key, err)
	}
}

// entries compares a list: key, revision, whether it is open, and body of each.
func entriesOf(t *testing.T, l persistence.Ledger, list, want string, keys ...string) {
	t.Helper()
	all, err := l.Entries(t.Context(), list, keys...)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range all {
		if e.List != list {
			t.Errorf("%s is of %q, want %q", e.Key, e.List, list)
		}
		lines = append(lines, fmt.Sprint(e.Key, " ", e.Rev, " ", e.Open, " ", string(e.Body)))
	}
	if got := strings.Join(lines, ", "); got != want {
		t.Errorf("%s holds %q, want %q", list, got, want)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("the error is %v, want %v", err, want)
	}
}

func ledgerAdd(t *testing.T, a, b persistence.Ledger) {
	entriesOf(t, a, "x", "")
	addTo(t, a, ledgerEntry("x", "k", `{"n":1}`))
	entriesOf(t, b, "x", `k 1 true {"n":1}`)
	entriesOf(t, b, "y", "")
	all, err := b.Entries(t.Context(), "x")
	if err != nil || !all[0].Added.Equal(added) {
		t.Errorf("added at %v, %v; want %v", all[0].Added, err, added)
	}
}

func ledgerTaken(t *testing.T, a, b persistence.Ledger) {
	addTo(t, a, ledgerEntry("x", "k", `1`))
	wantErr(t, b.Add(t.Context(), ledgerEntry("x", "k", `2`)), persistence.ErrTaken)
	addTo(t, b, ledgerEntry("y", "k", `3`))
	entriesOf(t, a, "x", "k 1 true 1")
}

func ledgerLast(t *testing.T, a, b persistence.Ledger) {
	last := func(key string) persistence.Entry {
		e := ledgerEntry("x", key, `0`)
		e.Last = true
		return e
	}
	addTo(t, a, last("2026-02"))
	wantErr(t, b.Add(t.Context(), last("2026-01")), persistence.ErrTaken)
	wantErr(t, b.Add(t.Context(), last("2026-02")), persistence.ErrTaken)
	addTo(t, b, last("2026-10"))
	wantErr(t, a.Add(t.Context(), last("2026-09")), persistence.ErrTaken)
	addTo(t, a, ledgerEntry("x", "2026-09", `0`)) // it need not be the last
	entriesOf(t, b, "x", "2026-02 1 true 0, 2026-09 1 true 0, 2026-10 1 true 0")
}

func ledgerChange(t *testing.T, a, b persistence.Ledger) {
	addTo(t, a, ledgerEntry("x", "k", `1`))
	all, err := b.Entries(t.Context(), "x", "k")
	if err != nil {
		t.Fatal(err)
	}
	mine, other := all[0], all[0]
	mine.Body, mine.Open = []byte(`2`), false
	mine, err = b.Change(t.Context(), mine)
	if err != nil || mine.Rev != 2 {
		t.Fatalf("revision %d, %v", mine.Rev, err)
	}
	other.Body = []byte(`3`)
	_, err = a.Change(t.Context(), other)
	wantErr(t, err, persistence.ErrChanged)
	entriesOf(t, a, "x", "k 2 false 2")
	absent := ledgerEntry("x", "none", `1`)
	absent.Rev = 1
	_, err = a.Change(t.Context(), absent)
	wantErr(t, err, persistence.ErrChanged)
	if all, err = a.Entries(t.Context(), "x"); err != nil || !all[0].Added.Equal(added) {
		t.Errorf("a change makes it added at %v, %v", all[0].Added, err)
	}
}

func ledgerOrder(t *testing.T, a, b persistence.Ledger) {
	for _, key := range []string{"b", "a", "C", "10", "9"} {
		addTo(t, a, ledgerEntry("x", key, `0`))
	}
	entriesOf(t, b, "x", "10 1 true 0, 9 1 true 0, C 1 true 0, a 1 true 0, b 1 true 0")
	entriesOf(t, b, "x", "C 1 true 0, b 1 true 0", "b", "none", "C")
}

func ledgerRace(t *testing.T, a, b persistence.Ledger) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i := range 8 {
		wg.Go(func() {
			l := a
			if i%2 == 1 {
				l = b
			}
			err := l.Add(t.Context(), ledgerEntry("x", "k", `0`))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				done++
			case !errors.Is(err, persistence.ErrTaken):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if done != 1 {
		t.Errorf("%d added the key, want 1", done)
	}
}

func ledgerTrim(t *testing.T, a, b persistence.Ledger) {
	for i, key := range []string{"1", "2", "3", "4", "5"} {
		e := ledgerEntry("x", key, `0`)
		e.Open = key == "2"
		e.Added = added.Add(time.Duration(i) * time.Hour)
		addTo(t, a, e)
	}
	if err := b.Trim(t.Context(), "x", added.Add(3*time.Hour), 4); err != nil {
		t.Fatal(err)
	}
	entriesOf(t, a, "x", "2 1 true 0, 3 1 false 0, 4 1 false 0, 5 1 false 0")
	if err := b.Trim(t.Context(), "x", added.Add(3*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	entriesOf(t, a, "x", "2 1 true 0, 4 1 false 0, 5 1 false 0")
	if err := b.Trim(t.Context(), "none", added, 0); err != nil {
		t.Error(err)
	}
}

func ledgerNames(t *testing.T, a, b persistence.Ledger) {
	list := "schedule/" + strings.Repeat("é", 20) + "/.x%2F"
	for _, key := range []string{"../up", ".hidden", "2026-03-29T03:00:00Z", "a b\tc", "100%", "%41"} {
		addTo(t, a, ledgerEntry(list, key, `0`))
	}
	entriesOf(t, b, list, "%41 1 true 0, ../up 1 true 0, .hidden 1 true 0, 100% 1 true 0, 2026-03-29T03:00:00Z 1 "+
		"true 0, a b\tc 1 true 0")
}

func ledgerLong(t *testing.T, a, b persistence.Ledger) {
	body := `"` + strings.Repeat("x", persistence.MostBody) + `"`
	if err := a.Add(t.Context(), ledgerEntry("x", "k", body)); err == nil ||
		!strings.Contains(err.Error(), "at most 2097152 are kept") {
		t.Errorf("a body of %d bytes: %v", len(body), err)
	}
	body = `"` + strings.Repeat("x", persistence.MostBody-2) + `"`
	addTo(t, a, ledgerEntry("x", "k", body))
	all, err := b.Entries(t.Context(), "x")
	if err != nil || len(all) != 1 || string(all[0].Body) != body {
		t.Errorf("%d entries, %v", len(all), err)
	}
}
