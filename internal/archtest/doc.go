// Package archtest has the rules of the house as tests: which package may import which (arrows.txt), how long a
// file and a package may be, who prints, who changes the process, which words are used.
package archtest
