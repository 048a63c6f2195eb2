package persistence

import "context"

// A PathLocker locks the paths that runs work on in the files of a project, for stores that record runs
// elsewhere: paths are this machine's, so a run recorded in files and one recorded in a database exclude each
// other there.
type PathLocker interface {
	// LockPaths locks what spec locks, for the run id; "" = one that is not known yet. The lock lasts until
	// Unlock, or until this process dies. It is a *ConflictError where another live run has a path, or is
	// another run of a singleton.
	LockPaths(ctx context.Context, id ID, spec Spec) (PathLock, error)
}

// A PathLock is what a [PathLocker] locked for one run. It is not safe for concurrent use.
type PathLock interface {
	// Assign records which run it is, and what else it locks, which only this run can have.
	Assign(id ID, more []string) error
	// Unlock gives the paths up. Only the first call does anything.
	Unlock() error
}
