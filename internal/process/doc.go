// Package process knows the processes of this machine: which one a record means, whether it still lives, which ones
// an environment marker names, and how they are ended. A pid alone means little, because pids are used again;
// an [Identity] distinguishes a process from a later one with its pid.
//
// # Logs of runs
//
// A [Log] writes what a run prints into files, of which a full one is moved aside.
//
// # What actions say
//
// A [StderrTail] reads what the actions of a run write to standard error while they run, from the files that the
// runner keeps of it in the working folder of the run.
package process
