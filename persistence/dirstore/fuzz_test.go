package dirstore

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/dirstore/segment"
	"loops/persistence/snapshot"
)

func FuzzState(f *testing.F) {
	for _, p := range []string{"testdata/full.state.json", "testdata/nested.state.json", "testdata/small.state.json"} {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(
		[]byte(
			`{"loop_name": "a", "current_state": "b", "iteration": NaN, "captured": [], "started_at": "", "status": "running"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		p := place{id: "a-20261121T083717", state: filepath.Join(dir, "s"), events: filepath.Join(dir, "e"), runs: dir}
		if err := os.WriteFile(p.state, b, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := p.load(true)
		if err != nil {
			if l == nil || len(l.damage) == 0 {
				t.Fatalf("%v, but no damage is told", err)
			}
			return
		}
		// What can be read can be written and read again.
		again := encode(l.record)
		flat, err := snapshot.Parse(again)
		if err != nil {
			t.Fatalf("%v in %s", err, again)
		}
		back, err := takeFlat(flat)
		if err != nil {
			t.Fatalf("%v in %s", err, again)
		}
		if third := encode(back); string(third) != string(again) {
			t.Fatalf("%s\nthen\n%s", again, third)
		}
	})
}

func FuzzEvents(f *testing.F) {
	d, err := Open(filepath.Join(f.TempDir(), ".loops"))
	if err != nil {
		f.Fatal(err)
	}
	j, err := d.Create(f.Context(), persistence.Spec{Loop: "fix", StartedAt: at})
	if err != nil {
		f.Fatal(err)
	}
	for n := 1; n < 3; n++ {
		if err := j.Record(f.Context(), step(n)); err != nil {
			f.Fatal(err)
		}
	}
	b, err := os.ReadFile(j.(*journal).files.events)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(bytes.ReplaceAll(b, []byte("memory_full"), []byte("memory")))
	f.Add([]byte("{\"event\": \"x\", \"memory_full\": {\"captured\": 1}}\n" +
		"{\"event\": \"y\", \"memory\": {\"messages_add\": 3, \"captured_all\": null}}\n"))
	top := step(3).Snapshot
	for _, change := range []func(){
		func() {
			top.Child = &fsm.Child{
				Name: "a", Memory: step(1).Snapshot,
				Log: []string{strings.Repeat("x", snapshot.LogFrom)},
			}
		},
		func() {
			top.Child.Memory.Child = &fsm.Child{Name: "b", Memory: step(2).Snapshot}
			top.Child.Log = append(top.Child.Log, "y")
		},
		func() { top.Child.Memory.Child.Memory.Messages = []string{"m"} },
		func() { top.Child.Memory.Child = nil },
	} {
		change()
		if err := j.Record(f.Context(),
			&fsm.Batch{Snapshot: top, Events: []fsm.Event{{Kind: "route", Time: at, Depth: 1}}}); err != nil {
			f.Fatal(err)
		}
	}
	if b, err = os.ReadFile(j.(*journal).files.events); err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(
		[]byte(
			`{"event": "x", "memory_full": {"loop_name": "a", "current_state": "b", "iteration": 1, "started_at": "", "sub_loop": {"log": {"lines": 2, "from": 0}, "memory": 3}}}
{"event": "y", "memory": {"sub_loop": {"log_add": ["z"], "memory": {"sub_loop": {"memory": {}}, "messages_add": [1]}}}}
{"event": "z", "memory": {"sub_loop_all": {"memory": {}}}}
`))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		p := place{
			id: "fix-20261121T083717", state: filepath.Join(dir, "s"), events: filepath.Join(dir, "e"),
			runs: dir,
		}
		if err := os.WriteFile(p.events, b, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := p.load(true)
		if err == nil && (l.good < 0 || l.good > int64(len(b))) {
			t.Fatalf("good up to %d of %d", l.good, len(b))
		}
		r := segment.Forward{Yield: func(e fsm.Event, err error) bool {
			if err == nil && e.Seq == 0 {
				t.Fatal("an event without a number")
			}
			return true
		}}
		_ = r.Read(bytes.NewReader(b), "e")
	})
}
