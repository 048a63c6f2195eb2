// Package docs has the pages of this folder that the program itself hands out.
package docs

//go:generate go test . -run TestPagesAreCurrent -update
