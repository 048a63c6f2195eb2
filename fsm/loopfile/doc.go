// Package loopfile turns the text of a loop file into an [fsm.Loop], or says what is wrong with it.
//
// [Load] and [Parse] read a file and report every mistake in one go, each with its line and column;
// [Render] prints them for people. A loop comes back only if there is no error in it, and then it is
// complete: defaults are filled in and every fixed target names a state. [Resolve] and [List] find loop
// files by name.
//
// What a file may say stands in one table ([Keys]): it drives the decoder and the check for unknown keys.
// Unquoted yes, no, on and off are texts as keys, state names and targets, and booleans where a boolean
// or a value is expected.
package loopfile
