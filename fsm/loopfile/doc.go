// Package loopfile turns the text of a loop file, and of every file it takes something from, into an [fsm.Loop], or
// reports what is wrong with it.
//
// A [Loader] reads a loop in these steps: the loop that it inherits from (from), the steps that become states (flow),
// the fragments that its states are made from (import, fragments, fragment), the definition itself, and at last
// whether the loops that its states run take what they are given. [Parse] does the same for one text without files.
// Both report every mistake in one go, each with the file, line and column where its text is; [Render] prints them
// for users. They return a loop only if there is no error in it, and then it is complete: defaults are filled in and
// every fixed target names a state. [Loader.Effective] writes the merged definition as one text. [Loader.Resolve]
// finds loop files by the names users give, [Loader.Child] by those in other files, and [List] lists them.
//
// What a file may say is in one table ([Keys]): it drives the decoder and the check for unknown keys.
// Unquoted yes, no, on and off are texts as keys, state names and targets, and booleans where a boolean
// or a value is expected.
//
// Nothing a file says can make this package run for long or take much memory; the limits are [MaxSize], [MaxTotal],
// [MaxFiles] and [MaxParents], 100 mappings and lists inside each other, 2,000,000 values in a file, 200,000 values
// and 64 MiB of text by alias, and 2,000,000 values and 64 MiB of text by fragment.
//
// # Definitions as values
//
// [ObjectOf] returns a definition as a value with the keys of a loop file, and [Differences] says how two
// definitions differ.
package loopfile
