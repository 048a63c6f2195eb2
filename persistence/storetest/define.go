package storetest

import (
	"errors"
	"strings"

	"loops/fsm"
	"loops/persistence"
)

// What a store says about the definitions of runs, if it keeps them.
var defining = []test{
	{"the definition of a run is the last one that it went on with", func(t *T) {
		definition := t.S.Definition
		want := func(id persistence.ID, text string) {
			t.Helper()
			got, err := definition(t.ctx, id)
			if err != nil || string(got) != text {
				t.Fatalf("definition is %q, %v, want %q", got, err, text)
			}
		}
		first, second := "name: fix\n", "name: fix\n# é \x00 "+strings.Repeat("long ", 20000)
		j := t.create("fix")
		id := j.Run().ID
		t.record(j, t.enter(snap("fix", 1)))
		want(id, first)
		redefine := j.Redefine
		for _, text := range []string{first, second, second, first, second} {
			t.must(redefine(t.ctx, []byte(text)))
			t.record(j, t.enter(snap("fix", 2)))
			want(id, text)
		}
		t.close(j)
		want(id, second)

		j, s := t.resume(id, "fix") // with the first one
		t.record(j, t.enter(s))
		want(id, first)
		t.must(j.Redefine(t.ctx, []byte(second)))
		t.record(j, t.ended(s, fsm.EndInterrupted))
		t.close(j)
		want(id, second)

		spec := t.spec("fix")
		spec.Definition = nil
		j, _, err := t.S.Resume(t.ctx, id, spec)
		t.must(err)
		t.close(j)
		want(id, second)
		t.must(t.S.Archive(t.ctx, id))
		want(id, second)
	}},
	{"runs have definitions of their own, or none", func(t *T) {
		definition := t.S.Definition
		spec := t.spec("a")
		spec.Definition = nil
		j, err := t.S.Create(t.ctx, spec)
		t.must(err)
		t.record(j, t.enter(snap("a", 1)))
		t.close(j)
		t.finished("b", fsm.EndTerminal)
		id := t.finished("b", fsm.EndTerminal)
		if got, err := definition(t.ctx, j.Run().ID); err != nil || got != nil {
			t.Errorf("a: %q, %v", got, err)
		}
		if got, err := definition(t.ctx, id); err != nil || string(got) != "name: b\n" {
			t.Errorf("b: %q, %v", got, err)
		}
		if _, err := definition(t.ctx, "c-20261121T100000"); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("c: %v, want ErrNotFound", err)
		}
	}},
}
