// Package lookup finds the runs and loops that a user names, says what may have been meant where there is none,
// and reads from the records of a project what views show of them. What is damaged is reported to its caller.
package lookup
