package persistence

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"loops/internal/disk"
)

// A Place is where this process is in a [Queue]. It is not safe for concurrent use.
type Place struct {
	q    *Queue
	w    Waiter
	line []Waiter // those before it
	file *os.File // whose flock this process has; nil = it left

	ahead  []Waiter // those of them that go before w
	looked bool     // ahead is known
}

// Waiter returns the waiter of this place.
func (p *Place) Waiter() Waiter { return p.w }

// Behind returns the one that goes right before this one, and how many there are at most. nil means that it is this
// one's turn, for good: no waiter comes before it later. shared is as in [Blocking]; what it is in the first call
// counts. It costs next to nothing: those before are a set that only shrinks, so that one of them is looked at.
func (p *Place) Behind(shared []string) (*Waiter, int) {
	if !p.looked {
		p.ahead, p.looked = Blocking(p.w, p.line, shared), true
		p.line = nil
	}
	for n := len(p.ahead); n > 0; n = len(p.ahead) {
		if p.q.waits(p.ahead[n-1]) {
			return &p.ahead[n-1], n
		}
		p.ahead = p.ahead[:n-1]
	}
	return nil, 0
}

// Kept reports whether the place was not taken away.
func (p *Place) Kept() bool {
	if p.file == nil {
		return false
	}
	a, e1 := p.file.Stat()
	b, e2 := os.Lstat(p.q.path(p.w.ID))
	return e1 == nil && e2 == nil && os.SameFile(a, b)
}

// Tell shows others what this one waits for, and which log it writes. It is ErrNotWaiting where the place was taken
// away.
func (p *Place) Tell(ctx context.Context, o Obstacle, log string) error {
	return p.q.exclusive(ctx, func() error {
		if !p.Kept() {
			return ErrNotWaiting
		}
		w := p.w
		w.For, w.Log = o, log
		f, err := p.q.write(w)
		if err != nil {
			return err
		}
		_ = disk.Release(p.file) // no process finds it any more
		p.file, p.w = f, w
		return nil
	})
}

// Leave gives the place up. It is ErrNotWaiting where it was taken away before: then the one that did it relies on that
// this one does not begin. Only the first call does anything.
func (p *Place) Leave() error {
	if p.file == nil {
		return nil
	}
	kept := p.Kept()
	err := os.Remove(p.q.path(p.w.ID))
	_ = disk.Release(p.file)
	p.file = nil
	if !kept || errors.Is(err, fs.ErrNotExist) {
		return ErrNotWaiting
	}
	return err
}
