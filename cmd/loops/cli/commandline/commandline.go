// Package commandline writes the words of a command line so that they may be shown or kept.
package commandline

import (
	"strings"

	"loops/internal/plain"
	"loops/persistence/sqlstore"
)

// Shown are the words of a command line as they may be shown and kept: without the passwords of stores.
func Shown(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		name, value, has := strings.Cut(arg, "=")
		switch {
		case has && name == "--store":
			arg = name + "=" + sqlstore.Redacted(value)
		case i > 0 && args[i-1] == "--store", IsPostgres(arg):
			arg = sqlstore.Redacted(arg)
		}
		shown[i] = arg
	}
	return shown
}

// Kept are the words of a command line for a log: also without the values of a run's context. Those are in the
// memory of the run, where they are needed.
func Kept(args []string) []string {
	kept := Shown(args)
	for i, arg := range kept {
		name, value, has := strings.Cut(arg, "=")
		switch {
		case has && name == "--context":
			key, _, _ := strings.Cut(value, "=")
			kept[i] = name + "=" + key + "=..."
		case i > 0 && args[i-1] == "--context" && has:
			kept[i] = name + "=..."
		}
	}
	return kept
}

// IsPostgres reports whether a word names a PostgreSQL.
func IsPostgres(arg string) bool {
	return strings.HasPrefix(arg, "postgres://") || strings.HasPrefix(arg, "postgresql://")
}

// Text is a command line for a person, of words that may be shown.
func Text(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = plain.ShellWord(word)
	}
	return "loops " + strings.Join(quoted, " ")
}
