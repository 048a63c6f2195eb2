package app

import (
	"errors"
	"testing"
	"time"

	"loops/fsm"
	"loops/persistence"
)

func TestLastEvents(t *testing.T) {
	t.Parallel()
	damage := &persistence.DamageError{File: "f", What: "torn"}
	events := func(yield func(fsm.Event, error) bool) {
		for i := range uint64(7) {
			if i == 3 && !yield(fsm.Event{}, damage) {
				return
			}
			if !yield(fsm.Event{Seq: i + 1}, nil) {
				return
			}
		}
	}
	odd := func(e fsm.Event) bool { return e.Seq%2 == 1 }
	for _, c := range []struct {
		n    int
		want []uint64
	}{
		{0, []uint64{1, 3, 5, 7}},
		{1, []uint64{7}},
		{2, []uint64{5, 7}},
		{3, []uint64{3, 5, 7}},
		{4, []uint64{1, 3, 5, 7}},
		{9, []uint64{1, 3, 5, 7}},
	} {
		last, bad, err := LastEvents(events, odd, c.n)
		if err != nil || len(bad) != 1 {
			t.Fatalf("n=%d: %v %v", c.n, bad, err)
		}
		var got []uint64
		for _, e := range last {
			got = append(got, e.Seq)
		}
		if len(got) != len(c.want) {
			t.Errorf("n=%d: got %v, want %v", c.n, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("n=%d: got %v, want %v", c.n, got, c.want)
				break
			}
		}
	}
	broken := errors.New("disk")
	if _, _, err := LastEvents(func(yield func(fsm.Event, error) bool) { yield(fsm.Event{}, broken) }, odd,
		0); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestParseAge(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{
		"45s": 45 * time.Second, "30m": 30 * time.Minute, "1h": time.Hour, "2d": 48 * time.Hour, "0s": 0,
	} {
		if got, err := ParseAge(s); err != nil || got != want {
			t.Errorf("%s: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "5", "h", "-1h", "1.5h", "1w", "99999999999d", "1hh", "3000000h"} {
		if got, err := ParseAge(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}
