package snapshot_test

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence/snapshot"
	"loops/persistence/storetest"
)

type texts map[string]string

func (t texts) Put(name, text string) error {
	t[name] = text
	return nil
}

func (t texts) Get(name string) ([]byte, error) {
	s, ok := t[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(s), nil
}

// TestMemoryCodec goes through every field: a memory with one field of another, as a patch, is that memory again.
func TestMemoryCodec(t *testing.T) {
	t.Parallel()
	full, empty := storetest.Filled("fix"),
		&fsm.Snapshot{Loop: "fix", Current: "a", StartedAt: storetest.Filled("x").StartedAt}
	big := strings.Repeat("0123456789abcdef", 8<<10)
	full.Captured.Set("big", value.NewMap("output", big))
	full.Result.Stdout = big
	store := texts{}
	enc, dec := snapshot.NewEncoder(store), &snapshot.Decoder{}
	now := *empty
	must := func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	lines := [][]byte{[]byte(string(must(enc.Whole(&now))))}
	for i := range reflect.TypeFor[fsm.Snapshot]().NumField() {
		reflect.ValueOf(&now).Elem().Field(i).Set(reflect.ValueOf(full).Elem().Field(i))
		lines = append(lines, []byte(string(must(enc.Patch(&now)))))
		for n, l := range lines {
			if n == 0 {
				must(nil, dec.Whole(l))
			} else {
				must(nil, dec.Patch(l))
			}
		}
		got, err := dec.Snapshot(store)
		if err != nil {
			t.Fatal(err)
		}
		// Compared as text: an empty map and none are the same.
		a := must(snapshot.NewEncoder(nil).Whole(got))
		b := must(snapshot.NewEncoder(nil).Whole(&now))
		if string(a) != string(b) {
			t.Fatalf("after a change of %s:\n%s\nwant\n%s", reflect.TypeFor[fsm.Snapshot]().Field(i).Name, a, b)
		}
	}
	if len(store) != 1 {
		t.Errorf("%d large texts are stored, want 1", len(store))
	}
	for name := range store {
		store[name] = "spoilt"
	}
	must(nil, dec.Whole(must(snapshot.NewEncoder(store).Whole(&now))))
	for name := range store {
		store[name] = "spoilt"
	}
	var damage *snapshot.TextError
	if _, err := dec.Snapshot(store); !errors.As(err, &damage) {
		t.Errorf("error is %v, want a *TextError", err)
	}
}
