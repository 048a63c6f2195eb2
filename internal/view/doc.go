// Package view writes what commands show of runs, loops, queues, rules and work trees: texts for people and
// objects for programs. It is handed what was read, and where to write.
package view
