// Package archive writes one recorded run into one file, and reads it again: a tar archive, compressed with
// zstd or gzip.
//
//	run.json          what a listing says about the run
//	definition.yaml   the loop file, if it is recorded
//	memory.json       the memory of the machine
//	events.jsonl      the history, an event a line
//	commands.jsonl    what was asked of the run, a command a line, if anything was
//	work/...          the files of the working folder
//	undo.bundle       a bundle of git with the snapshots of its files, if there are any
//	SHA256SUMS        the checksum of each of them, as sha256sum -c reads it; last, so that a cut archive is known by it
//
// What is read may be damaged or made to do harm: nothing of it is believed before all of it was checked.
package archive
