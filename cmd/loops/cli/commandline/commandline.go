// Package commandline reads the words of a command line, and writes them so that they may be shown or kept.
package commandline

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"loops/internal/humanize"
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
		quoted[i] = humanize.ShellWord(word)
	}
	return "loops " + strings.Join(quoted, " ")
}

// FirstWord returns the place of the first argument that is not a flag of loops itself, -1 if there is none, and the
// value of -C before it.
func FirstWord(args []string) (place int, dir string) {
	flags := pflag.NewFlagSet("loops", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.SetInterspersed(false)
	flags.StringVarP(&dir, "dir", "C", "", "")
	flags.String("color", "", "")
	flags.String("store", "", "")
	if flags.Parse(args) != nil || flags.NArg() == 0 || flags.ArgsLenAtDash() >= 0 {
		return -1, ""
	}
	return len(args) - flags.NArg(), dir
}

// Values are the places of arguments that hold a text, which may be empty, and not the name of something.
var Values = []string{"INPUT", "JSON"}

// EmptyArgument says which argument is empty and stands for a name, "" = none does. places are those of the command.
func EmptyArgument(args, places []string) string {
	for i, arg := range args {
		place := "an argument"
		if len(places) > 0 {
			place, _ = strings.CutSuffix(places[min(i, len(places)-1)], "...")
		}
		if strings.TrimSpace(arg) == "" && !slices.Contains(Values, place) {
			return place + " is empty; is it a variable that is not set?"
		}
	}
	return ""
}

// EmptyFlag says which flag was given an empty text, "" = none was.
func EmptyFlag(flags *pflag.FlagSet) (empty string) {
	flags.Visit(func(f *pflag.Flag) {
		given := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			given = list.GetSlice()
		}
		if empty == "" && (len(given) == 0 || slices.ContainsFunc(given, func(text string) bool { return strings.TrimSpace(text) == "" })) {
			empty = fmt.Sprintf("--%s is empty: leave it out to have what is the default; is it a variable that is not set?", f.Name)
		}
	})
	return empty
}
