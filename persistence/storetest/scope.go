package storetest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"loops/fsm"
	"loops/persistence"
)

var sharing = []test{
	{"overlapping scopes conflict", func(t *T) {
		dir := t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "src"), 0o755),
			os.Symlink("src", filepath.Join(dir, "link")), os.Symlink(".", filepath.Join(dir, "here"))); err != nil {
			t.Fatal(err)
		}
		a := t.spec("a")
		a.Scope = []string{filepath.Join(dir, "src")}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			path string
			ok   bool
		}{
			{"src", false},
			{"src/", false},
			{"src/a", false},
			{".", false},
			{"/", false},
			{"src/../src", false},
			{"src/*.py", false},
			{"./src/../src", false},
			{"link", false},
			{"link/deep/new", false},
			{"link/../doc", true}, // beside what the link leads to
			{"here", false},
			{"srcx", true},
			{"SRC", true},
			{"~/src", true},
			{"src ", true},
			{"lib", true},
		} {
			b := t.spec("b")
			b.Scope = []string{filepath.Join(dir, "other"), dir + "/" + c.path}
			if c.path == "/" {
				b.Scope = []string{"/"}
			}
			k, err := t.S.Create(t.ctx, b)
			var conflict *persistence.ConflictError
			switch {
			case c.ok && err != nil:
				t.Errorf("%s: %v", c.path, err)
			case !c.ok && !errors.As(err, &conflict):
				t.Errorf("%s: error is %v, want a *ConflictError", c.path, err)
			case !c.ok && (conflict.Holder != j.Run().ID || conflict.Loop != "a" || conflict.Owner.PID != os.Getpid()):
				t.Errorf("%s: %+v", c.path, conflict)
			}
			if err == nil {
				t.close(k)
			}
		}
		t.close(j)
		b := t.spec("b")
		b.Scope = a.Scope
		k, err := t.S.Create(t.ctx, b)
		if err != nil {
			t.Fatalf("after the holder let go: %v", err)
		}
		t.close(k)
	}},
	{"a symlink does not get around a scope", func(t *T) {
		dir := t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "src"), 0o755),
			os.Symlink("src", filepath.Join(dir, "link"))); err != nil {
			t.Fatal(err)
		}
		a := t.spec("a")
		a.Scope = []string{filepath.Join(dir, "src", "new")}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		defer t.close(j)
		b := t.spec("b")
		b.Scope = []string{filepath.Join(dir, "link")}
		var conflict *persistence.ConflictError
		if _, err := t.S.Create(t.ctx, b); !errors.As(err, &conflict) {
			t.Fatalf("error is %v, want a *ConflictError", err)
		}
	}},
	{"what a run locks is told while a user owns it", func(t *T) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err == nil {
			err = os.Symlink("src", filepath.Join(dir, "link"))
		}
		if err != nil {
			t.Fatal(err)
		}
		a := t.spec("a")
		a.Scope = []string{filepath.Join(dir, "link", "sub"), filepath.Join(dir, "doc")}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		t.record(j, t.enter(snap("a", 1)))
		id := j.Run().ID
		want := []string{filepath.Join(dir, "src", "sub"), filepath.Join(dir, "doc")}
		if got := t.one(id).Scope; !slices.Equal(got, want) {
			t.Errorf("scope is %q, want %q", got, want)
		}
		t.close(j)
		if got := t.one(id).Scope; got != nil {
			t.Errorf("scope is %q, and nobody owns the run", got)
		}
	}},
	{"a run without a scope conflicts with none", func(t *T) {
		a := t.spec("a")
		a.Scope = []string{"/"}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		k := t.create("b")
		t.close(k)
		t.close(j)
	}},
	{"a work tree below a checkout is not part of its scope", func(t *T) {
		dir := t.TempDir()
		a := t.spec("a")
		a.Scope = []string{dir}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		b := t.spec("b")
		b.ScopeOf = func(id persistence.ID) []string { return []string{filepath.Join(dir, ".worktrees", string(id))} }
		k, err := t.S.Create(t.ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{filepath.Join(dir, ".worktrees", string(k.Run().ID), "src"), "/"} {
			c := t.spec("c")
			c.Scope = []string{path}
			var conflict *persistence.ConflictError
			if _, err := t.S.Create(t.ctx, c); !errors.As(err, &conflict) {
				t.Errorf("%s: error is %v, want a *ConflictError", path, err)
			}
		}
		t.close(k)
		t.close(j)
	}},
	{"runs started by an action share its scope", func(t *T) {
		a := t.spec("a")
		a.Scope = []string{t.TempDir()}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		b := t.spec("b")
		b.Scope, b.Ancestors = a.Scope, []persistence.ID{"x-20200101T000000", j.Run().ID}
		k, err := t.S.Create(t.ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		t.close(k)
		t.close(j)
	}},
	{"two singletons of one loop conflict", func(t *T) {
		a := t.spec("a")
		a.Singleton = true
		a.Scope = []string{filepath.Join(t.TempDir(), "a")}
		j, err := t.S.Create(t.ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		b := a
		b.Scope = []string{filepath.Join(t.TempDir(), "b")}
		var conflict *persistence.ConflictError
		if _, err := t.S.Create(t.ctx, b); !errors.As(err, &conflict) {
			t.Errorf("error is %v, want a *ConflictError", err)
		}
		b.Loop = "b"
		k, err := t.S.Create(t.ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		t.close(k)
		t.close(j)
	}},
	{"a resume takes the scope, too", func(t *T) {
		dir := t.TempDir()
		id := t.crashed("a", 1)
		b := t.spec("b")
		b.Scope = []string{dir}
		j, err := t.S.Create(t.ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		a := t.spec("a")
		a.Scope = []string{dir}
		var conflict *persistence.ConflictError
		if _, _, err := t.S.Resume(t.ctx, id, a); !errors.As(err, &conflict) {
			t.Errorf("error is %v, want a *ConflictError", err)
		}
		t.close(j)
		k, _, err := t.S.Resume(t.ctx, id, a)
		if err != nil {
			t.Fatalf("after the holder let go: %v", err)
		}
		if _, err := t.S.Create(t.ctx, b); !errors.As(err, &conflict) {
			t.Errorf("error is %v, want a *ConflictError", err)
		}
		t.close(k)
	}},
	{"newest first, by loop, with a limit", func(t *T) {
		var ids []persistence.ID
		for i := range 6 {
			spec := t.spec([]string{"a", "b", "a-b"}[i%3])
			spec.StartedAt = start.Add(time.Duration(i) * time.Minute)
			j, err := t.S.Create(t.ctx, spec)
			if err != nil {
				t.Fatal(err)
			}
			s := snap(spec.Loop, 1)
			s.StartedAt = spec.StartedAt
			t.record(j, t.enter(s))
			if i%2 == 0 {
				t.record(j, t.ended(s, fsm.EndTerminal))
			}
			ids = append([]persistence.ID{j.Run().ID}, ids...)
			t.close(j)
		}
		list := func(q persistence.Query) (l []persistence.ID) {
			for _, r := range t.runs(q) {
				l = append(l, r.ID)
			}
			return l
		}
		if got := list(persistence.Query{}); !slices.Equal(got, ids) {
			t.Errorf("all = %v, want %v", got, ids)
		}
		if got := list(persistence.Query{Limit: 2}); !slices.Equal(got, ids[:2]) {
			t.Errorf("two = %v, want %v", got, ids[:2])
		}
		if got, want := list(persistence.Query{Loop: "b"}), []persistence.ID{ids[1], ids[4]}; !slices.Equal(got, want) {
			t.Errorf("of b = %v, want %v", got, want)
		}
		if got, want := list(persistence.Query{Live: true}),
			[]persistence.ID{ids[0], ids[2], ids[4]}; !slices.Equal(got, want) {
			t.Errorf("live = %v, want %v", got, want)
		}
		if got, want := list(persistence.Query{Loop: "a", Live: true, Limit: 1}),
			[]persistence.ID{ids[2]}; !slices.Equal(got, want) {
			t.Errorf("live of a = %v, want %v", got, want)
		}
	}},
	{"odd names of loops come back", func(t *T) {
		for _, loop := range []string{
			"sub/n", "a b", "ünï", "x%2Fy", ".hidden", "x-20200101T000000", "a\\b", "..",
			"*",
		} {
			j := t.create(loop)
			t.record(j, t.enter(snap(loop, 1)))
			id := j.Run().ID
			if r := t.one(id); r.Loop != loop {
				t.Errorf("loop %q is listed as %q", loop, r.Loop)
			}
			if rs := t.runs(persistence.Query{Loop: loop}); len(rs) != 1 || rs[0].ID != id {
				t.Errorf("runs of %q = %v", loop, rs)
			}
			t.record(j, t.ended(snap(loop, 1), fsm.EndInterrupted))
			t.close(j)
			k, _ := t.resume(id, loop)
			t.close(k)
		}
	}},
}
