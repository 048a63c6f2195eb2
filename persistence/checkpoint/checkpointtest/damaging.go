package checkpointtest

import (
	"bytes"
	"errors"
	"sync"

	"loops/persistence/checkpoint"
)

func (t *T) reopen() checkpoint.Store {
	t.Helper()
	s, err := t.S.(Reopener).Reopen()
	if err != nil {
		t.Fatalf("reopen: %v", err)
	}
	return s
}

var reopening = []test{
	{"what was saved is there for the next process", func(t *T) {
		t.save(full("r1", 1))
		t.save(full("r1", 2))
		t.save(full("r2", 3))
		if err := t.S.Delete(t.ctx, "r2"); err != nil {
			t.Fatal(err)
		}
		t.S = t.reopen()
		t.holds(full("r1", 2))
		t.none("r2")
		t.lists("r1")
	}},
	{"two processes see each other's checkpoints", func(t *T) {
		a, b := t.S, t.reopen()
		for i := range 4 {
			t.S = a
			t.save(full("r1", i))
			t.S, a, b = b, b, a
			t.holds(full("r1", i))
		}
	}},
}

var sharing = []test{
	{"two processes append to one log without a gap", func(t *T) {
		stores := []checkpoint.Log{t.log(), t.reopen().(checkpoint.Log)}
		var wg sync.WaitGroup
		for _, s := range stores {
			wg.Go(func() {
				for range 15 {
					if _, err := s.Append(t.ctx, "r1", event("a"), event("b")); err != nil {
						t.Errorf("append: %v", err)
					}
				}
			})
		}
		wg.Wait()
		n := uint64(0)
		for e, err := range stores[1].Since(t.ctx, "r1", 0) {
			if n++; err != nil || e.Seq != n {
				t.Fatalf("event %d: %v, %+v", n, err, e)
			}
		}
		t.equal(n, uint64(60))
	}},
}

func (t *T) damage(log bool, f func([]byte) []byte) {
	t.Helper()
	if err := t.S.(Damager).Damage("r1", log, f); err != nil {
		t.Fatal(err)
	}
}

func flip(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)/2] ^= 1
	return b
}

func half(b []byte) []byte { return b[:len(b)/2] }

// fallsBack wants the damage reported and this checkpoint beside it, nil for none.
func (t *T) fallsBack(want *checkpoint.Checkpoint) {
	t.Helper()
	c, err := t.S.Load(t.ctx, "r1")
	t.is(err, checkpoint.ErrDamaged)
	if d, ok := errors.AsType[*checkpoint.DamageError](err); !ok || d.What == "" {
		t.Fatalf("error is %v, want a *DamageError", err)
	}
	if want == nil {
		if c != nil {
			t.Fatalf("%+v is believed", c)
		}
		return
	}
	t.same(c, want)
}

var damaging = []test{
	{"behind a damaged checkpoint stands the one before", func(t *T) {
		for _, spoil := range []func([]byte) []byte{flip, half} {
			t.save(full("r1", 1))
			t.save(full("r1", 2))
			t.damage(false, spoil)
			t.fallsBack(full("r1", 1))
			list := t.list()
			if len(list) != 1 || list[0].Run != "r1" || list[0].Iteration != 1 {
				t.Fatalf("%+v", list)
			}
			t.is(list[0].Err, checkpoint.ErrDamaged)
		}
	}},
	{"a save heals, and the damaged checkpoint does not push out the good one", func(t *T) {
		t.save(full("r1", 1))
		t.save(full("r1", 2))
		t.damage(false, flip)
		t.save(full("r1", 3))
		t.holds(full("r1", 3))
		t.damage(false, half)
		t.fallsBack(full("r1", 1))
	}},
	{"without a good one before, damage is all there is", func(t *T) {
		t.save(full("r1", 1))
		t.damage(false, flip)
		t.fallsBack(nil)
		t.lists("r1")
	}},
	{"one damaged run hides no other", func(t *T) {
		t.save(full("r1", 1))
		t.save(full("r2", 1))
		t.damage(false, func([]byte) []byte { return nil })
		t.lists("r1", "r2")
		t.holds(full("r2", 1))
	}},
	{"a damaged run can be deleted", func(t *T) {
		t.save(full("r1", 1))
		t.save(full("r1", 2))
		t.damage(false, half)
		t.save(full("r1", 3))
		t.damage(false, half)
		if err := t.S.Delete(t.ctx, "r1"); err != nil {
			t.Fatal(err)
		}
		t.none("r1")
		t.lists()
	}},
}

var damagingLog = []test{
	{"an event whose append never returned is not there", func(t *T) {
		t.append("r1", event("a"), event("b"), event("c"))
		t.damage(true, func(b []byte) []byte { return b[:len(b)-1] })
		t.equal(t.since("r1", 0), []string{"a1", "b2"})
		t.equal(t.append("r1", event("d")), uint64(3))
		t.equal(t.since("r1", 0), []string{"a1", "b2", "d3"})
	}},
	{"a damaged event is told and reading continues after it", func(t *T) {
		t.append("r1", event("a"), event("b"), event("c"))
		t.damage(true, flip)
		t.equal(t.since("r1", 0), []string{"a1", "damaged", "c3"})
		t.equal(t.since("r1", 2), []string{"c3"})
		t.equal(t.append("r1", event("d")), uint64(4))
	}},
	{"behind a damaged last event, numbers go on", func(t *T) {
		t.append("r1", event("a"), event("b"))
		t.damage(true, func(b []byte) []byte {
			b[len(b)-4] ^= 1
			return b
		})
		t.equal(t.append("r1", event("c")), uint64(3))
		t.equal(t.since("r1", 0), []string{"a1", "damaged", "c3"})
	}},
	{"events that are missing are told", func(t *T) {
		t.append("r1", event("a"), event("b"), event("c"))
		t.damage(true, func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			return bytes.Join([][]byte{lines[0], lines[2]}, nil)
		})
		t.equal(t.since("r1", 0), []string{"a1", "damaged", "c3"})
	}},
}
