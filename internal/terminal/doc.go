// Package terminal is how loops writes for people and for programs: sentences in which the texts of others are harmless, styles and
// JSON. It writes only to what it is handed, and decides nothing. A [Meter] shows how far long work has come: on a terminal a bar with
// count, rate and the time that is left, elsewhere a line now and then. A [Filter] puts the JSON of a command through a program of jq or
// a template of Go, as gh does with --jq and --template.
package terminal
