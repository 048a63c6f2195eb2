package storetest

import (
	"errors"

	"loops/fsm"
	"loops/persistence"
)

// A CommandSpoiler is a store whose recorded commands the suite can spoil one by one.
type CommandSpoiler interface {
	persistence.Store
	// SpoilCommand makes the command of this number unreadable.
	SpoilCommand(id persistence.ID, n uint64) error
}

// Stores whose commands can be damaged.
var misheard = []test{
	{"a command that cannot be read is told of, and hides no other", func(t *T) {
		s := t.S.(CommandSpoiler)
		j := t.live("fix")
		id := j.Run().ID
		for range 4 {
			t.send(id, pause)
		}
		t.asked(id, 3, "4 pause -1")
		t.must(s.SpoilCommand(id, 2))
		damaged := func(after uint64, want string, told bool) {
			t.Helper()
			all, err := s.Commands(t.ctx, id, after)
			damage, is := errors.AsType[*persistence.DamageError](err)
			if commandText(all) != want || is != told || !told && err != nil || is && damage.File == "" {
				t.Errorf("commands after %d: %s, %v; want %s", after, commandText(all), err, want)
			}
		}
		damaged(0, "1 pause -1, 3 pause -1, 4 pause -1", true)
		t.must(s.SpoilCommand(id, 4))
		if c := t.send(id, stop); c.N != 5 {
			t.Errorf("behind a command that cannot be read comes %d, want 5", c.N)
		}
		damaged(0, "1 pause -1, 3 pause -1, 5 stop 0", true)
		damaged(3, "5 stop 0", true)
		damaged(4, "5 stop 0", false)
		t.record(j, t.ended(snap("fix", 2), fsm.EndInterrupted))
		t.close(j)
		damaged(0, "1 pause -1, 3 pause -1, 5 stop 0", true)
		t.must(t.S.Remove(t.ctx, id))
	}},
}
