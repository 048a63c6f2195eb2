package persistence

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// A Place is where this process stands in a [Queue]. It is not safe for concurrent use.
type Place struct {
	q    *Queue
	w    Waiter
	line []Waiter // who came before
	file *os.File // whose flock this process has; nil = it left

	ahead  []Waiter // of those, who goes before w
	looked bool     // ahead is known
}

// Waiter returns who waits here.
func (p *Place) Waiter() Waiter { return p.w }

// Behind returns who goes before this one, the first of them who still waits, and how many were known to be left at the
// last look. nil means that it is this one's turn, for good: nobody comes before him later. shared is as in [Blocking], and
// must not change from call to call. It costs next to nothing.
func (p *Place) Behind(shared []string) (*Waiter, int) {
	if !p.looked {
		p.ahead, p.looked = Blocking(p.w, p.line, shared), true
		p.line = nil
	}
	for len(p.ahead) > 0 && !p.q.waits(p.ahead[0]) {
		p.ahead = p.ahead[1:]
	}
	if len(p.ahead) == 0 {
		return nil, 0
	}
	return &p.ahead[0], len(p.ahead)
}

// Kept says whether the place was not taken away.
func (p *Place) Kept() bool {
	if p.file == nil {
		return false
	}
	a, e1 := p.file.Stat()
	b, e2 := os.Stat(p.q.path(p.w.ID))
	return e1 == nil && e2 == nil && os.SameFile(a, b)
}

// Tell has others see for whom this one waits, and which log it writes. It is ErrNotWaiting where the place was taken
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
		_ = p.file.Close() // nobody finds it any more
		p.file, p.w = f, w
		return nil
	})
}

// Leave gives the place up. It is ErrNotWaiting where it was taken away before: then whoever did it relies on that this
// one does not begin. Only the first call does anything.
func (p *Place) Leave() error {
	if p.file == nil {
		return nil
	}
	kept := p.Kept()
	err := os.Remove(p.q.path(p.w.ID))
	_ = p.file.Close()
	p.file = nil
	if !kept || errors.Is(err, fs.ErrNotExist) {
		return ErrNotWaiting
	}
	return err
}
