// Package checkpoint lets a pipeline continue after a crash. It is the memory alone, for use in other programs:
// it needs neither loops nor anything beyond the standard library.
//
// A [Checkpoint] is what a run must remember: its identity, messages, iteration and the phases it has
// completed. A [Run] saves it as often as is worth it, and deletes it when the run is over; what is still there
// at the next start was interrupted. A [Store] keeps checkpoints and a [Log] keeps numbered events; [Dir] does
// both in files and [Memory] in memory. OpenCheckpoints of package loops/persistence/sqlstore does both in a
// file of SQLite; it is not here, so that no one else has a database among the dependencies. [Stages] are the
// same idea for shell scripts, after the command loops stage.
//
// What holds:
//
//   - What Save, Append or Stages.Save took is durable when they return nil: neither the death of the process nor the
//     loss of power loses it (Memory forgets all when the process ends).
//   - After an error, or a crash in between, the store holds what was there before or what was to be written, whole.
//   - Damaged bytes are never believed and never passed over in silence: they come as a [*DamageError], together with
//     the newest content that is good, where there is one.
//   - Events are numbered 1, 2, 3 … without a gap, whichever process appends them.
//
// Everything may be used by several goroutines at once. A Dir and a Stages may also be used by several
// processes at once; they wait for each other with flock, so the folder must be on a file system that has it.
// Several processes of one machine may use a file of SQLite.
package checkpoint
