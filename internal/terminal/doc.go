// Package terminal is how loops writes for people and for programs: sentences in which the texts of others are
// harmless, styles and JSON. It writes only to what it is handed, and decides nothing. A [Meter] shows how far
// long work has come: on a terminal a bar with count, rate and the time that is left, elsewhere a line now and
// then. A [Filter] puts the JSON of a command through a program of jq or a template of Go, as gh does with --jq
// and --template.
//
// # What a terminal gets
//
// Standard output and standard error of every command are each one [humanize.PlainWriter]: in it, control characters,
// C1, broken UTF-8 and marks of direction become visible (\x1b, \u202e), in a pipe too. Styles pass because paint
// writes them as marks that hold a random number of the process; [SayOutput] makes such marks of the colours in a
// line of output. Line ends are kept apart by type: [Say], [SayLine] and failure write every text among their
// arguments on one line, unless it is a [Block]. JSON is the same value in this notation. Past the writer go the live
// line, loops watch, stage load, logs --raw and the messages of loops mcp.
package terminal
