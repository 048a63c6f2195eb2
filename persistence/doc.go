// Package persistence makes runs survive: it keeps the memory and the history of every run, says who owns it,
// and gives it back after a crash.
//
// A [Store] keeps runs. Package dirstore keeps them in files, which little-loops can read, package sqlstore in
// SQLite or PostgreSQL. Both pass the suite of package storetest, as does its Memory, which tests use. A Store
// may be used by any number of goroutines, and the runs of one place by any number of processes.
//
// A [Journal] is one run that this process owns. The machine records every transition in it, as a batch of events with
// the memory after them, before it does the next thing. The memory that was recorded last is what [Store.Resume] gives
// back, and what the machine continues from.
//
// What is asked of a run that another process may own is a [Command], which a [Controller] records for it:
// every store here is one. The owner looks for commands and acts on them; the segment of a command keeps one
// that came too late from the next owner.
//
// A lease is how a run is owned where the system cannot be asked whether the owner lives. The owner of a run in
// files holds a lock of the kernel, which goes when the process does. The owner of a run in a database renews a
// lease, and its journal is [Leased]: when the lease ran out another process may take the run over, and the
// owner, if it still lives, is notified.
//
// # Promises
//
// Each is followed by tests that show it; docs/files.md has all of them, store by store.
//
//   - (a) A transition that was recorded is never lost. (dirstore.TestKilledWhileRecording,
//     dirstore.TestTornAtEveryByte, sqlstore.TestKilledWhileRecording, cmd/loops.TestInterruptedAtEveryWrite)
//   - (b) An action whose result was recorded is never run again. (fsm.TestEveryCheckpointLostInTurn,
//     cmd/loops.TestCrash)
//   - (c) At most the one action in flight is run again, and LOOPS_ATTEMPT counts that; a state may say that it is not
//     run again but routed, or asked about. (fsm.TestEveryCheckpointLostInTurn, TestScript/interrupted)
//   - (d) Events are free of gaps by their number, over all resumes. (dirstore.TestKilledWhileRecording,
//     sqlstore.TestKilledWhileRecording)
//   - (e) One run has one owner, and a stale owner's write is refused: [ErrFenced]. (dirstore.TestKilledOwner,
//     sqlstore.TestFenced, cmd/loops.TestPausedRunner)
//   - (f) A run is never shown as running when it is dead, nor as dead when it is alive. (reconcile.TestView,
//     reconcile.TestOwnerAlive, dirstore.TestPausedOwner, sqlstore.TestLeaseIsRenewed)
//
// # What is durable on return
//
// When [Journal].Record returns, what it took has left the process: files have it written, a database has it, but for
// decisions of 40 ms that a database is given together where the durability is not Strict, and for output lines. What
// also survives the loss of power at that moment is up to [Durability]:
//
//	                                       Strict   Grouped         None
//	an action's result, the end of a run   yes      yes             no
//	the result of an item (Batch.Written)  10 ms    10 ms           no
//	a checkpoint: an action may start      yes      in databases    no
//	a decision between two of these        50 ms    50 ms           no
//
// 50 ms later everything but output is durable with Strict and Grouped. [Store.Create] and [Store.Resume] are
// as durable as the first record after them.
package persistence
