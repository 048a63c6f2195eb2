package dirstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"

	"loops/internal/disk"
	"loops/persistence"
)

// PathLocks returns the locker of the files of this store for runs that are recorded in another, which location
// names as --store takes it. Their locks are .lock files as those of its own runs; little-loops respects them
// too.
func (d *Store) PathLocks(location string) persistence.PathLocker { return pathLocker{d, location} }

type pathLocker struct {
	d        *Store
	location string
}

// A pathLock is a lock file of a run that is recorded in another store. Its name is no run's, so that nothing
// looks for the run here, or removes its working folder when its owner died.
type pathLock struct {
	d       *Store
	file    *os.File // nil = unlocked
	content scopeLock
}

// LockPaths implements [persistence.PathLocker].
func (l pathLocker) LockPaths(ctx context.Context, id persistence.ID, spec persistence.Spec) (persistence.PathLock,
	error,
) {
	if len(spec.Scope) == 0 && !spec.Singleton && spec.ScopeOf == nil {
		return &pathLock{}, nil
	}
	var p *pathLock
	err := l.d.exclusive(ctx, func() (err error) {
		scope := persistence.ResolveScope(spec.Scope)
		if err := l.d.conflict(id, l.location, spec, scope); err != nil {
			return err
		}
		file, err := l.d.claim(pathLockName())
		if err != nil {
			return err
		}
		p = &pathLock{l.d, file, contentOf(spec, scope)}
		p.content.Run, p.content.Store = id, l.location
		if err := writeLock(file, p.content); err != nil {
			return errors.Join(err, p.Unlock())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// pathLockName is the stem of a new lock file that no run has.
func pathLockName() persistence.ID {
	var word [8]byte
	_, _ = rand.Read(word[:]) // it never fails
	return persistence.ID("elsewhere-" + hex.EncodeToString(word[:]))
}

// Assign implements [persistence.PathLock].
func (p *pathLock) Assign(id persistence.ID, more []string) error {
	if p.file == nil || p.content.Run == id && len(more) == 0 {
		return nil
	}
	p.content.Run = id
	p.content.Scope = append(p.content.Scope, persistence.ResolveScope(more)...)
	return writeLock(p.file, p.content)
}

// Unlock implements [persistence.PathLock].
func (p *pathLock) Unlock() error {
	if p.file == nil {
		return nil
	}
	file := p.file
	p.file = nil
	return errors.Join(disk.Remove(file.Name()), disk.Release(file))
}

// contentOf is what a lock file says about a run that is about to begin.
func contentOf(spec persistence.Spec, scope []string) scopeLock {
	return scopeLock{
		Loop: spec.Loop, Scope: scope, PID: spec.Owner.PID, Singleton: spec.Singleton, Mark: spec.Mark, Flock: true,
		StartedAt: spec.StartedAt.UTC().Format("2006-01-02T15:04:05.000000+00:00"),
		Host:      spec.Owner.Host, Boot: spec.Owner.Boot, PIDNS: spec.Owner.PIDNS, Start: spec.Owner.Start,
	}
}

// writeLock replaces what a lock file says in one write, and cuts off what was longer.
func writeLock(file *os.File, l scopeLock) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(b, 0); err != nil {
		return err
	}
	return file.Truncate(int64(len(b)))
}
