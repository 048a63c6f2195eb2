// Package views writes what commands show of runs, loops, queues and rules: texts for people and objects for programs. It is
// handed what was read, and where to write.
package views
