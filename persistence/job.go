package persistence

import (
	"context"
	"errors"
	"time"

	"loops/fsm"
)

// A Job is what is recorded of a run beside the run itself when it is submitted for workers. The run is the
// truth about the result of it; a Job says who may carry it, and when.
type Job struct {
	Run      ID
	Queue    string    // whose workers may carry it
	Key      string    // runs of one key share a limit, and keys take turns; "" is a key like others
	Priority int       // 1 is first, 4 is last
	At       time.Time // not before; zero = at once
	Labels   []string  // a worker must have all of them; sorted
	// how the files of the project get to the worker: FilesPinned, FilesGit, or what SharedFiles returns; "" =
	// FilesPinned
	Files string
	// of the definition that was submitted; a worker whose definition has another one refuses the run
	Hash    string
	Request []byte // what is asked for, as JSON of the engine
}

// How the files of a project get to a worker.
const (
	FilesPinned = "pinned" // they do not: the worker is in a checkout of its own that has them
	FilesGit    = "git"    // through a remote of git
	FilesShared = "shared" // by a mount that all workers have
)

// SharedFiles is the Files of jobs for workers that have the folder with that word mounted; see [Placer.FolderWord].
func SharedFiles(word string) string { return FilesShared + ":" + word }

// A Placed run is one that was submitted, as it is now.
type Placed struct {
	Job
	State   Run
	Open    bool          // workers are to carry it until it has ended; false = they are done with it
	Tries   int           // how often a worker had to leave it without progress
	Note    string        // what a worker that left it said last; "" = nothing
	Waits   bool          // it is parked, its time has not come, and nothing was asked of it since
	Claimed bool          // a worker has a valid lease for it
	Age     time.Duration // since it was submitted
}

// A Finding is what a worker knows of a submitted run that it leaves.
type Finding struct {
	Open  bool // workers are still to carry it
	Again bool // there was no progress; false restarts the count
	// not before this time from now, a parked run sooner where something is asked of it and Note is ""; 0 = at
	// once
	After time.Duration
	Note  string // for users; "" = nothing
}

// Never is the After of a parked run that has nothing to do until something is asked of it.
const Never = 100 * 365 * 24 * time.Hour

// A WorkerState is what a worker says of itself from time to time.
type WorkerState struct {
	ID        string        `json:"id"`
	Host      string        `json:"host"`
	PID       int           `json:"pid"`
	Queue     string        `json:"queue"`
	Labels    []string      `json:"labels"`
	Slots     int           `json:"slots"`
	Runs      []ID          `json:"runs"`
	Version   string        `json:"version"`
	LastError string        `json:"last_error"`
	Since     time.Time     `json:"since"`
	Draining  string        `json:"-"` // who asked it to end; "" = no user
	Silent    time.Duration `json:"-"` // since its last report
	Lease     time.Duration `json:"-"` // how long it may be silent
}

// Gone reports whether a worker has been silent for so long that others take its runs over.
func (w WorkerState) Gone() bool { return w.Silent > w.Lease }

// A Placer is a [Store] that records runs for workers on other machines: PostgreSQL. Its methods may be called
// concurrently, also by several processes.
type Placer interface {
	Store
	// Submit records a run that no process owns as [Queued], with its job and what it remembers as it begins.
	// It is durable on return. What it is placed with is the caller's to tell a queue.
	Submit(ctx context.Context, spec Spec, memory *fsm.Snapshot, j Job) (Run, error)
	// Begin gives a queued run to the caller, as Create does a new one. A live owner is a *HeldError; a run
	// that is not queued any more is a *NotResumableError, an unknown one ErrNotFound.
	Begin(ctx context.Context, id ID, spec Spec) (Journal, error)
	// Withdraw ends a queued run that no worker has begun, as stopped by its user. It is a *NotResumableError where the
	// run is not queued any more.
	Withdraw(ctx context.Context, id ID) error
	// Recall has no worker take a submitted run any more; it is durable on return. The owner of the run keeps it,
	// unless its lease is over: such an owner can record nothing more, and the run is interrupted. done is false where
	// workers were done with the run, or it was never submitted.
	Recall(ctx context.Context, id ID) (done bool, err error)
	// FolderWord returns a word that tells the folder of this project from all others whose runs are in the
	// store, wherever it is mounted.
	FolderWord(ctx context.Context) (string, error)
	// Placed returns submitted runs: the one with the id, or all open ones where id is "". Of each queue and
	// key at most most of those that no process owns come, in the order they are to begin; 0 = all.
	Placed(ctx context.Context, id ID, most int) ([]Placed, error)
	// Waiting returns how many submitted runs wait for a worker, by queue. A queue in which none waits may be missing.
	Waiting(ctx context.Context) (map[string]int, error)
	// Found records what a worker knows of a run that it leaves.
	Found(ctx context.Context, id ID, f Finding) error
	// Beat records what a worker says of itself; silence for longer than lease means that it is gone. Away removes it.
	Beat(ctx context.Context, w WorkerState, lease time.Duration) error
	Away(ctx context.Context, worker string) error
	// Drain asks a worker to end, so that others have its runs; it is durable on return. found is false where no such
	// worker reported within ten minutes, or it has ended. Drained returns who asked, "" = no user.
	Drain(ctx context.Context, worker, by string) (found bool, err error)
	Drained(ctx context.Context, worker string) (by string, err error)
	// Workers returns the workers that reported within ten minutes, those that are gone too: these have the runs
	// that no one has taken over yet.
	Workers(ctx context.Context) ([]WorkerState, error)
	// LeaseTime is how long a run is safe from being taken over while its owner does not renew its lease.
	LeaseTime() time.Duration
}

// ErrNoWorkers means that runs cannot be submitted for workers, because they are not recorded in PostgreSQL.
var ErrNoWorkers = errors.New("workers share runs through PostgreSQL: give --store postgres://USER@HOST/NAME, or " +
	"set LOOPS_STORE")
