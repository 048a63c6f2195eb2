// Package sqlstore keeps runs in a database: SQLite in a file, or PostgreSQL. It is the only package that uses SQL. A
// program that uses SQLite imports its driver, modernc.org/sqlite, itself: only what needs it is linked with it.
//
// Both have one schema (schema.go). runs has a row for each run, events its history, memory the machine's memory as
// patches and, now and then, whole. A save is one atomic change that holds only if this process still owns the run: the
// row of the run is changed where its epoch and its last event are what the journal believes, or nothing is.
//
// # What is durable
//
//	batch                  strict (the default)                       grouped
//	output lines           saved with the next save, after 200 ms     the same
//	                       or 64 KiB
//	snapshot               committed: the death of this process does  committed and durable after 40 ms, with
//	                       not lose it; durable after 40 ms           the next checkpoint or at 1 MiB
//	snapshot, Checkpoint   durable, and all before it                 the same
//	snapshot, a result     durable, and all before it                 the same
//
// A command for a run is durable when Send returns, whatever the durability. An owner looks for new ones with
// one query by the key of their table.
//
// With durability=none nothing is durable; a checkpoint and a result are committed, decisions wait as if they were
// grouped. It is for tests.
//
// SQLite runs in WAL mode. A checkpoint is committed with synchronous=FULL, which syncs the log; other commits are with
// synchronous=NORMAL, which leaves that to the system. PostgreSQL does the same with synchronous_commit: a checkpoint
// has what the server or the URL says, other commits have off.
//
// # Who owns a run
//
// The owner holds a lease, which a goroutine renews through a connection of its own every third of its length. Time is
// the database's: with PostgreSQL the server's clock, with SQLite that of this machine. A run can be taken over when
// its owner released it, when its owner is provably dead on this machine (Store.Liveness), or when the lease ran out.
// In the last case, if the owner lives on this machine, Resume first gives it time to renew the lease: the clock may
// have jumped, or the machine slept. Taking over raises the epoch, and from then on the old owner cannot write.
//
// # When the connection is lost
//
// A save whose answer did not come is looked for by its run and its last event. If it is there it was done,
// otherwise it is done again, for at most the length of a lease.
//
// # Checkpoints
//
// [Checkpoints] are the backend of package checkpoint in SQLite. They share only the driver and the way files are
// opened with runs: their tables have versions of their own and may be in the file of runs or in another one.
package sqlstore
