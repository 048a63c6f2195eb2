// Package persistence makes runs survive: it keeps the memory and the history of every run, says who owns it,
// and gives it back after a crash.
package persistence
