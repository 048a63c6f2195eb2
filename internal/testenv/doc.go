// Package testenv supports the tests of this module: it skips those that lack a program or a privilege, compares output with
// golden files, reads cases that are one txtar file each, and waits for conditions.
package testenv
