// Package pyregexp searches texts for the regular expressions of loop files, which are those of Python's re.
//
// A pattern is parsed as Python parses it. Go's engine matches what it can express, in linear time; look-around,
// back-references and the like are matched by a backtracking engine, with a limit of 2 seconds.
//
// [Lazy] compiles the program's own expressions, which are Go's.
package pyregexp
